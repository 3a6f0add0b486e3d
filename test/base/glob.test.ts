import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { buildFolders, compileGlobs, globOrder, listFiles } from '../../src/base/glob.ts'
import { matchSteps, nextPositions, parseGlob, startPositions } from '../../src/base/glob-pattern.ts'
import { createRandom, oneOf } from '../helpers/random.ts'
import { tempTree } from '../helpers/temp.ts'

function paths(root: string, globs: readonly string[], baseDir = root): string[] {
  return listFiles(globs, { baseDir, root }).map(({ path }) => path)
}

function errorOf(work: () => unknown): BatonError {
  try {
    work()
  } catch (error) {
    if (error instanceof BatonError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

function matchGlob(path: string, globs: readonly string[]): boolean {
  return compileGlobs(globs).matches(path)
}

it('leaves out what no path can name: names that are not UTF-8', () => {
  const root = tempTree({ 'a.txt': '', 'replaced\u{FFFD}.txt': '' })
  const odd = Buffer.from([...Buffer.from(`${root}/bad`), 0xff])
  mkdirSync(odd)
  writeFileSync(Buffer.from([...odd, ...Buffer.from('/b.txt')]), '')
  writeFileSync(Buffer.from([...odd, ...Buffer.from('.txt')]), '')
  expect(paths(root, ['**/*.txt'])).toEqual(['a.txt', 'replaced\u{FFFD}.txt'])
})

it('treats an existing path as that path, whatever characters it contains', () => {
  const root = tempTree({
    'pages/[slug].tsx': '',
    'pages/s.tsx': '',
    'app/[id]/a.ts': '',
    'app/i/b.ts': '',
    'a{b,c}.txt': '',
    'ab.txt': '',
    'file*.txt': '',
    'file1.txt': '',
    '!important.md': '',
    'x[.md': '',
    'cafe\u0301.md': '',
    'shot 1\u202fAM.png': '',
  })
  expect(paths(root, ['pages/[slug].tsx'])).toEqual(['pages/[slug].tsx'])
  expect(paths(root, [join(root, 'pages/[slug].tsx')])).toEqual(['pages/[slug].tsx'])
  expect(paths(root, ['pages/*', '!pages/[slug].tsx'])).toEqual(['pages/s.tsx'])
  expect(paths(root, ['app/[id]/*.ts'])).toEqual(['app/[id]/a.ts'])
  expect(paths(root, ['a{b,c}.txt', 'file*.txt', '!important.md', 'x[.md'])).toEqual([
    'a{b,c}.txt',
    'file*.txt',
    '!important.md',
    'x[.md',
  ])
  expect(paths(root, ['*.md', '!!important.md', '!x[.md'])).toEqual(['cafe\u0301.md'])
  expect(paths(root, ['caf\u00e9.md', 'shot 1 AM.png'])).toEqual(['cafe\u0301.md', 'shot 1\u202fAM.png'])
  expect(paths(root, ['pages/[s].tsx', 'a{b,d}.txt'])).toEqual(['pages/s.tsx', 'ab.txt'])
})

describe('compileGlobs', () => {
  it.each([
    ['a.ts', '*.ts', true],
    ['src/a.ts', '*.ts', false],
    ['src/a.ts', '**/*.ts', true],
    ['a.ts', '**/*.ts', true],
    ['src/deep/a.ts', 'src/**', true],
    ['src', 'src/**', false],
    ['src/x/y/a.ts', 'src/**/a.ts', true],
    ['src/a.ts', 'src/**/a.ts', true],
    ['src/a.ts', '**/**/a.ts', true],
    ['.env', '*', true],
    ['.github/x.yml', '**/*.yml', true],
    ['a.tsx', '*.{ts,tsx}', true],
    ['lib/x/a.js', '{src,lib/**}/*.js', true],
    ['a1.md', 'a?.md', true],
    ['a.md', 'a?.md', false],
    ['b.md', '[a-c].md', true],
    ['d.md', '[!a-c].md', true],
    ['].md', '[]].md', true],
    ['a.md', '[!a-c].md', false],
    ['*.md', '\\*.md', true],
    ['x.md', '\\*.md', false],
    ['app/(auth)/[id].tsx', 'app/(auth)/\\[id\\].tsx', true],
    ['ünïcødé/日本.md', '**/??.md', true],
    ['😀.md', '?.md', true],
    ['aXbXc', 'a*b*c', true],
    ['abab', '*ab', true],
    ['abac', '*ab', false],
    ['/home/x/a.ts', '**/*.ts', true],
    ['/home/x/a.ts', '/home/**/*.ts', true],
    ['home/x/a.ts', '/home/**', false],
    ['./src//a.ts', 'src/./*.ts', true],
    ['anything/at/all', '**', true],
    ['a', '', false],
    ['+(a)', '+(a)', true],
    ['aa', '+(a)', false],
    ['a', '{a}', true],
    ['1..3', '{1..3}', true],
    ['2', '{1..3}', false],
    [':]', '[[:alpha:]]', true],
    ['b]', '[[:alpha:]]', false],
    ['\\]', '[\\]]', true],
  ])('%s with %s is %s', (path, glob, expected) => {
    expect(matchGlob(path, [glob])).toBe(expected)
  })

  it('excludes what a glob with ! matches, in any order', () => {
    expect(matchGlob('src/a.test.ts', ['!**/*.test.ts', '**/*.ts'])).toBe(false)
    expect(matchGlob('src/a.ts', ['**/*.ts', '!**/*.test.ts'])).toBe(true)
    expect(matchGlob('src/a.ts', ['!lib/**'])).toBe(true)
    expect(matchGlob('src/a.ts', [])).toBe(false)
  })

  it('is not slowed down by many stars', () => {
    const matcher = compileGlobs([`${'*a'.repeat(40)}*b`])
    expect(matcher.matches('a'.repeat(5000))).toBe(false)
  })

  it('is not slowed down by many double stars', () => {
    const matcher = compileGlobs([`${'**/'.repeat(1300)}${'a/'.repeat(1900)}b`])
    expect(matcher.matches('a/'.repeat(4000))).toBe(false)
    expect(matcher.matches(`${'a/'.repeat(4000)}b`)).toBe(true)
  })

  it('matches no path that is longer than possible', () => {
    expect(compileGlobs(['**']).matches('a/'.repeat(4000))).toBe(true)
    expect(compileGlobs(['**', '!b']).matches('a/'.repeat(5000))).toBe(false)
  })

  it('finds the same as an exhaustive search over every position of a double star', () => {
    const segments = ['a', 'b', '**', '*', 'a*'].flatMap((name) => parseGlob(name).alternatives[0] ?? [])
    const random = createRandom(7)
    const some = <T>(list: readonly T[], most: number): readonly T[] =>
      Array.from({ length: Math.floor(random() * (most + 1)) }, () => oneOf(random, list))
    for (let count = 0; count < 20_000; count += 1) {
      const glob = [oneOf(random, segments), ...some(segments, 5)]
      const steps = some(['a', 'b', 'ab'], 6)
      let positions = startPositions(glob)
      for (const step of steps) positions = nextPositions(glob, positions, step)
      expect({ glob, steps, matches: matchSteps(glob, steps) }).toEqual({
        glob,
        steps,
        matches: positions.includes(glob.length),
      })
    }
  })

  it('returns the first and the last matching glob', () => {
    const rankOf = globOrder(['**', '*.ts', '!x', 'a.*'])
    expect([rankOf('a.ts', 'first'), rankOf('a.ts', 'last'), rankOf('b', 'last')]).toEqual([0, 3, 0])
    expect(globOrder(['*.md'])('a.ts', 'first')).toBe(-1)
  })

  it.each([
    ['*.md', ['a.md', 'a/b.md', './a/b.md'], ['a.mdx', 'md']],
    ['a?c', ['a/c', 'abc'], ['ac']],
    ['[!x]b', ['/b', 'ab'], ['xb']],
    ['**/a', ['a', 'x/a', 'x/y/a'], ['xa']],
    ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['ab', 'axb']],
    ['a/**', ['a/b', 'a/b/c'], ['b/a']],
    ['{**/a,b}', ['a', 'x/a', 'b'], ['x/b']],
    ['!a', ['!a'], ['b']],
    ['\\*', ['*'], ['a']],
  ])('lets wildcards of an order cross folders: %s', (glob, matched, others) => {
    const rankOf = globOrder([glob])
    expect(matched.filter((path) => rankOf(path, 'first') !== 0)).toEqual([])
    expect(others.filter((path) => rankOf(path, 'first') === 0)).toEqual([])
  })

  it.each(['a[b', '{a,b', '{a,b}{c'])('refuses the unclosed %s', (glob) => {
    expect(errorOf(() => matchGlob('a', [glob]))).toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('Close it'),
    })
  })

  it('refuses braces that expand excessively', () => {
    expect(errorOf(() => matchGlob('a', ['{a,b}'.repeat(40)])).message).toContain('more than 1024 alternatives')
    const long = `{${'a,'.repeat(900)}a}${'b'.repeat(1000)}`
    expect(errorOf(() => matchGlob('a', [long])).message).toContain('alternatives of more than 131072 characters')
  })
})

describe('listFiles', () => {
  it('orders by the last matching glob, then by path in byte order, without duplicates', () => {
    const root = tempTree({
      'b.ts': '',
      'a.ts': '',
      'Z.ts': '',
      'ü.ts': '',
      '\uFF5E.ts': '',
      '😀.ts': '',
      'sub/a.ts': '',
      'note.md': '',
    })
    expect(paths(root, ['**/*.ts', '*.md', 'a.ts', 'sub/*', '**/a.ts'])).toEqual([
      'Z.ts',
      'b.ts',
      'ü.ts',
      '\uFF5E.ts',
      '😀.ts',
      'note.md',
      'a.ts',
      'sub/a.ts',
    ])
  })

  it('returns the same list again', () => {
    const root = tempTree(
      Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`d${index % 7}/f${index}.txt`, ''])),
    )
    expect(paths(root, ['**/*.txt'])).toEqual(paths(root, ['**/*.txt']))
    expect(paths(root, ['**/*.txt'])).toHaveLength(60)
  })

  it('lists hidden files, but folders of tools and builds only when a glob names them with a slash', () => {
    const files = {
      '.env': '',
      '.github/w.yml': '',
      'node_modules/x/i.js': '',
      'target/t.rs': '',
      '.git/HEAD': '',
      'src/__pycache__/a.pyc': '',
      '.aipack/p.md': '',
      'targets/t.rs': '',
    }
    const root = tempTree(files)
    expect(paths(root, ['**'])).toEqual(['.env', '.github/w.yml', 'targets/t.rs'])
    expect(paths(root, ['target/*.rs'])).toEqual(['target/t.rs'])
    expect(paths(root, ['**/{.aipack,.git}/**'])).toEqual(['.aipack/p.md', '.git/HEAD'])
    expect(paths(root, ['target'])).toEqual([])
    expect(buildFolders).toContain('.build')
  })

  it('never lists files that editors and desktops leave behind', () => {
    const root = tempTree({ '.DS_Store': '', 'Thumbs.db': '', '.a.swp': '', 'a.md': '', 'sub/x.swp': '' })
    expect(paths(root, ['**', '.DS_Store', '**/*.swp'])).toEqual(['a.md'])
  })

  it('excludes single files, a folder by its name, and everything below it', () => {
    const root = tempTree({ 'a/1.md': '', 'a/2.md': '', 'b/1.md': '', 'c/d/1.md': '' })
    expect(paths(root, ['**/*.md', '!a/1.md', '!b', '!c/**'])).toEqual(['a/2.md'])
    expect(paths(root, ['!a', '!c/**'])).toEqual(['b/1.md'])
  })

  it('uses the base folder, and returns absolute paths for files elsewhere', () => {
    const root = tempTree({ 'top.md': '', 'sub/a.md': '', 'sub/deep/b.md': '', 'other/c.md': '' })
    const base = join(root, 'sub')
    expect(paths(root, ['**/*.md'], base)).toEqual(['a.md', 'deep/b.md'])
    expect(paths(root, [`${base}/*.md`, `${root}/other/*.md`], base)).toEqual(['a.md', join(root, 'other/c.md')])
    expect(paths(root, [`${root}/**/*.md`, `!${root}/other/**`], base)).toEqual(
      [join(root, 'top.md'), 'a.md', 'deep/b.md'].toSorted(),
    )
    expect(paths(root, ['deep/../a.md'], base)).toEqual(['a.md'])
  })

  it('returns nothing for an empty folder, a missing one, and no globs', () => {
    const root = tempTree()
    expect([paths(root, ['**']), paths(root, ['**'], join(root, 'missing')), paths(root, [])]).toEqual([[], [], []])
  })

  it('accepts names with brackets, parentheses and spaces', () => {
    const root = tempTree({ 'app/(auth)/[id] x.tsx': '', 'app/(auth)/page.tsx': '' })
    expect(paths(root, ['app/(auth)/*.tsx'])).toEqual(['app/(auth)/[id] x.tsx', 'app/(auth)/page.tsx'])
  })

  it.each(['../*.md', './../*.md', 'a/../../*.md', '*/../x.md', '../**'])('refuses %s, which leads outside', (glob) => {
    const root = tempTree({ 'a/x.md': '' })
    expect(errorOf(() => paths(root, [glob], join(root, 'a')))).toMatchObject({
      code: 'OUTSIDE_WORKSPACE',
      message: expect.stringContaining(glob),
      hint: expect.any(String),
    })
  })

  it('refuses an absolute glob outside', () => {
    const outside = tempTree({ 'secret.md': '' })
    const root = tempTree({ 'a.md': '' })
    expect(errorOf(() => paths(root, [`${outside}/*.md`]))).toMatchObject({
      code: 'OUTSIDE_WORKSPACE',
      message: expect.stringContaining('outside the workspace'),
    })
    const listed = listFiles([`${outside}/*.md`], { baseDir: root, root, allows: (real) => real.startsWith(outside) })
    expect(listed).toEqual([{ path: join(outside, 'secret.md'), absolute: join(outside, 'secret.md'), glob: 0 }])
  })
})

describe('listFiles and links', () => {
  function linked(): { readonly root: string; readonly outside: string } {
    const outside = tempTree({ 'secret.md': 'secret', 'deep/secret.md': '' })
    const root = tempTree({ 'src/a.md': '', 'src/deep/b.md': '' })
    return { root, outside }
  }

  it('follows a link inside the workspace only when a glob names it', () => {
    const { root } = linked()
    symlinkSync(join(root, 'src'), join(root, 'link'))
    expect(paths(root, ['**/*.md'])).toEqual(['src/a.md', 'src/deep/b.md'])
    expect(paths(root, ['link/**/*.md'])).toEqual(['link/a.md', 'link/deep/b.md'])
    expect(paths(root, ['{link,none}/*.md'])).toEqual(['link/a.md'])
  })

  it('lists links to files', () => {
    const { root } = linked()
    symlinkSync('src/a.md', join(root, 'copy.md'))
    symlinkSync('nowhere', join(root, 'broken.md'))
    expect(paths(root, ['*.md'])).toEqual(['copy.md'])
  })

  it('refuses a glob that names a link out of the workspace, and says how to exclude it', () => {
    const { root, outside } = linked()
    symlinkSync(outside, join(root, 'link'))
    expect(errorOf(() => paths(root, ['link/**/*.md']))).toMatchObject({
      code: 'OUTSIDE_WORKSPACE',
      message: `a glob leads outside the workspace through the link ${join(root, 'link')}`,
      hint: 'Exclude it with the glob "!link/**".',
    })
    expect(paths(root, ['link/**/*.md', '!link/**', 'src/*.md'])).toEqual(['src/a.md'])
    expect(paths(root, ['**/*.md'])).toEqual(['src/a.md', 'src/deep/b.md'])
  })

  it('refuses a link to a file outside, unless it is excluded', () => {
    const { root, outside } = linked()
    symlinkSync(join(outside, 'secret.md'), join(root, 'src/leak.md'))
    expect(errorOf(() => paths(root, ['**/*.md']))).toMatchObject({
      code: 'OUTSIDE_WORKSPACE',
      message: expect.stringContaining('src/leak.md'),
      hint: 'Exclude it with the glob "!src/leak.md".',
    })
    expect(paths(root, ['**/*.md', '!src/leak.md'])).toEqual(['src/a.md', 'src/deep/b.md'])
  })

  it('refuses a base folder that is a link out of the workspace', () => {
    const { root, outside } = linked()
    symlinkSync(outside, join(root, 'link'))
    expect(errorOf(() => paths(root, ['*.md'], join(root, 'link')))).toMatchObject({
      code: 'OUTSIDE_WORKSPACE',
      message: expect.stringContaining(`through the link ${join(root, 'link')}`),
    })
  })

  it('does not follow cycles of links', () => {
    const root = tempTree({ 'a/x.md': '' })
    symlinkSync('..', join(root, 'a/up'))
    symlinkSync('loop', join(root, 'loop'))
    expect(paths(root, ['**/*.md'])).toEqual(['a/x.md'])
    expect(paths(root, ['a/up/**/*.md'])).toEqual(['a/up/a/x.md'])
  })

  it('reports every folder it reads, including missing ones, and no others', () => {
    const root = tempTree({ 'src/in/a.ts': '', 'src/node_modules/b.ts': '', 'docs/c.md': '' })
    const seen = (globs: readonly string[], baseDir = root): readonly string[] => {
      const folders: string[] = []
      listFiles(globs, { baseDir, root, onFolder: (folder) => folders.push(folder.slice(root.length + 1)) })
      return folders
    }
    expect(seen(['src/**/*.ts'])).toEqual(['', 'src', 'src/in'])
    expect(seen(['*.ts'])).toEqual([''])
    expect(seen(['*.ts'], join(root, 'missing'))).toEqual(['missing'])
  })

  it('lists 20,000 files', { timeout: 120_000 }, () => {
    const root = tempTree()
    for (let folder = 0; folder < 100; folder += 1) {
      mkdirSync(join(root, `d${folder}`))
      for (let file = 0; file < 200; file += 1) writeFileSync(join(root, `d${folder}`, `f${file}.ts`), '')
    }
    const listed = paths(root, ['**/*.ts', '!**/f7.ts', 'd1/**'])
    expect(listed).toHaveLength(19_900)
    expect(listed.slice(-199).every((path) => path.startsWith('d1/'))).toBe(true)
  })
})
