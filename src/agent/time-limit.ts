import { durationText } from '../base/clock.ts'
import { manyListeners } from '../base/concurrency.ts'
import { BatonError, stopsRun } from '../base/error.ts'
import { startPausableLimit } from '../base/pausable-limit.ts'
import { type RunContext, withServices } from '../event/context.ts'

/** A time limit of an agent and its source. */
export interface TimeLimit {
  readonly ms: number
  /** For messages: `agent "review"`. */
  readonly whose: string
  /** The limit is `timeouts.agent`. */
  readonly isUsual: boolean
}

/** The limit of an agent: its own, else that of all agents; undefined if there is none. */
export function timeLimitOf(
  { own, whose }: { readonly own: number | undefined; readonly whose: string },
  { scope }: Pick<RunContext, 'scope'>,
): TimeLimit | undefined {
  const ms = own ?? scope.agentMs
  return ms === undefined ? undefined : { ms, whose, isUsual: own === undefined }
}

/**
 * Runs the work of an agent, and stops it with everything it runs when it exceeds the limit. Time spent waiting
 * for the user does not count.
 * @throws BatonError LIMIT if it was stopped
 */
export async function withTimeLimit<T>(
  limit: TimeLimit | undefined,
  context: RunContext,
  work: (context: RunContext) => Promise<T>,
): Promise<T> {
  if (limit === undefined) return work(context)
  const { signal, asking: outer } = context.services
  const own = new AbortController()
  const time = startPausableLimit(limit.ms, () => own.abort(passed(limit)))
  const asking = <R>(ask: () => Promise<R>): Promise<R> =>
    time.without(() => (outer === undefined ? ask() : outer(ask)))
  try {
    return await work(withServices(context, { signal: manyListeners(AbortSignal.any([signal, own.signal])), asking }))
  } catch (error) {
    if (!own.signal.aborted || signal.aborted || stopsRun(error)) throw error
    // even if another error was noticed first
    throw own.signal.reason
  } finally {
    time.end()
  }
}

function passed({ ms, whose, isUsual }: TimeLimit): BatonError {
  const what = isUsual ? 'agent in [timeouts]' : 'its timeout'
  return new BatonError('LIMIT', `${whose} took longer than ${what}, ${durationText(ms)}`, {
    reason: 'AGENT_TIMEOUT',
    hint: `Raise ${isUsual ? 'it' : 'timeout'} if it needs more time. A resumed run gives it the full time again.`,
  })
}
