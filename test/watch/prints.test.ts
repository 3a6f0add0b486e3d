import { chmodSync, mkdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createPrints, type Prints } from '../../src/watch/prints.ts'
import { tempTree } from '../helpers/temp.ts'

function prints(now: () => number = () => Date.now()): Prints {
  return createPrints({ hashPrompt: (text) => text.split('====')[0] ?? '', now })
}

it('are equal for equal content, whenever and however it was written', () => {
  const root = tempTree({ a: 'one', b: 'one' })
  const of = prints()
  const first = of(join(root, 'a'), 'whole')
  expect(of(join(root, 'b'), 'whole')).toBe(first)
  writeFileSync(join(root, 'a'), 'two')
  expect(of(join(root, 'a'), 'whole')).not.toBe(first)
  writeFileSync(join(root, 'a'), 'one')
  expect(of(join(root, 'a'), 'whole')).toBe(first)
})

it('differ after a change of the same length within the same moment, or one that keeps the time', () => {
  const root = tempTree({ a: 'one' })
  const file = join(root, 'a')
  const of = prints()
  for (const text of ['two', 'ten', 'six', 'elf']) {
    const before = of(file, 'whole')
    const { atime, mtime } = statSync(file)
    writeFileSync(file, text)
    utimesSync(file, atime, mtime)
    expect(of(file, 'whole')).not.toBe(before)
  }
})

it('read a file only once while its metadata stays the same', () => {
  const root = tempTree({ 'a.md': 'ask\n====\nanswer' })
  let reads = 0
  const of = createPrints({ hashPrompt: (text) => ((reads += 1), text), now: () => Date.now() + 10_000 })
  of(join(root, 'a.md'), 'prompt')
  of(join(root, 'a.md'), 'prompt')
  expect(reads).toBe(1)
  writeFileSync(join(root, 'a.md'), 'ask\n====\nanother answer')
  of(join(root, 'a.md'), 'prompt')
  expect(reads).toBe(2)
})

it('are undefined for a missing file and for anything but a file', () => {
  const root = tempTree({ a: '' })
  mkdirSync(join(root, 'folder'))
  symlinkSync('nowhere', join(root, 'link'))
  const of = prints()
  expect(['missing', 'folder', 'link', 'a/b'].map((name) => of(join(root, name), 'whole'))).toEqual([
    null,
    null,
    null,
    null,
  ])
})

it('are equal for each part of the same file', () => {
  const root = tempTree({ 'a.md': 'ask\n====\nanswer' })
  const of = prints(() => Date.now() + 10_000)
  expect(of(join(root, 'a.md'), 'prompt')).toBe('ask\n')
  expect(of(join(root, 'a.md'), 'whole')).toMatch(/^[0-9a-f]{64}$/)
})

it('of a file that is too large to read come from its metadata', () => {
  const root = tempTree({ a: new Uint8Array(33 * 1024 * 1024) })
  const file = join(root, 'a')
  const of = prints()
  const first = of(file, 'whole')
  expect(first).toMatch(/^large /)
  chmodSync(file, 0o600)
  writeFileSync(file, new Uint8Array(34 * 1024 * 1024))
  expect(of(file, 'whole')).not.toBe(first)
})
