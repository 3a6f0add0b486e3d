import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileSearch } from '../../../src/base/search-pattern.ts'
import { findProgram } from '../../../src/base/program.ts'
import { searchByRipgrep } from '../../../src/tool/toolbox/search.ts'
import { type FileMatches, searchFiles } from '../../../src/tool/toolbox/search-files.ts'
import { createRandom, oneOf } from '../../helpers/random.ts'
import { tempTree } from '../../helpers/temp.ts'
import { core } from '../../helpers/series.ts'

const env = { PATH: process.env['PATH'] }
const program = findProgram('rg', env, '/nowhere')
const names = ['a.txt', 'b.txt', 'bin.dat', 'dos.txt', 'empty.txt', 'long.txt', '-dash\nfeed.txt']
const root = tempTree({
  'a.txt': 'one two\nTWO three\n\n  indented\tfoo(bar)\nfoo_bar baz-9\ninterface{} a{2}\nprice: $5.00 [x]\nend',
  'b.txt': 'Grüße, Öl und Straße\nnaïve café\nКнига 12\n漢字 ＡＢ\nwort_ä x\u00a0y\n😀 smile\nK ſ s k\nΑθήνα\n',
  'bin.dat': Buffer.from('one\0two\nfoo\n'),
  'dos.txt': 'foo\r\nbar foo\r\n\r\nend\r\n',
  'empty.txt': '',
  'long.txt': `${'x'.repeat(5_000)}needle${'y'.repeat(5_000)}\n`.repeat(3),
  '-dash\nfeed.txt': 'foo\n\n\n',
})
const files = names.map((name) => join(root, name))

async function byRipgrep(text: string, ignoreCase = false, lines = 1000): Promise<readonly FileMatches[]> {
  const found = await searchByRipgrep(files, {
    pattern: compileSearch(text, { ignoreCase }),
    lines,
    program: program ?? '',
    root,
    env,
    timeLimitMs: 60_000,
    signal: new AbortController().signal,
    isText: (file) => !readFileSync(file).includes(0),
  })
  if (typeof found !== 'object') throw new Error(`ripgrep did not search for ${text}: ${found}`)
  return found
}

const here = (text: string, ignoreCase = false, lines = 1000): readonly FileMatches[] =>
  searchFiles(files, { pattern: compileSearch(text, { ignoreCase }), lines })

const patterns = [
  'foo',
  'FOO',
  '^foo$',
  '^$',
  'end$',
  '^',
  '$',
  'x*',
  String.raw`\bfoo\b`,
  String.raw`\Bo`,
  String.raw`\w+\s\w+`,
  String.raw`^\w+$`,
  String.raw`\d{1,2}`,
  String.raw`\bK`,
  String.raw`stra(?:ß|ss)e`,
  String.raw`[[:upper:]]{2,}`,
  '[^a-z]',
  String.raw`[^\w\s]`,
  String.raw`\W`,
  String.raw`\S$`,
  String.raw`\D\d`,
  '(one|two) t',
  '(?P<name>foo)[(_]',
  'a|',
  'interface{}',
  'a{2}',
  String.raw`a\{2\}`,
  String.raw`\$\d\.\d+ \[x\]`,
  '[][]',
  '[a-]',
  String.raw`\p{Lu}`,
  String.raw`\p{Han}`.replace('Han', 'Lo'),
  String.raw`[\p{L}-]{3}`,
  '^.{5}$',
  '^.$',
  'caf.',
  'ö',
  '(?i)GRÜSSE|grüße',
  's',
  'ſ',
  'k',
  String.raw`\x41|\u00e9`,
  'needle.*y$',
  'x{1000}n',
  '(a*)*b',
  '(a+)+$',
  '(x+x+)+z',
  String.raw`[^\W_]{4}`,
  String.raw`[\W\d]`,
  String.raw`[\s\S]$`,
  '[&&x[]',
  '[+--]',
  '[]2]|[^]a-z]$',
  String.raw`\p{Greek}|\p{Cyrillic}`,
  String.raw`\U0001f600|\u{fc}|\ß`,
  '(?i:KНИГА|price)|(?i)END',
  'f{,3}|{}',
  String.raw`\t`,
  String.raw`o\r?$`,
]

describe.skipIf(program === undefined)('ripgrep, if it is installed, and the built-in search', () => {
  it.each(patterns)('find the same lines of %s', async (text) => {
    const ignoreCase = patterns.indexOf(text) % 2 === 0
    expect(here(text, ignoreCase)).toEqual(await byRipgrep(text, ignoreCase))
  })

  it('return the requested number of lines, from the first files', async () => {
    for (const lines of [0, 1, 4, 7]) {
      const found = here('o', false, lines)
      expect(found).toEqual(await byRipgrep('o', false, lines))
      expect(found.flatMap(({ lines: numbers }) => numbers).length).toBe(lines)
    }
  })

  it('find the same lines for random expressions', async () => {
    const random = createRandom(11)
    const pieces = [
      'f',
      'o',
      'O',
      '.',
      'ß',
      '\\w',
      '\\s',
      '\\d',
      '[a-f]',
      '[^o]',
      '\\b',
      '^',
      '$',
      '(',
      ')',
      '|',
      '*',
      '?',
      '{1,2}',
      'K',
      ' ',
    ]
    let tried = 0
    while (tried < core(4, 20)) {
      const text = Array.from({ length: 1 + Math.floor(random() * 7) }, () => oneOf(random, pieces)).join('')
      try {
        compileSearch(text, { ignoreCase: false })
      } catch {
        continue
      }
      tried += 1
      expect(here(text, true), text).toEqual(await byRipgrep(text, true))
    }
  })
})

it('a file that is larger than the memory limit is searched', () => {
  const folder = tempTree()
  const file = join(folder, 'large.txt')
  writeFileSync(file, Array.from({ length: 700_000 }, (_, index) => `line ${index + 1}\n`).join(''))
  const [found] = searchFiles([file], { pattern: compileSearch('^line 6.*00000$', { ignoreCase: false }), lines: 9 })
  expect(found).toEqual({ file, count: 1, lines: [600_000] })
})

it.each([
  ['(a', 'not valid: missing closing ): `(a`'],
  ['a)', 'unexpected ): `a)`'],
  ['[a', 'missing closing ]: `[a`'],
  ['*a', 'missing argument to repetition operator: `*`'],
  ['a**', 'invalid nested repetition operator: `**`'],
  ['a{3,2}', 'invalid repeat count: `{3,2}`'],
  ['a{2000}', 'invalid repeat count: `{2000}`'],
  ['(?=a)', 'lookahead and lookbehind are not supported (character 1)'],
  ['(?<!a)b', 'lookahead and lookbehind are not supported'],
  [String.raw`(a)\1`, 'backreferences are not supported (character 4)'],
  ['a\nb', 'it is matched line by line'],
  [String.raw`a\n`, 'it is matched line by line'],
  [String.raw`\p{Nothing}`, 'invalid character class range'],
  [String.raw`\bfoo\z`, String.raw`\z is not supported (character 6)`],
  ['a(?x)b', 'this kind of group is not supported (character 2)'],
  [String.raw`\q`, String.raw`\q is not supported`],
  ['[b-a]', 'invalid character class range: `b-a`'],
  ['a'.repeat(3000), 'more than 2000 characters'],
])('refuse %s', (text, problem) => {
  expect(() => compileSearch(text, { ignoreCase: false })).toThrow(problem)
})
