import { join, relative } from 'node:path'
import { cutText } from '../../base/cut-text.ts'
import { emit, type RunContext } from '../../event/context.ts'
import type { FileChange } from '../../event/event.ts'
import { item, part } from '../../event/place.ts'
import type { TreeChange } from '../../tool/worktree/changes.ts'
import { openWorktree, type Worktree } from '../../tool/worktree/open.ts'
import { pathHere } from '../../tool/worktree/tree-paths.ts'
import type { EndOfWork, Order } from './order.ts'

interface OwnTree {
  /** Does the work in the work tree: what it throws is no end of the agent, and the work tree stays for a resumed run. */
  readonly work: (order: Order, inside: RunContext) => Promise<EndOfWork>
  /** The end of an agent that failed so. @throws what is no end of it */
  readonly failed: (error: unknown) => EndOfWork
  /** Given what removes the work tree, to be called when the end is recorded. */
  readonly onOpen: (remove: () => void) => void
}

/** Of a place there is one. */
const name = 'agent'

/**
 * Lets an agent work in a git work tree of its own (R16). The workspace of its caller gets all that it has changed when it is done, or
 * nothing: then its end says what that is.
 */
export async function inOwnTree(
  order: Order,
  context: RunContext,
  { work, failed, onOpen }: OwnTree,
): Promise<EndOfWork> {
  let tree: Worktree
  try {
    tree = await openWorktree(context, { name, cure: 'Give the work to a new agent.' })
  } catch (error) {
    return failed(error)
  }
  onOpen(tree.remove)
  const { folders } = tree.context.scope
  emit(context, { type: 'isolation.started', folder: folders.workspace })
  const placed: Order = {
    ...order,
    baseDir: pathHere(folders, order.baseDir),
    prompt: order.resumes === undefined ? order.prompt : `${order.prompt}\n\n${newTreeText}`,
  }
  // programs look for their conversations by the folder that they work in
  const { session: _, ...end } = await work(placed, tree.context)
  if (end.status !== 'done') return leftOut(end, tree, context)
  try {
    const { files } = await tree.apply(await tree.changes())
    const changes = files.map((file) => changeOf(file, order, context))
    return { ...end, changes, ...(files.length === 0 ? {} : { applied: files.map(({ path }) => path) }) }
  } catch (error) {
    const { text, messages } = end
    const { session: _none, ...failure } = failed(error)
    const kept = { text, ...(messages && { messages }) }
    return leftOut({ ...failure, ...kept }, tree, context)
  }
}

const newTreeText =
  'Your folder is a new copy of the workspace as it is now: what you changed before is in it only if it was applied to the workspace.'

/** Characters of a diff that a caller is shown. */
const mostShown = 20_000

/** Says what the workspace does not get, to people and to the caller. */
async function leftOut(end: EndOfWork, tree: Worktree, context: RunContext): Promise<EndOfWork> {
  const { scope, services } = context
  // a replay tells its caller the same
  const at = [...scope.at, part('worktree'), item(name), part('read')]
  const seen = await services.effects.observeAsync(at, { name: 'worktree.read', args: [] }, async () => {
    const { files, diff } = (await tree.look()) ?? { files: [], diff: '' }
    return { files: [...files], diff }
  })
  const none = { ...end, changes: [], planned: [], hasTree: true } as const
  if (seen.files.length === 0) return none
  const reason = end.error?.message.split('\n')[0] ?? 'it was stopped'
  emit(context, { type: 'isolation.left_out', reason, ...seen })
  return { ...none, leftOut: cutText(seen.diff, mostShown) }
}

/** As tools tell their changes: paths are from the base folder of the caller. */
function changeOf(change: TreeChange, { baseDir }: Order, { scope }: RunContext): FileChange {
  const named = (path: string): string => relative(baseDir, join(scope.folders.workspace, path))
  const common = { file_path: named(change.path), success: true }
  switch (change.kind) {
    case 'added':
      return { ...common, kind: 'New' }
    case 'modified':
      return { ...common, kind: 'Patch' }
    case 'deleted':
      return { ...common, kind: 'Delete' }
    case 'moved':
      return { ...common, kind: 'Rename', from_path: named(change.from) }
  }
}
