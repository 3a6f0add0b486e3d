import type { Approver, Surroundings } from '../event/context.ts'
import type { Effects } from '../event/effects.ts'
import type { Action, Permit } from '../event/permission.ts'
import type { Place } from '../event/place.ts'

/**
 * Gets permission for an action, from a human if the rules say so. If the work is stopped while it waits, for example
 * because another item failed, the question is withdrawn: it stays pending and can be answered later.
 * @throws BatonError UNTRUSTED, NEEDS_INPUT if it is not allowed, WAITING_FOR_APPROVAL; the reason of the signal
 */
export async function permitWhileWorking(
  { services: { signal, questions, asking } }: { readonly services: Approver & Pick<Surroundings, 'signal'> },
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
