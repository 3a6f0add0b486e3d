import { describe, expect, it } from 'vitest'
import { type ArchiveEntry, checkEntries, shownEntry } from '../../src/base/archive.ts'

function file(name: string, sizes: Partial<ArchiveEntry> = {}): ArchiveEntry {
  return { name, kind: 'file', size: 1, packed: 1, ...sizes }
}

function folder(name: string): ArchiveEntry {
  return { name, kind: 'folder', size: 0, packed: 0 }
}

function paths(...entries: readonly ArchiveEntry[]): readonly string[] {
  return checkEntries(entries, { archive: 'a.zip' }).map(({ path, kind }) => `${kind} ${path}`)
}

describe('checkEntries', () => {
  it('returns the paths of valid entries in order, without the folder itself', () => {
    expect(
      paths(
        folder('./'),
        file('./a//b.txt'),
        folder('a/'),
        folder('a/'),
        file('ü/名前 🎉.md'),
        file('.x'),
        file('a/c..d'),
      ),
    ).toEqual(['file a/b.txt', 'folder a', 'folder a', 'file ü/名前 🎉.md', 'file .x', 'file a/c..d'])
    expect(paths()).toEqual([])
  })

  it('accepts names that only look like those of devices', () => {
    expect(paths(file('console.log'), file('auxiliary/nullable.txt'), file('com10'), file('lpt'))).toHaveLength(4)
  })

  it.each<[string, readonly ArchiveEntry[], string]>([
    ['a file twice', [file('a'), file('./a')], 'the entry "./a" is in the archive twice'],
    ['names that differ in case', [file('Read.md'), file('read.MD')], '"read.MD" has the same path as another entry'],
    [
      'names that differ in normal form',
      [file('\u00e9'), file('e\u0301')],
      'has the same path as another entry on some systems',
    ],
    ['sharp s and ss', [file('straße'), file('STRASSE')], 'has the same path as another entry on some systems'],
    ['folders that differ in case', [file('Dir/a'), file('dir/b')], '"dir/b" has the same path as another entry'],
    ['a file below a file', [file('a'), file('a/b')], '"a/b" needs "a" to be a folder, but it is a file too'],
    ['a file above a file', [file('a/b'), file('a')], '"a" needs "a" to be a file, but it is a folder too'],
    ['a file and a folder', [folder('a/'), file('a')], '"a" needs "a" to be a file, but it is a folder too'],
    ['a folder with content', [{ ...folder('a/'), size: 4 }], '"a/" is a folder, but has content'],
    ['a file that is the folder itself', [file('.')], '"." is a file without a name'],
    ['an entry that is too large', [file('a', { size: 300e6, packed: 300e6 })], '"a" is 286.1 MiB; at most 256.0 MiB'],
    [
      'entries that are too large together',
      ['a', 'b', 'c'].map((name) => file(name, { size: 250e6, packed: 250e6 })),
      '"c" brings the archive to more than 512.0 MiB',
    ],
    ['an entry that grows too much', [file('a', { size: 10e6, packed: 10_000 })], '"a" grows from 10000 to 10000000'],
    [
      'many small entries that grow too much together',
      Array.from({ length: 200 }, (_, index) => file(`${index}`, { size: 1e6, packed: 1_000 })),
      'grows from 200000 to 200000000 bytes',
    ],
    ['too many entries', Array.from({ length: 20_001 }, (_, index) => file(`${index}`)), 'has 20001 entries'],
  ])('refuses %s', (_, entries, message) => {
    expect(() => paths(...entries)).toThrow(message)
  })

  it('handles large archives quickly', () => {
    const many = Array.from({ length: 20_000 }, (_, index) => file(`${'folder/'.repeat(20)}${index}.txt`))
    expect(paths(...many)).toHaveLength(20_000)
  })
})

describe('shownEntry', () => {
  it('escapes hidden characters, and is never long', () => {
    expect(shownEntry('a"\n\u202eb\u0085\u200b')).toBe(String.raw`"a\"\n\u202eb\u0085\u200b"`)
    expect(shownEntry('x'.repeat(5_000))).toHaveLength(102)
  })
})
