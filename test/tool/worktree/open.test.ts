import { existsSync, lstatSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { RunContext } from '../../../src/event/context.ts'
import { inWorktree, openWorktree, type Worktree } from '../../../src/tool/worktree/open.ts'
import { shellIn, writeIn, worktreeWorld } from '../../helpers/worktree-world.ts'

function there({ scope }: RunContext, path: string): string {
  return readFileSync(join(scope.folders.workspace, path), 'utf8')
}

async function opened(context: RunContext, name = 'a'): Promise<Worktree> {
  return openWorktree(context, { name })
}

describe('a work tree of a run', () => {
  it('contains the current state of the workspace: changed, staged and new files, and nothing that is ignored', async () => {
    const world = worktreeWorld({ 'a.txt': 'one\n', 'b.txt': 'one\n', 'gone.txt': 'x', '.gitignore': 'out/\n' })
    world.write({
      'a.txt': 'two\n',
      'new/näme with space\nand line.txt': 'new',
      'out/built.js': 'built',
      'b.txt': 'staged\n',
    })
    world.git('add', 'b.txt')
    world.remove('gone.txt')
    const { context } = await opened(world.context())
    expect(there(context, 'a.txt')).toBe('two\n')
    expect(there(context, 'new/näme with space\nand line.txt')).toBe('new')
    const at = context.scope.folders.workspace
    expect(['gone.txt', 'out/built.js'].map((path) => existsSync(join(at, path)))).toEqual([false, false])
    const status = world.git('status', '--porcelain')
    expect(world.git('-C', at, 'status', '--porcelain')).toBe(status)
    expect(world.git('-C', at, 'rev-parse', 'HEAD')).toBe(world.git('rev-parse', 'HEAD'))
  })

  it('preserves executable bits and links', async () => {
    const world = worktreeWorld({ 'run.sh': '#!/bin/sh\n' })
    shellIn(world.context(), 'chmod 755 run.sh && ln -s run.sh link && ln -s /nowhere dangling')
    const { context } = await opened(world.context())
    const at = (path: string): string => join(context.scope.folders.workspace, path)
    expect(lstatSync(at('run.sh')).mode & 0o777).toBe(0o755)
    expect([readlinkSync(at('link')), readlinkSync(at('dangling'))]).toEqual(['run.sh', '/nowhere'])
  })

  it('transfers all changes to the workspace, and is removed completely', async () => {
    const world = worktreeWorld({ 'a.txt': 'one\n', 'b.txt': 'one\n', 'old/c.txt': 'moved as it is\n', 'run.sh': 'x' })
    const context = world.context()
    const { applied } = await inWorktree(context, { name: 'a' }, async (inside) => {
      writeIn(inside, { 'a.txt': 'two\n', 'new/d.txt': 'new\n' })
      shellIn(inside, 'rm b.txt && mv old/c.txt c.txt && rmdir old && chmod 755 run.sh && ln -s a.txt link')
      shellIn(inside, 'printf "\\000\\001" > binary')
      expect(world.read('a.txt')).toBe('one\n')
    })
    expect(applied.files.map(({ kind, path }) => `${kind} ${path}`).toSorted()).toEqual([
      'added binary',
      'added link',
      'added new/d.txt',
      'deleted b.txt',
      'modified a.txt',
      'modified run.sh',
      'moved c.txt',
    ])
    expect([world.read('a.txt'), world.read('new/d.txt'), world.read('c.txt')]).toEqual([
      'two\n',
      'new\n',
      'moved as it is\n',
    ])
    expect(['b.txt', 'old'].map(world.has)).toEqual([false, false])
    expect(readlinkSync(join(world.top, 'link'))).toBe('a.txt')
    expect(lstatSync(join(world.top, 'run.sh')).mode & 0o777).toBe(0o755)
    expect([...readFileSync(join(world.top, 'binary'))]).toEqual([0, 1])
    expect(world.known()).toEqual([])
    expect(existsSync(world.folder) ? lstatSync(world.folder).isDirectory() : true).toBe(true)
  })

  it('writes nothing when the workspace has changed in the same place, and locates the conflict', async () => {
    const world = worktreeWorld({ 'a.txt': 'one\n', 'b.txt': 'one\n', 'c.bin': 'x\0', 'd.txt': 'd\n' })
    const work = inWorktree(world.context(), { name: 'a' }, async (inside) => {
      shellIn(inside, 'echo tree > a.txt; echo tree > b.txt; printf "y\\000" > c.bin; rm d.txt; echo tree > e.txt')
      world.write({ 'a.txt': 'mine\n', 'c.bin': 'z\0', 'd.txt': 'mine\n', 'e.txt': 'mine\n' })
    })
    await expect(work).rejects.toMatchObject({ code: 'CHANGES_FAILED' })
    const message = await work.catch((error: unknown) => String(error))
    for (const path of ['a.txt', 'c.bin', 'd.txt', 'e.txt']) expect(message).toContain(`\n  ${path}: `)
    expect([world.read('a.txt'), world.read('b.txt'), world.read('e.txt')]).toEqual(['mine\n', 'one\n', 'mine\n'])
  })

  it('merges a text that was changed elsewhere meanwhile', async () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index}\n`)
    const world = worktreeWorld({ 'a.txt': lines.join('') })
    const { applied } = await inWorktree(world.context(), { name: 'a' }, async (inside) => {
      writeIn(inside, { 'a.txt': lines.with(1, 'tree\n').join('') })
      world.write({ 'a.txt': lines.with(18, 'mine\n').join('') })
    })
    expect(applied.merged).toEqual(['a.txt'])
    expect(world.read('a.txt')).toBe(lines.with(1, 'tree\n').with(18, 'mine\n').join(''))
  })

  it('compares files byte by byte, whatever git does to their line endings', async () => {
    const world = worktreeWorld({ '.gitattributes': '* text=auto eol=lf\n', 'a.txt': 'one\n', 'b.txt': 'one\ntwo\n' })
    world.git('config', 'core.autocrlf', 'true')
    world.write({ 'b.txt': 'one\r\ntwo\n' })
    await inWorktree(world.context(), { name: 'a' }, async (inside) => {
      expect(there(inside, 'b.txt')).toBe('one\r\ntwo\n')
      writeIn(inside, { 'a.txt': 'one\r\n' })
    })
    expect([world.read('a.txt'), world.read('b.txt')]).toEqual(['one\r\n', 'one\r\ntwo\n'])
  })

  it('contains the working state of submodules, and transfers it back', async () => {
    const world = worktreeWorld({ 'a.txt': 'one\n' })
    const library = worktreeWorld({ 'lib.txt': 'lib\n' })
    world.git('submodule', '--quiet', 'add', library.top, 'sub')
    world.git('submodule', '--quiet', 'add', library.top, 'closed')
    world.git('commit', '-qm', 'sub')
    world.git('submodule', '--quiet', 'deinit', '-f', 'closed')
    world.write({ 'sub/lib.txt': 'changed\n', 'sub/new.txt': 'new\n' })
    await inWorktree(world.context(), { name: 'a' }, async (inside) => {
      expect([there(inside, 'sub/lib.txt'), there(inside, 'sub/new.txt')]).toEqual(['changed\n', 'new\n'])
      writeIn(inside, { 'sub/lib.txt': 'changed again\n', 'sub/more.txt': 'more\n' })
    })
    expect([world.read('sub/lib.txt'), world.read('sub/more.txt')]).toEqual(['changed again\n', 'more\n'])
    expect(world.git('-C', join(world.top, 'sub'), 'status', '--porcelain')).toContain('M lib.txt')
  })

  it('contains the whole repository if the workspace is a folder of it', async () => {
    const world = worktreeWorld({ 'root.txt': 'root\n', 'app/a.txt': 'one\n' })
    const { applied } = await inWorktree(world.context('app'), { name: 'a' }, async (inside) => {
      expect(there(inside, '../root.txt')).toBe('root\n')
      shellIn(inside, 'echo two > a.txt; echo other > ../root.txt')
    })
    expect(applied.files.map(({ path }) => path)).toEqual(['a.txt'])
    expect([world.read('app/a.txt'), world.read('root.txt')]).toEqual(['two\n', 'root\n'])
  })

  it('does not follow a folder that became a link', async () => {
    const world = worktreeWorld({ 'dir/a.txt': 'one\n', 'other/a.txt': 'other\n' })
    world.remove('dir')
    symlinkSync('other', join(world.top, 'dir'))
    const { context } = await opened(world.context())
    expect(readlinkSync(join(context.scope.folders.workspace, 'dir'))).toBe('other')
    expect(there(context, 'other/a.txt')).toBe('other\n')
  })

  it.each([
    ['a file becomes a folder', 'rm a && mkdir a && echo x > a/b'],
    ['a folder becomes a file', 'rm -r d && echo x > d'],
    ['two files change places', 'mv a t && mv e a && mv t e'],
    ['a file becomes a link', 'rm a && ln -s e a'],
    ['a link becomes a file', 'rm l && echo x > l'],
  ])('transfers changes when %s', async (_, line) => {
    const world = worktreeWorld({ a: 'a\n', 'd/c': 'c\n', e: 'e\n' })
    symlinkSync('a', join(world.top, 'l'))
    const expected = worktreeWorld({ a: 'a\n', 'd/c': 'c\n', e: 'e\n' })
    symlinkSync('a', join(expected.top, 'l'))
    shellIn(expected.context(), line)
    await inWorktree(world.context(), { name: 'a' }, async (inside) => shellIn(inside, line))
    expect(world.git('status', '--porcelain', '-uall')).toBe(expected.git('status', '--porcelain', '-uall'))
    expect(world.git('diff')).toBe(expected.git('diff'))
  })

  it('refuses a folder without git, and a repository without a commit', async () => {
    const world = worktreeWorld()
    const outside = { ...world.context() }
    const nowhere = {
      ...outside,
      scope: { ...outside.scope, folders: { ...outside.scope.folders, workspace: world.home } },
    }
    await expect(opened(nowhere)).rejects.toMatchObject({
      code: 'USAGE',
      message: `isolation = "worktree": ${world.home} is not in a git repository`,
    })
    world.git('update-ref', '-d', 'HEAD')
    await expect(opened(world.context())).rejects.toMatchObject({
      code: 'USAGE',
      message: `isolation = "worktree": the repository ${world.top} has no commit yet`,
    })
  })

  it('can exist several times at once', async () => {
    const world = worktreeWorld({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
    const context = world.context()
    const [one, two] = await Promise.all([opened(context, 'one'), opened(context, 'two')])
    writeIn(one.context, { 'a.txt': 'one\n' })
    writeIn(two.context, { 'b.txt': 'two\n', 'new.txt': 'two\n' })
    await one.apply(await one.changes())
    await two.apply(await two.changes())
    await one.close()
    await two.close()
    expect([world.read('a.txt'), world.read('b.txt'), world.read('new.txt')]).toEqual(['one\n', 'two\n', 'two\n'])
    expect(world.known()).toEqual([])
  })

  it('returns a diff that git applies', async () => {
    const world = worktreeWorld({ 'a.txt': 'one\n', 'c.txt': 'c\n' })
    const tree = await opened(world.context())
    writeIn(tree.context, { 'a.txt': 'two\n', 'b.txt': 'new\n' })
    const { diff = '' } = (await tree.look()) ?? {}
    expect(diff).toContain('--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n')
    world.write({ 'the.patch': diff })
    world.git('apply', 'the.patch')
    expect([world.read('a.txt'), world.read('b.txt')]).toEqual(['two\n', 'new\n'])
  })
})

describe('a work tree within another one', () => {
  it('begins with the state of that one, and transfers its changes back to it', async () => {
    const world = worktreeWorld({ 'a.txt': 'one\n', 'dir/b.txt': 'b\n' })
    await inWorktree(world.context(), { name: 'outer' }, async (outer) => {
      writeIn(outer, { 'a.txt': 'two\n' })
      await inWorktree(outer, { name: 'inner' }, async (inner) => {
        expect([there(inner, 'a.txt'), there(inner, 'dir/b.txt')]).toEqual(['two\n', 'b\n'])
        writeIn(inner, { 'a.txt': 'three\n', 'c.txt': 'c\n' })
        expect(there(outer, 'a.txt')).toBe('two\n')
      })
      expect([there(outer, 'a.txt'), there(outer, 'c.txt')]).toEqual(['three\n', 'c\n'])
      expect(world.read('a.txt')).toBe('one\n')
    })
    expect([world.read('a.txt'), world.read('c.txt'), world.known()]).toEqual(['three\n', 'c\n', []])
  })
})
