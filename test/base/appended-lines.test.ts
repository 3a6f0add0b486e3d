import { appendFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createLineReader } from '../../src/base/appended-lines.ts'
import { tempTree } from '../helpers/temp.ts'

function openLines(text: string) {
  const file = join(tempTree({ 'lines.txt': text }), 'lines.txt')
  const parsed: string[] = []
  const read = createLineReader(file, (line) => {
    parsed.push(line)
    return line.toUpperCase()
  })
  return { file, parsed, read }
}

it('parses only the lines that were added since the last time', () => {
  const { file, parsed, read } = openLines('one\ntwo\n')
  expect(read()).toEqual({ all: ['ONE', 'TWO'], added: ['ONE', 'TWO'], isReplaced: true, hasRest: false })
  expect(read()).toEqual({ all: ['ONE', 'TWO'], added: [], isReplaced: false, hasRest: false })
  appendFileSync(file, 'three\n')
  expect(read()).toEqual({ all: ['ONE', 'TWO', 'THREE'], added: ['THREE'], isReplaced: false, hasRest: false })
  expect(parsed).toEqual(['one', 'two', 'three'])
})

it('leaves a line without its end for the next time, also one that ends within a character', () => {
  const { file, read } = openLines('one\n')
  const bytes = Buffer.from('ä€\n')
  for (const byte of bytes.subarray(0, -1)) {
    appendFileSync(file, Buffer.of(byte))
    expect(read()).toMatchObject({ all: ['ONE'], hasRest: true })
  }
  appendFileSync(file, '\n')
  expect(read().all).toEqual(['ONE', 'Ä€'])
})

it('reads a file again that was replaced, cut or removed', () => {
  const { file, read } = openLines('one\ntwo\n')
  expect(read().all).toEqual(['ONE', 'TWO'])
  writeFileSync(`${file}.new`, 'new\nlines\nhere\n')
  renameSync(`${file}.new`, file)
  expect(read().all).toEqual(['NEW', 'LINES', 'HERE'])
  writeFileSync(file, 'cut\n')
  expect(read().all).toEqual(['CUT'])
  rmSync(file)
  expect(read().all).toEqual([])
  writeFileSync(file, 'back\n')
  expect(read().all).toEqual(['BACK'])
})
