import { entryStatus } from '../../base/entries.ts'
import { BatonError, stopsRun } from '../../base/error.ts'
import {
  type ContextWith,
  type Gate,
  below,
  emit,
  type RunContext,
  withScope,
  withServices,
} from '../../event/context.ts'
import { item, member, part, placeText } from '../../event/place.ts'
import { hasChanges, openWorktree, type Worktree } from '../../tool/worktree/open.ts'

/** The work trees of members, by name; undefined if members only read. */
export type Trees = ReadonlyMap<string, Worktree> | undefined

/**
 * Creates a git work tree for each member. They belong to the place of the ensemble, because the place of a member is
 * cleaned up when it ends, and its work is needed until one is chosen.
 * @throws BatonError USAGE if no work tree can be created
 */
export async function openTrees(names: readonly string[], context: RunContext): Promise<Trees> {
  const trees = new Map<string, Worktree>()
  const cure = `Resume with --from ${placeText(context.scope.at)} to do that part again.`
  // no other one is needed when the changes of the winner are known
  const isEnded = names.some((name) => hasChanges(name, context))
  for (const name of names) {
    const tree = await openWorktree(context, { name, cure, isEnded })
    emit(below(context, member(name)), { type: 'isolation.started', folder: tree.context.scope.folders.workspace })
    trees.set(name, tree)
  }
  return trees
}

/** @throws BatonError FILE_FAILED if the work tree of a member that runs again was removed after a winner was chosen */
export function checkTree(name: string, trees: Trees, { scope, services }: ContextWith<'at', Gate>): void {
  if (services.effects.isReplay === true) return
  const folder = trees?.get(name)?.context.scope.folders.workspace
  if (folder === undefined || entryStatus(folder) !== undefined) return
  throw new BatonError(
    'FILE_FAILED',
    `the work tree of member "${name}" was removed, because a winner was already chosen`,
    {
      hint: `Resume with --from ${placeText(scope.at.slice(0, -1))} to run all members again.`,
    },
  )
}

/** The same context in the work tree of a member, if it has one. */
export function inTreeOf(name: string, trees: Trees, context: RunContext): RunContext {
  const tree = trees?.get(name)
  if (tree === undefined) return context
  const { asking } = context.services
  const inside = withScope(tree.context, { at: context.scope.at })
  return asking === undefined ? inside : withServices(inside, { asking })
}

const shownCharacters = 60_000

/** The changes of members, as diffs for the judge, by name. Recorded. */
export async function diffsOf(
  names: readonly string[],
  trees: NonNullable<Trees>,
  { scope, services }: ContextWith<'at', Gate>,
): Promise<ReadonlyMap<string, string>> {
  const diffs = new Map<string, string>()
  for (const name of names) {
    const at = [...scope.at, part('worktree'), item(name), part('read')]
    const diff = await services.effects.observeAsync(at, { name: 'ensemble.diff', args: [name] }, async () =>
      shortened((await trees.get(name)?.look())?.diff ?? ''),
    )
    diffs.set(name, diff)
  }
  return diffs
}

function shortened(diff: string): string {
  if (diff.length <= shownCharacters) return diff
  return `${diff.slice(0, shownCharacters)}\n(${diff.length - shownCharacters} more characters are left out)\n`
}

/**
 * Applies the changes of the winner to the workspace, all or nothing, and removes all work trees.
 * @throws BatonError CHANGES_FAILED; the work trees are then kept for a resumed run
 */
export async function applyWinner(winner: string, trees: NonNullable<Trees>, context: RunContext): Promise<void> {
  const tree = trees.get(winner)
  if (tree === undefined) throw new Error(`member "${winner}" has no work tree`)
  try {
    await tree.apply(await tree.changes())
  } catch (error) {
    if (!context.services.signal.aborted && !stopsRun(error)) {
      const seen = await tree.look()
      const reason = `the changes of "${winner}" could not be applied`
      if (seen !== undefined && seen.files.length > 0) emit(context, { type: 'isolation.left_out', reason, ...seen })
    }
    throw error
  }
  for (const one of trees.values()) await one.close()
}
