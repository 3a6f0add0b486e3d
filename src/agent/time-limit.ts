import { durationText } from '../base/clock.ts'
import { manyListeners } from '../base/concurrency.ts'
import { BatonError, stopsRun } from '../base/error.ts'
import { startPausableLimit } from '../base/pausable-limit.ts'
import { type RunContext, withServices } from '../event/context.ts'

/** How long an agent may take, and who says so. */
export interface TimeLimit {
  readonly ms: number
  /** As messages name it: `agent "review"`. */
  readonly whose: string
  /** The agent has it from `timeouts.agent`. */
  readonly isUsual: boolean
}

/** The limit of an agent: its own, else that of all agents; undefined: it has none. */
export function timeLimitOf(
  { own, whose }: { readonly own: number | undefined; readonly whose: string },
  { scope }: Pick<RunContext, 'scope'>,
): TimeLimit | undefined {
  const ms = own ?? scope.agentMs
  return ms === undefined ? undefined : { ms, whose, isUsual: own === undefined }
}

/**
 * Does the work of an agent, which is stopped when it has taken longer than it may, with all that it runs (R303). The time in which a
 * person is asked about something in it does not count.
 * @throws BatonError LIMIT when it was stopped so
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
    // whatever noticed it first
    throw own.signal.reason
  } finally {
    time.end()
  }
}

function passed({ ms, whose, isUsual }: TimeLimit): BatonError {
  const what = isUsual ? 'agent in [timeouts]' : 'its timeout'
  return new BatonError('LIMIT', `${whose} took longer than ${what}, ${durationText(ms)}`, {
    hint: `Raise ${isUsual ? 'it' : 'timeout'} if that is needed. A run that is resumed gives it the whole time again.`,
  })
}
