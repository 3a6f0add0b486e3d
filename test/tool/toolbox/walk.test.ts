import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, it } from 'vitest'
import { compareBytes } from '../../../src/base/byte-order.ts'
import { finishSteps } from '../../../src/base/concurrency.ts'
import { walkFiles } from '../../../src/tool/toolbox/walk.ts'
import { tempTree } from '../../helpers/temp.ts'

function walked(root: string, { glob = '**', workspace = root } = {}): readonly string[] {
  const { files } = finishSteps(walkFiles(root, { workspace, glob, isVisible: () => true }))
  return files.map((file) => relative(root, file))
}

it('skips what git ignores', () => {
  const names = [
    'a.log', 'keep.log', 'src/a.log', 'src/b.ts', 'src/out/x.js', 'out/x.js', 'docs/out/y.md', 'docs/a/b/deep.txt',
    'docs/deep.txt', 'tmp/file', 'lib/tmp', '#hash', '!bang', 'sp ace', 'x{1}.txt', 'sub/.gitignore', 'sub/keep.me',
    'sub/drop.me', 'sub/inner/drop.me', 'cache/a/b', 'cache/keep/c', 'one.o', 'two.o', 'two.a', 'foo/bar/baz', 'foo/qux',
  ] // prettier-ignore
  const rules = [
    '# comment',
    '*.log',
    '!keep.log',
    '/out',
    'docs/**/deep.txt',
    'tmp/',
    String.raw`\#hash`,
    String.raw`\!bang`,
    'sp ace   ',
    'x{1}.txt',
    'cache/*',
    '!cache/keep',
    '[!t]*.o',
    '**/bar/',
    'foo/q?x',
    '',
    '/',
    '[unclosed',
  ]
  const folder = tempTree({
    ...Object.fromEntries(names.map((name) => [name, ''])),
    '.gitignore': `${rules.join('\n')}\n`,
    'sub/.gitignore': '*.me\r\n!keep.me\r\n/inner\r\n',
  })
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'core.excludesFile=/dev/null', ...args], { cwd: folder, encoding: 'utf8' })
  git('init', '-q')
  const listed = git('ls-files', '-z', '--others', '--exclude-standard').split('\0').slice(0, -1)
  expect(walked(folder)).toEqual(listed.toSorted(compareBytes))
  expect(walked(join(folder, 'sub'), { workspace: folder })).toEqual(['.gitignore', 'keep.me'])
})

it('returns paths in byte order, follows no links, and enters folders of build tools only if they are named', () => {
  const folder = tempTree({
    'a/b': '',
    'a.b': '',
    'a-b': '',
    a0: '',
    'node_modules/x.js': '',
    '.hidden/f': '',
    '.git/config': '',
  })
  symlinkSync('a', join(folder, 'link'))
  symlinkSync('a0', join(folder, 'file-link'))
  expect(walked(folder)).toEqual(['.hidden/f', 'a-b', 'a.b', 'a/b', 'a0'])
  expect(walked(folder, { glob: 'node_modules/*.js' })).toEqual(['node_modules/x.js'])
  expect(walked(folder, { glob: '{a,b}*' })).toEqual(['a-b', 'a.b', 'a0'])
  expect(() => walked(folder, { glob: '../*' })).toThrow('climbs out')
})

it('keeps the order in a folder with very many files', () => {
  const names = Array.from({ length: 3500 }, (_, index) => `f${(index * 7919) % 3500}`)
  const folder = tempTree(Object.fromEntries(names.map((name) => [name, ''])))
  expect(walked(folder)).toEqual(names.toSorted(compareBytes))
})
