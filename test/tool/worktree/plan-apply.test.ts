import { chmodSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createHash } from '../../../src/base/hash.ts'
import type { EntryOf, TreeChange } from '../../../src/tool/worktree/changes.ts'
import { planApply } from '../../../src/tool/worktree/plan-apply.ts'
import { tempTree } from '../../helpers/temp.ts'

type Files = Readonly<Record<string, string>>

function entry(text: string, mode: EntryOf['mode'] = '100644'): EntryOf {
  return { mode, id: createHash('sha1').update(`blob ${text.length}\0${text}`).digest('hex') }
}

/** Plans for a workspace and a work tree with these files; there is no store, so that no texts can be merged. */
async function planned(
  changes: readonly TreeChange[],
  {
    here = {},
    there = {},
    emptied = [],
  }: { readonly here?: Files; readonly there?: Files; readonly emptied?: readonly string[] },
  prepare: (workspace: string) => void = () => {},
) {
  const [workspace, folder] = [tempTree(here), tempTree(there)]
  prepare(workspace)
  const store = { folder: join(folder, 'no-store'), top: folder, format: 'sha1', env: process.env } as const
  const plan = await planApply(
    { files: changes, emptied, repositories: [], state: '' },
    { workspace, folder, store },
    { env: process.env, signal: new AbortController().signal },
  )
  if (plan.kind === 'conflict') return plan.conflicts.map(({ path, why }) => `${path}: ${why}`)
  return plan.steps.map(({ action }) => {
    const { op, path } = action
    const from = 'from' in action ? ` ${action.from.replace(`${workspace}/`, '').replace(`${folder}/`, 'tree:')}` : ''
    return `${op}${from} ${path.slice(workspace.length + 1)}`
  })
}

describe('the plan to apply the changes of a work tree', () => {
  it('removes files first, then folders, and then creates, so that a file can replace a folder', async () => {
    const changes: readonly TreeChange[] = [
      { kind: 'added', path: 'a', after: entry('new') },
      { kind: 'deleted', path: 'a/b', before: entry('old') },
      { kind: 'modified', path: 'c', before: entry('1'), after: entry('2') },
    ]
    const files = { here: { 'a/b': 'old', c: '1' }, there: { a: 'new', c: '2' }, emptied: ['a'] }
    expect(await planned(changes, files)).toEqual(['delete a/b', 'rmdir a', 'copy tree:a a', 'copy tree:c c'])
  })

  it('is empty for what the workspace already has', async () => {
    const changes: readonly TreeChange[] = [
      { kind: 'added', path: 'a', after: entry('new') },
      { kind: 'deleted', path: 'b', before: entry('old') },
    ]
    expect(await planned(changes, { here: { a: 'new' }, there: { a: 'new' } })).toEqual([])
  })

  it('moves a file that is unchanged in the workspace, and otherwise deletes one and creates the other', async () => {
    const moved: TreeChange = { kind: 'moved', path: 'b', from: 'a', before: entry('x'), after: entry('x') }
    expect(await planned([moved], { here: { a: 'x' }, there: { b: 'x' } })).toEqual(['move a b'])
    expect(await planned([moved], { here: {}, there: { b: 'x' } })).toEqual(['copy tree:b b'])
    expect(await planned([moved], { here: { a: 'x', b: 'x' }, there: { b: 'x' } })).toEqual(['delete a'])
  })

  it('changes only the executable bit if the content is the same', async () => {
    const change: TreeChange = { kind: 'modified', path: 'a', before: entry('x'), after: entry('x', '100755') }
    expect(await planned([change], { here: { a: 'x' }, there: { a: 'x' } })).toEqual(['chmod a'])
  })

  it.each<readonly [string, TreeChange, Files, string]>([
    [
      'created in both',
      { kind: 'added', path: 'a', after: entry('1') },
      { a: '2' },
      'it was also created in the workspace',
    ],
    [
      'deleted here',
      { kind: 'modified', path: 'a', before: entry('1'), after: entry('2') },
      {},
      'it was deleted in the workspace',
    ],
    [
      'changed here and deleted there',
      { kind: 'deleted', path: 'a', before: entry('1') },
      { a: '2' },
      'it was changed in the workspace and deleted in the work tree',
    ],
    [
      'changed in both, of which the start is not known',
      { kind: 'modified', path: 'a', before: entry('1'), after: entry('2') },
      { a: '3' },
      'it was changed both in the workspace and in the work tree',
    ],
    [
      'a folder here',
      { kind: 'added', path: 'a', after: entry('1') },
      { 'a/b': '' },
      'something other than a file is there now',
    ],
  ])('is a conflict for a file that was %s, and then has no step at all', async (_, change, here, why) => {
    const other: TreeChange = { kind: 'added', path: 'z', after: entry('z') }
    expect(await planned([change, other], { here, there: { a: '2', z: 'z' } })).toEqual([`a: ${why}`])
  })

  it('is a conflict for a path that now leads through a link', async () => {
    const change: TreeChange = { kind: 'added', path: 'sub/a', after: entry('1') }
    const conflicts = await planned([change], { there: { 'sub/a': '1' } }, (workspace) => {
      mkdirSync(join(workspace, 'other'))
      symlinkSync('other', join(workspace, 'sub'))
    })
    expect(conflicts).toEqual(['sub/a: its path now leads through a link'])
  })

  it('changes nothing itself', async () => {
    let file = ''
    await planned(
      [{ kind: 'modified', path: 'a', before: entry('1'), after: entry('2') }],
      { here: { a: '1' }, there: { a: '2' } },
      (workspace) => chmodSync((file = join(workspace, 'a')), 0o640),
    )
    expect(readFileSync(file, 'utf8')).toBe('1')
  })
})
