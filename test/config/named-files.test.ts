import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesNamed, wordsIn } from '../../src/config/named-files.ts'
import { sha256 } from '../../src/base/hash.ts'
import { isUnchanged, sealNames } from '../../src/config/trust.ts'
import { tempTree } from '../helpers/temp.ts'

const found = (folder: string, ...texts: readonly string[]): readonly string[] =>
  Object.keys(filesNamed(wordsIn(texts), [folder]))
    .map((path) => relative(folder, path))
    .toSorted()

describe('the files that values refer to', () => {
  const files = { 'x.sh': 'x', 'my script.sh': 'x', 'sub/x.sh': 'x', 'sub/deep/y.sh': 'x', 'other/z.sh': 'x' }

  it.each<readonly [string, readonly string[]]>([
    ['cd sub && ./x.sh', ['sub/x.sh', 'x.sh']],
    ['cd sub && cd deep && sh y.sh', ['sub/deep/y.sh']],
    ['cd "su"b; sh ./x.sh', ['sub/x.sh', 'x.sh']],
    ['sh -c "./my\\ script.sh"', ['my script.sh']],
    [`'./my script.sh' --all`, ['my script.sh']],
    [`sh -c "sh -c './my script.sh'"`, ['my script.sh']],
    ['./x"."sh', ['x.sh']],
    ['$PWD/sub/x.sh', ['sub/x.sh']],
    ['${HERE:-.}/sub/x.sh', ['sub/x.sh']],
    ['sh other/*.sh', ['other/z.sh']],
    ['sh */z.s?', ['other/z.sh']],
    ['sh {sub,other}/[xz].sh', ['other/z.sh', 'sub/x.sh']],
    ['--config=sub/x.sh', ['sub/x.sh']],
    ['make -Csub x.sh', ['sub/x.sh', 'x.sh']],
    ['echo', []],
  ])('%s', (line, expected) => {
    expect(found(tempTree(files), line)).toEqual(expected)
  })

  it('are relative to the folder that another value names', () => {
    expect(found(tempTree(files), 'sub/deep', './y.sh')).toEqual(['sub/deep/y.sh'])
  })

  it('are refused if there are too many folders to search', () => {
    const names = Array.from({ length: 500 }, (_, index) => `d${index}`)
    const folder = tempTree(Object.fromEntries(names.map((name) => [`${name}/a`, ''])))
    expect(() => found(folder, names.join(' '))).toThrow('more than 400 folders')
  })
})

describe('trust in a file ends', () => {
  function trusted(line: string, files: Readonly<Record<string, string>> = {}, isOld = false) {
    const folder = tempTree({ 'kept.txt': '', ...files })
    const names = { words: wordsIn([line]), folders: [folder] }
    const leads = filesNamed(names.words, names.folders)
    const kept = isOld ? { names } : { sealed: sealNames(names, line) }
    const entry = { hash: sha256(line), keys: [], since: '', leads, ...kept }
    const isTrusted = (workspace?: string): boolean => isUnchanged(entry, line, workspace)
    expect(isTrusted()).toBe(true)
    return { folder, isTrusted }
  }

  it.each(['./s.sh', 'cd sub && ./s.sh', 'sh *.sh', 'sh "s.sh"'])(
    'when a file that it refers to appears: %s',
    (line) => {
      const { folder, isTrusted } = trusted(line)
      mkdirSync(join(folder, 'sub'))
      expect(isTrusted()).toBe(true)
      writeFileSync(join(folder, line.startsWith('cd') ? 'sub/s.sh' : 's.sh'), '')
      expect(isTrusted()).toBe(false)
    },
  )

  it('when a file that it refers to appears, with unmasked words that earlier versions stored', () => {
    const { folder, isTrusted } = trusted('./s.sh', {}, true)
    writeFileSync(join(folder, 's.sh'), '')
    expect(isTrusted()).toBe(false)
  })

  it('when the words were stored with other content, or are damaged', () => {
    const names = { words: ['./s.sh'], folders: [tempTree()] }
    const isTrusted = (sealed: string): boolean => isUnchanged({ hash: sha256('a'), keys: [], since: '', sealed }, 'a')
    const sealed = sealNames(names, 'a')
    expect([sealed, sealNames(names, 'b'), sealed.slice(8), ''].map(isTrusted)).toEqual([true, false, false, false])
  })

  it('when a link to a file appears', () => {
    const { folder, isTrusted } = trusted('./s.sh')
    symlinkSync('kept.txt', join(folder, 's.sh'))
    expect(isTrusted()).toBe(false)
  })

  it('in a workspace in which its names refer to other files', () => {
    const { isTrusted } = trusted('./s.sh', { 's.sh': 'a' })
    expect(isTrusted(tempTree({ 'a.md': '' }))).toBe(true)
    expect(isTrusted(tempTree({ 's.sh': 'a' }))).toBe(false)
  })
})
