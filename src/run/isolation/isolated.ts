import { messageOf, stopsRun } from '../../base/error.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { openWorktree, type Worktree, type WorktreeOptions } from '../../tool/worktree/open.ts'
import { type Gate, runGate } from './gate.ts'

/** What becomes of the changes: they are brought into the workspace, wait for a resumed run, or are left out for a reason. */
export type Verdict = 'apply' | 'wait' | { readonly leftOut: string }

export interface IsolatedWork<T> extends WorktreeOptions {
  /** Decides besides whether the changes reach the workspace; undefined: nothing does. */
  readonly gate?: Gate | undefined
  /** The work tree is the workspace of the context that it is given. */
  readonly work: (inside: RunContext) => Promise<T>
  readonly verdict: (value: T) => Verdict
}

/**
 * Does work in a git work tree of its own: the workspace gets all that it has changed or nothing. What it does not get is told, and
 * recorded, as a diff; the work tree stays for a run that can be resumed. R16.
 * @throws BatonError of the work; USAGE where no work tree can be made, GATE_FAILED, CHANGES_FAILED
 */
export async function runIsolated<T>(isolated: IsolatedWork<T>, context: RunContext): Promise<T> {
  const { gate, work, verdict, ...options } = isolated
  const tree = await openWorktree(context, options)
  emit(context, { type: 'isolation.started', folder: tree.context.scope.folders.workspace })
  try {
    const value = await work(tree.context)
    const decided = verdict(value)
    if (decided === 'wait') return value
    if (decided !== 'apply') {
      await tellLeftOut(tree, decided.leftOut, context)
      return value
    }
    if (gate !== undefined) await runGate(gate, tree.context)
    await tree.apply(await tree.changes())
    tree.close()
    return value
  } catch (error) {
    if (!context.services.signal.aborted && !stopsRun(error)) await tellLeftOut(tree, messageOf(error), context)
    throw error
  }
}

/** Says what the workspace does not get. */
async function tellLeftOut(tree: Worktree, reason: string, context: RunContext): Promise<void> {
  const seen = await tree.look()
  if (seen === undefined || seen.files.length === 0) return
  emit(context, { type: 'isolation.left_out', reason: reason.split('\n')[0] ?? '', ...seen })
}
