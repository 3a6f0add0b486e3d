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

it('parses only the lines that were added since the last time, and returns the same list if there are none', () => {
  const { file, parsed, read } = openLines('one\ntwo\n')
  const before = read()
  expect(before).toEqual(['ONE', 'TWO'])
  expect(read()).toBe(before)
  appendFileSync(file, 'three\n')
  expect(read()).toEqual(['ONE', 'TWO', 'THREE'])
  expect(before).toEqual(['ONE', 'TWO'])
  expect(parsed).toEqual(['one', 'two', 'three'])
})

it('leaves a line without its end for the next time, also one that ends within a character', () => {
  const { file, read } = openLines('one\n')
  const bytes = Buffer.from('ä€\n')
  for (const byte of bytes.subarray(0, -1)) {
    appendFileSync(file, Buffer.of(byte))
    expect(read()).toEqual(['ONE'])
  }
  appendFileSync(file, '\n')
  expect(read()).toEqual(['ONE', 'Ä€'])
})

it('reads a file again that was replaced, cut or removed', () => {
  const { file, read } = openLines('one\ntwo\n')
  expect(read()).toEqual(['ONE', 'TWO'])
  writeFileSync(`${file}.new`, 'new\nlines\nhere\n')
  renameSync(`${file}.new`, file)
  expect(read()).toEqual(['NEW', 'LINES', 'HERE'])
  writeFileSync(file, 'cut\n')
  expect(read()).toEqual(['CUT'])
  rmSync(file)
  expect(read()).toEqual([])
  writeFileSync(file, 'back\n')
  expect(read()).toEqual(['BACK'])
})
