import { createTurns } from '../../base/concurrency.ts'
import { item, part } from '../../event/place.ts'
import type { FileCall } from '../workspace-files.ts'
import { performStep } from './space.ts'
import { type Before, beforeAction, type Begun, undoAction, type UndoableAction } from './undo.ts'

/**
 * One action of a set; `index` is its place below that of the call. On rollback, folders that became empty are restored
 * with their files.
 */
interface IndexedAction {
  readonly action: UndoableAction | { readonly op: 'rmdir'; readonly path: string }
  readonly index: number
}

interface Naming<A, Problem> {
  /** The name of an action in records. */
  readonly nameOf: (action: A) => string
  /** The problem to report for a failed action. Rethrows errors that are not failures of the action. */
  readonly problem: (error: unknown, action: A) => Problem
}

type Performed<A, Problem> =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'failed'
      readonly failed: A
      readonly problem: Problem
      /** What could not be restored, and the same in words. */
      readonly left: readonly Begun[]
      readonly notRestored: readonly string[]
    }

/**
 * Performs actions in order, all or nothing: if one fails, the ones before it are undone. Once started, it ignores
 * signals: half a set is worthless. The state of the files before is an observation and every action a file effect,
 * including those of the rollback, all below the place of the call.
 */
export async function performActions<A extends IndexedAction, Problem>(
  actions: readonly A[],
  { nameOf, problem }: Naming<A, Problem>,
  call: FileCall,
): Promise<Performed<A, Problem>> {
  const done: Begun[] = []
  const turns = createTurns()
  for (const one of actions) {
    await turns.pass()
    const { action } = one
    const at = [...call.at, item(one.index)]
    let before: Before | undefined
    try {
      if (action.op === 'rmdir') {
        performStep(action, { context: call.context, at })
        continue
      }
      const asked = { name: 'file_before', args: [action.op, nameOf(one)] }
      before = call.context.services.effects.observe([...at, part('before')], asked, () => beforeAction(action))
      performStep(action, { context: call.context, at })
      done.push({ action, before, isDone: true })
    } catch (error) {
      const failure = problem(error, one)
      const isBegun = before !== undefined && action.op !== 'rmdir'
      const begun = isBegun ? [...done, { action, before: before as Before, isDone: false }] : done
      return { kind: 'failed', failed: one, problem: failure, ...rollBack(begun, call) }
    }
  }
  return { kind: 'done' }
}

/** Undoes actions from the last to the first; the place of each is its number from the start. */
function rollBack(
  all: readonly Begun[],
  { context, at }: FileCall,
): { readonly left: readonly Begun[]; readonly notRestored: readonly string[] } {
  context.services.effects.undo(at)
  const undone = all
    .map((begun, index) => ({ begun, place: [...at, part('undo'), item(index)] }))
    .toReversed()
    .map(({ begun, place }) => ({ begun, problems: undoAction(begun, { context, at: place }) }))
  return {
    left: undone.flatMap(({ begun, problems }) => (problems.length > 0 ? [begun] : [])),
    // several changes of one file report the same problem
    notRestored: [...new Set(undone.flatMap(({ problems }) => problems))],
  }
}
