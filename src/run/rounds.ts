import { BatonError } from '../base/error.ts'
import { below, emit, type RunContext } from '../event/context.ts'

/** Rounds a run may take after its first one (DESIGN 2 "Nesting"). */
export const maxRedo = 20

export interface RoundOutcome<T> {
  readonly outcome: T
  /** Whether the run asks to be done again from the start. */
  readonly redo: boolean
}

/**
 * Runs rounds until one does not ask for another. Round n is below `redo/<n>`, the first one below nothing.
 * `cure` says how the author ends it.
 * @throws BatonError LIMIT after too many rounds
 */
export async function runRounds<T>(
  round: (redoCount: number, context: RunContext) => Promise<RoundOutcome<T>>,
  { context, cure }: { readonly context: RunContext; readonly cure: string },
): Promise<T> {
  for (let redoCount = 0; ; redoCount += 1) {
    const at = redoCount === 0 ? context : below(context, 'redo', String(redoCount))
    const { outcome, redo } = await round(redoCount, at)
    if (!redo) return outcome
    if (redoCount >= maxRedo) {
      throw new BatonError('LIMIT', `the run was asked to redo itself more than ${maxRedo} times`, { hint: cure })
    }
    emit(context, { type: 'redo', count: redoCount + 1 })
  }
}
