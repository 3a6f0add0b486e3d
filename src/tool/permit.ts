import type { RunContext } from '../event/context.ts'
import type { Effects } from '../event/effects.ts'
import type { Action, Permit } from '../event/permission.ts'
import type { Place } from '../event/place.ts'

/**
 * What allows an action, from a person where rules say so. A question is withdrawn when the work that asks is stopped, for
 * example because another item beside it failed: it stays open, and may be answered another time.
 * @throws BatonError UNTRUSTED, NEEDS_INPUT where it is not allowed, WAITING_FOR_APPROVAL; the reason of the signal
 */
export async function permitWhileWorking(
  { services: { signal, questions, asking } }: Pick<RunContext, 'services'>,
  { effects, at, action }: { readonly effects: Effects; readonly at: Place; readonly action: Action },
): Promise<Permit> {
  const permit = (): Promise<Permit> => effects.permit(at, action)
  if (questions === undefined) return permit()
  signal.throwIfAborted()
  let end = (): void => {}
  const withdraw = (): void => void (end = questions.withdraw(at))
  signal.addEventListener('abort', withdraw, { once: true })
  try {
    return await (asking === undefined ? permit() : asking(permit))
  } finally {
    signal.removeEventListener('abort', withdraw)
    end()
  }
}
