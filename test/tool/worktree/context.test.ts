import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { RunContext } from '../../../src/event/context.ts'
import { withServices } from '../../../src/event/context.ts'
import { createSources } from '../../../src/event/sources.ts'
import { item } from '../../../src/event/place.ts'
import type { ReadList } from '../../../src/base/reads.ts'
import { openMemoryRecords } from '../../helpers/memory-journal.ts'
import { noMask } from '../../../src/journal/secrets.ts'
import { narrow } from '../../../src/event/context.ts'
import { openWorktree } from '../../../src/tool/worktree/open.ts'
import { saveFile } from '../../../src/tool/workspace-files.ts'
import { project } from '../../../src/history/run-view.ts'
import { changesIn, changesOnly } from '../../../src/undo/changes.ts'
import { shellIn, writeIn, worktreeWorld } from '../../helpers/worktree-world.ts'

/** Writes like the answer of a model. */
function answer(context: RunContext, path: string): void {
  const paths = context.services.sources.executed()
  const held = narrow(context, { protect: { paths, kind: 'answer', allow: [], whom: 'a model' } })
  saveFile(join(context.scope.folders.workspace, path), 'x', { context: held, at: [item('answer'), item(path)] })
}

describe('the context of a work tree', () => {
  it('protects the same paths as the workspace', async () => {
    const world = worktreeWorld({ 'agents/a.js': 'a', 'plain.js': 'a' })
    const sources = createSources([join(world.top, 'agents/a.js')])
    const { context } = await openWorktree(withServices(world.context(), { sources }), { name: 'a' })
    for (const path of ['agents/a.js', '.git', '.git/config', 'baton.toml', '.baton/x', 'made.lua']) {
      expect(() => answer(context, path), path).toThrow(/protected|belongs to git/)
    }
    answer(context, 'plain.js')
    expect(() => answer(context, '../beside.txt')).toThrow(/outside the workspace/)
  })

  it('does not write through a link out of it', async () => {
    const world = worktreeWorld({ 'a.txt': 'a\n' })
    const { context } = await openWorktree(world.context(), { name: 'a' })
    symlinkSync(world.top, join(context.scope.folders.workspace, 'out'))
    expect(() => writeIn(context, { 'out/a.txt': 'changed' })).toThrow(
      /leads outside the workspace through the link out/,
    )
    expect(world.read('a.txt')).toBe('a\n')
  })

  it('keeps its file changes separate from those of the workspace: undo reverts only what was transferred', async () => {
    const world = worktreeWorld({ 'a.txt': 'one\n' })
    const outer = world.context()
    const tree = await openWorktree(outer, { name: 'a' })
    writeIn(tree.context, { 'a.txt': 'two\n', 'left.txt': 'x' })
    shellIn(tree.context, 'rm left.txt')
    await tree.apply(await tree.changes())
    await tree.close()
    const changes = changesIn(await project(openMemoryRecords(outer.records, noMask), changesOnly), () => undefined)
    const named = outer.records.flatMap((record) =>
      record.k === 'started' && record.kind === 'file' ? [Object(record.request).path] : [],
    )
    expect(named.filter((path) => !String(path).startsWith('/'))).toEqual(['a.txt'])
    expect(changes.map(({ path }) => path).filter((path) => path.startsWith('/'))).toEqual([])
  })

  it('is watched by the files of the workspace', async () => {
    const world = worktreeWorld({ 'a.txt': 'one\n' })
    const files: string[] = []
    const lists: ReadList[] = []
    const reads = {
      file: (path: string) => files.push(path),
      prompt: () => {},
      list: (one: ReadList) => lists.push(one),
    }
    const { context } = await openWorktree(withServices(world.context(), { reads }), { name: 'a' })
    const at = context.scope.folders.workspace
    context.services.reads?.file(join(at, 'a.txt'), 'something else')
    context.services.reads?.file('/elsewhere', 'x')
    context.services.reads?.list({ globs: ['*.txt'], baseDir: at, root: at, found: [], reads: 'names' })
    expect(files).toEqual([join(world.top, 'a.txt'), '/elsewhere'])
    expect(lists).toMatchObject([{ baseDir: world.top, root: world.top, found: [join(world.top, 'a.txt')] }])
  })
})
