import { messageOf, stopsRun } from '../../base/error.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { openWorktree, type Worktree, type WorktreeOptions } from '../../tool/worktree/open.ts'
import { type Gate, runGate } from './gate.ts'

/** The fate of the changes: applied to the workspace, kept for a resumed run, or left out for a reason. */
export type Verdict = 'apply' | 'wait' | { readonly leftOut: string }

export interface IsolatedWork<T> extends WorktreeOptions {
  /** An additional check before the changes reach the workspace; undefined: none. */
  readonly gate?: Gate | undefined
  /** Gets a context whose workspace is the work tree. */
  readonly work: (inside: RunContext) => Promise<T>
  readonly verdict: (value: T) => Verdict
}

/**
 * Does work in its own git work tree: the workspace gets all of its changes or none. Changes that it does not get are
 * reported and recorded as a diff; the work tree is kept if the run can be resumed. R16.
 * @throws BatonError of the work; USAGE if no work tree can be created, GATE_FAILED, CHANGES_FAILED
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
    await tree.close()
    return value
  } catch (error) {
    if (!context.services.signal.aborted && !stopsRun(error)) await tellLeftOut(tree, messageOf(error), context)
    throw error
  }
}

/** Reports the changes that the workspace does not get. */
async function tellLeftOut(tree: Worktree, reason: string, context: RunContext): Promise<void> {
  const seen = await tree.look()
  if (seen === undefined || seen.files.length === 0) return
  emit(context, { type: 'isolation.left_out', reason: reason.split('\n')[0] ?? '', ...seen })
}
