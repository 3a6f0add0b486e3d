import { appendFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createLineReader } from '../../src/base/appended-lines.ts'
import { tempTree } from '../helpers/temp.ts'

function openLines(text: string, mostBytes?: number) {
  const file = join(tempTree({ 'lines.txt': text }), 'lines.txt')
  return { file, read: createLineReader(file, mostBytes) }
}

it('reads only the lines that were added since the last time', () => {
  const { file, read } = openLines('one\ntwo\n')
  expect(read()).toEqual({ lines: ['one', 'two'], isReplaced: true, hasPartialLine: false })
  expect(read()).toEqual({ lines: [], isReplaced: false, hasPartialLine: false })
  appendFileSync(file, '\nthree\n')
  expect(read()).toEqual({ lines: ['', 'three'], isReplaced: false, hasPartialLine: false })
})

it('leaves a line without its end for the next time, also one that ends within a character', () => {
  const { file, read } = openLines('one\n')
  expect(read().lines).toEqual(['one'])
  for (const byte of Buffer.from('ä€')) {
    appendFileSync(file, Buffer.of(byte))
    expect(read()).toEqual({ lines: [], isReplaced: false, hasPartialLine: true })
  }
  appendFileSync(file, '\n')
  expect(read()).toEqual({ lines: ['ä€'], isReplaced: false, hasPartialLine: false })
})

it('reads a file again that was replaced, cut or removed', () => {
  const { file, read } = openLines('one\ntwo\n')
  expect(read().lines).toEqual(['one', 'two'])
  writeFileSync(`${file}.new`, 'new\nlines\nhere\n')
  renameSync(`${file}.new`, file)
  expect(read()).toMatchObject({ lines: ['new', 'lines', 'here'], isReplaced: true })
  writeFileSync(file, 'cut\n')
  expect(read()).toMatchObject({ lines: ['cut'], isReplaced: true })
  rmSync(file)
  expect(read()).toMatchObject({ lines: [], isReplaced: true })
  writeFileSync(file, 'back\n')
  expect(read()).toMatchObject({ lines: ['back'], isReplaced: true })
})

it('reads a long file in parts', () => {
  const { read } = openLines('one\ntwo\nthree\n', 9)
  expect(read()).toEqual({ lines: ['one', 'two'], isReplaced: true, hasPartialLine: true })
  expect(read()).toEqual({ lines: ['three'], isReplaced: false, hasPartialLine: false })
})
