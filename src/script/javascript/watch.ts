import { limitError, type LimitName, type ProgramError, type ProgramLimits } from './program.ts'
import type { QuickJSContext } from './quickjs.ts'

/** Ends a program in a way that it cannot catch. */
export interface Watch {
  /** @throws Error, which the program may catch, but it is ended at the next check of the clock */
  readonly end: (why: LimitName | 'stop') => never
  /** @throws Error when the program was ended: none of its calls is made anymore */
  readonly refuseEnded: () => void
  /** Why the program was ended, whatever it did afterward. */
  readonly error: () => ProgramError | undefined
}

/** The program's time starts now; time spent waiting is subtracted. */
export function createWatch(context: QuickJSContext, limits: ProgramLimits, waitedMs: () => number): Watch {
  const startedAt = performance.now() - waitedMs()
  let met: LimitName | 'stop' | undefined
  context.runtime.setInterruptHandler(() => {
    if (performance.now() - startedAt - waitedMs() > limits.timeMs) met ??= 'time'
    return met !== undefined
  })

  function end(why: LimitName | 'stop'): never {
    met ??= why
    throw new Error('the program was ended')
  }
  return {
    end,
    refuseEnded() {
      if (met !== undefined) end(met)
    },
    error() {
      if (met === undefined) return undefined
      return met === 'stop' ? { kind: 'error', message: 'the program was stopped' } : limitError(met, limits)
    },
  }
}
