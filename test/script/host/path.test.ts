import { symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { pathModule } from '../../../src/script/host/path.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'

const outside = tempTree({ 'secret.txt': '' })
const workspace = tempTree({ 'docs/a.md': '', 'logo@2x.png': '', '.aipack/.prompt/pro@coder/p.md': '' })
symlinkSync(outside, join(workspace, 'link'))
const { call } = hostSection(workspace)

function path(name: string, ...args: readonly LuaValue[]): readonly LuaValue[] {
  return call(pathModule, name, ...args)
}

describe('paths as text', () => {
  it.each([
    ['./agent-hello.aipack', '.'],
    ['./', ''],
    ['.', ''],
    ['./sub-dir/file.txt', './sub-dir'],
    ['./sub-dir/', '.'],
    ['./sub-dir', '.'],
    ['file', ''],
    ['/', undefined],
    ['/file', '/'],
    ['', undefined],
    ['a//b/./', 'a'],
    ['a/..', 'a'],
  ])('parent of %j is %j', (given, expected) => {
    expect(path('parent', given)).toEqual([expected])
  })

  it.each([
    ['justafile.md', '', 'justafile.md'],
    ['/file_at_root', '/', 'file_at_root'],
    ['trailing/slash/', 'trailing', 'slash'],
    ['some/path/to_file.md', 'some/path', 'to_file.md'],
    ['', '', ''],
    ['.', '', ''],
    ['ü/日本.md', 'ü', '日本.md'],
  ])('split %j', (given, parent, name) => {
    expect(path('split', given)).toEqual([parent, name])
  })

  it.each([
    [['./', 'file.txt'], './file.txt'],
    [['', ['my-dir/', '//file.txt']], 'my-dir/file.txt'],
    [['some-base/', 'my-dir/', 'file.txt'], 'some-base/my-dir/file.txt'],
    [['a', 'b', 'c'], 'a/bc'],
    [['a/', 'b/', 'c/'], 'a/b/c/'],
    [['root/', ['user', 'docs'], 'projectA', ['report', 'final.pdf']], 'root/user/docsprojectAreport/final.pdf'],
    [['a', '/b'], '/b'],
    [['a'], 'a/'],
    [['a', {}], 'a/'],
    [['a/./b', 'c'], 'a/b/c'],
  ])('join %j', (parts, expected) => {
    expect(path('join', ...parts)).toEqual([expected])
  })

  it('join refuses parts that are not text', () => {
    expect(() => path('join', 'a', true)).toThrow(
      'aip.path.join: part 1 must be a string or a list of strings, but was boolean',
    )
    expect(() => path('join', 'a', 'b', ['x', true])).toThrow('part 2[2] must be a string, but was boolean')
    expect(() => path('join')).toThrow('the base must be a string, but was nil')
  })

  it.each([
    ['/a/b/c/file.txt', '/a/b/', 'c/file.txt'],
    ['/a/b/', '/a/b/c/file.txt', '../..'],
    ['/a/b/c', '/a/d/e', '../../b/c'],
    ['folder/file.txt', 'folder', 'file.txt'],
    ['folder/file.txt', 'folder/file.txt', ''],
    ['folder/file.txt', '/abs', ''],
    ['/abs/x', 'rel', '/abs/x'],
    ['./a', 'a', ''],
    ['a', '../b', ''],
    [`${homedir()}/x/y`, '~/x', 'y'],
  ])('diff of %j from %j is %j', (given, base, expected) => {
    expect(path('diff', given, base)).toEqual([expected])
  })

  it('parse returns the parts of a path that need not exist', () => {
    expect(path('parse', 'some/folder/file.tar.gz')).toEqual([
      {
        _type: 'FileInfo',
        path: 'some/folder/file.tar.gz',
        dir: 'some/folder',
        name: 'file.tar.gz',
        stem: 'file.tar',
        ext: 'gz',
        is_likely_text: false,
      },
    ])
    expect(path('parse', `${homedir()}/.gitignore`)[0]).toMatchObject({
      path: '~/.gitignore',
      dir: '~',
      name: '.gitignore',
      stem: '.gitignore',
      ext: '',
      is_likely_text: true,
    })
    expect(path('parse', undefined)).toEqual([undefined])
    expect(() => path('parse', 3)).toThrow('must be a string or nil, but was number')
  })

  it.each([
    ['docs/../docs/a.md', join(workspace, 'docs/a.md')],
    ['', `${workspace}/`],
    ['/x/../y', '/y'],
    ['~/x', join(homedir(), 'x')],
    ['.aipack/.prompt/pro@coder/p.md', join(workspace, '.aipack/.prompt/pro@coder/p.md')],
    ['logo@2x.png', join(workspace, 'logo@2x.png')],
    ['icon@large.png', join(workspace, 'icon@large.png')],
  ])('resolve %j', (given, expected) => {
    expect(path('resolve', given)).toEqual([expected])
  })

  it.each(['pro@coder', 'pro@coder/main.aip'])('resolve reports that there is no pack %s', (given) => {
    expect(() => path('resolve', given)).toThrow(`No aipack matches for ${given}`)
  })

  it.each([
    ['ns@pack$workspace/x', '.aipack/support/pack/ns/pack/x'],
    ['$tmp/x', '.aipack/.session/run/tmp/x'],
    ['$tmp', '.aipack/.session/run/tmp/'],
  ])('resolve %s', (given, expected) => {
    expect(path('resolve', given)).toEqual([`${workspace}/${expected}`])
  })

  it('functions refuse a path with NUL', () => {
    expect(() => path('resolve', 'a\0b')).toThrow('the path contains a NUL character')
  })
})

describe('paths and globs', () => {
  it('matches_glob tests a path', () => {
    expect(path('matches_glob', 'src/a.ts', '**/*.ts')).toEqual([true])
    expect(path('matches_glob', 'src/a.ts', '*.ts')).toEqual([false])
    expect(path('matches_glob', 'src/a.ts', ['*.md', 'src/*'])).toEqual([true])
    expect(path('matches_glob', 'src/a.ts', {})).toEqual([false])
    expect(path('matches_glob', undefined, '*')).toEqual([undefined])
    expect(() => path('matches_glob', 'a', undefined)).toThrow(
      'the globs must be a string or a list of strings, but was nil',
    )
  })

  it('sort_by_globs orders by the first matching glob, then by path, and keeps the order of the others', () => {
    const files = ['z.md', 'b.ts', { path: './a.ts', extra: 1 }, 'x.txt', 'main.ts', 'c.txt']
    expect(path('sort_by_globs', files, ['main.*', '*.ts'])).toEqual([
      ['main.ts', { path: './a.ts', extra: 1 }, 'b.ts', 'z.md', 'x.txt', 'c.txt'],
    ])
    expect(path('sort_by_globs', ['main.ts', 'a.ts'], ['main.*', '*.ts'], true)).toEqual([['a.ts', 'main.ts']])
    expect(
      path('sort_by_globs', ['a.ts', 'main.ts'], ['*.ts', 'main.*'], {
        end_weighted: true,
        no_match_position: 'start',
      }),
    ).toEqual([['a.ts', 'main.ts']])
    expect(path('sort_by_globs', ['a.ts', 'z.md'], '*.ts', 'start')).toEqual([['z.md', 'a.ts']])
    expect(path('sort_by_globs', {}, '*')).toEqual([[]])
  })

  it('sort_by_globs refuses what it cannot sort', () => {
    expect(() => path('sort_by_globs', 'x', '*')).toThrow('the files must be a list, but was string')
    expect(() => path('sort_by_globs', [{ name: 'x' }], '*')).toThrow('file 1 must be a string or a table with a path')
    expect(() => path('sort_by_globs', [], '*', 'middle')).toThrow('"start" or "end", not to "middle"')
    expect(() => path('sort_by_globs', [], '*', 5)).toThrow('but were number')
  })
})

describe('paths on the disk', () => {
  it.each([
    ['docs', true, false, true],
    ['docs/', true, false, true],
    ['./docs/..', true, false, true],
    ['docs/a.md', true, true, false],
    ['docs/none.md', false, false, false],
    ['docs/a.md/below', false, false, false],
    ['link', true, false, true],
    ['link/secret.txt', true, true, false],
    [`../${outside.split('/').at(-1)}/secret.txt`, true, true, false],
    [outside, true, false, true],
    [`${outside}/none.txt`, false, false, false],
  ])('%s', (given, exists, isFile, isFolder) => {
    expect([path('exists', given), path('is_file', given), path('is_dir', given)]).toEqual([
      [exists],
      [isFile],
      [isFolder],
    ])
  })

  it('exists is false for what cannot be resolved, the others report the reason', () => {
    expect(path('exists', 'ns@pack/main.aip')).toEqual([false])
    expect(() => path('is_file', 'ns@pack/main.aip')).toThrow('No aipack matches for ns@pack/main.aip')
  })
})
