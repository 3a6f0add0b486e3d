import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { entriesIn, entryStatus, existingAbove, isFile, isFolder, namesIn } from '../../src/base/entries.ts'
import { tempTree } from '../helpers/temp.ts'

it('returns the kind of a path and the entries of a folder, and nothing for missing ones', () => {
  const root = tempTree({ 'a.md': 'A', 'dir/b.md': 'B' })
  symlinkSync('gone', join(root, 'link'))
  symlinkSync('dir', join(root, 'to-dir'))
  const at = (path: string): string => join(root, path)
  expect(entryStatus(at('link'))?.isSymbolicLink()).toBe(true)
  expect([entryStatus(at('gone')), entryStatus(at('a.md/below'))]).toEqual([undefined, undefined])
  expect(['dir', 'to-dir', 'a.md', 'link', 'gone'].map((path) => [isFolder(at(path)), isFile(at(path))])).toEqual([
    [true, false],
    [true, false],
    [false, true],
    [false, false],
    [false, false],
  ])
  expect([namesIn(at('dir')), namesIn(at('a.md')), entriesIn(at('gone'))]).toEqual([['b.md'], [], []])
  expect(entriesIn(at('dir')).map((entry) => entry.name)).toEqual(['b.md'])
  expect([existingAbove(at('dir')), existingAbove(at('gone/further/x'))]).toEqual([at('dir'), root])
})
