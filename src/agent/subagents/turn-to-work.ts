import { type RunContext, withServices } from '../../event/context.ts'
import type { Effects, LeaseTerms } from '../../event/effects.ts'
import type { Permission } from '../../event/permission.ts'
import { part } from '../../event/place.ts'

/** What an agent needs before it does anything that is not recorded. */
export interface TurnToWork {
  /** Rejects if the agent is stopped meanwhile. */
  readonly live: () => Promise<void>
  /** Its part of the budget from then on. */
  readonly lease: () => LeaseTerms
}

/**
 * Runs work that waits before its first effect that no record answers. Recorded effects are replayed without waiting,
 * so by then the recorded deliveries of messages are known.
 */
export async function inTurn<T>(
  { live, lease }: TurnToWork,
  context: RunContext,
  work: (inner: RunContext) => Promise<T>,
): Promise<T> {
  let begun: Promise<void> | undefined
  let endLease = (): void => {}

  async function begin(): Promise<void> {
    await live()
    endLease = context.services.leaseCost(context.scope.at, lease())
  }

  const { effects: around, permission } = context.services
  const effects = waiting(around, permission, () => (begun ??= begin()))
  try {
    return await work(withServices(context, { effects }))
  } finally {
    endLease()
  }
}

function waiting(effects: Effects, permission: Permission, begin: () => Promise<void>): Effects {
  return {
    ...effects,
    async permit(at, action, since) {
      const isAsked = permission.check(action).kind === 'ask'
      if (isAsked && !effects.answers([...at, part('approval')])) await begin()
      return effects.permit(at, action, since)
    },
    async observeAsync(at, call, read) {
      if (!effects.answers(at)) await begin()
      return effects.observeAsync(at, call, read)
    },
    async perform(at, effect, act, permit) {
      if (!effects.wasDone(at)) await begin()
      return effects.perform(at, effect, act, permit)
    },
    under: (held) => waiting(effects.under(held), held, begin),
  }
}
