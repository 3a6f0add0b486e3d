import { modelText } from '../../base/model-text.ts'
import { join, relative } from 'node:path'
import { cutText } from '../../base/cut-text.ts'
import { emit, type RunContext } from '../../event/context.ts'
import type { FileChange } from '../../event/event.ts'
import { item, part } from '../../event/place.ts'
import type { TreeChange } from '../../tool/worktree/changes.ts'
import { openWorktree, removeStaleWorktree, type Worktree } from '../../tool/worktree/open.ts'
import { pathHere } from '../../tool/worktree/tree-paths.ts'
import type { EndOfWork, Order } from './order.ts'

interface OwnTree {
  /**
   * Does the work in the work tree. If it throws, the agent has not ended, and the work tree is kept for a resumed run.
   */
  readonly work: (order: Order, inside: RunContext) => Promise<EndOfWork>
  /** The end of an agent that failed with the error. @throws the error if it is not an end */
  readonly failed: (error: unknown) => EndOfWork
  /** Called with the function that removes the work tree, for use when the end is recorded. */
  readonly onOpen: (remove: () => Promise<void>) => void
  /** Its end is recorded, and it is only played again. */
  readonly isEnded: boolean
}

/** One work tree per place. */
const name = 'agent'

/** Removes the work tree of an agent whose end an earlier process has recorded. */
export function removeLeftTree(context: RunContext): void {
  removeStaleWorktree(name, context)
}

/**
 * Runs an agent in its own git work tree. When it is done, all of its changes are applied to its caller's
 * workspace, or none: then its end has them as a diff.
 */
export async function inOwnTree(
  order: Order,
  context: RunContext,
  { work, failed, onOpen, isEnded }: OwnTree,
): Promise<EndOfWork> {
  let tree: Worktree
  try {
    tree = await openWorktree(context, { name, cure: 'Give the work to a new agent.', isEnded })
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
  // programs find their conversations by their working folder, which is gone
  const { session: _, ...end } = await work(placed, tree.context)
  if (end.status !== 'done') return reportUnapplied(end, tree, context)
  try {
    const { files } = await tree.apply(await tree.changes())
    const changes = files.map((file) => changeOf(file, order, context))
    return { ...end, changes, ...(files.length === 0 ? {} : { applied: files.map(({ path }) => path) }) }
  } catch (error) {
    const { text, messages } = end
    const { session: _none, ...failure } = failed(error)
    const kept = { text, ...(messages && { messages }) }
    return reportUnapplied({ ...failure, ...kept }, tree, context)
  }
}

const newTreeText = modelText`Your folder is a new copy of the workspace as it is now: what you changed before is in it only if it was applied to the workspace.`

/** Characters of a diff shown to a caller. */
const mostShown = 20_000

/** Reports the changes that are not applied, to the user and to the caller. */
async function reportUnapplied(end: EndOfWork, tree: Worktree, context: RunContext): Promise<EndOfWork> {
  const { scope, services } = context
  // observed, so that a replay shows its caller the same
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

/** In the form in which tools report changes: paths are relative to the caller's base folder. */
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
