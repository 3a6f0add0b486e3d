import { type RunContext, withServices } from '../../event/context.ts'
import type { Effects, LeaseTerms } from '../../event/effects.ts'
import type { Permission } from '../../event/permission.ts'
import { part } from '../../event/place.ts'

/** What an agent waits for before it does anything that is not recorded. */
export interface TurnToWork {
  /** Rejects when the agent is stopped meanwhile. */
  readonly live: () => Promise<void>
  /** What it is lent from then on. */
  readonly lease: () => LeaseTerms
}

/**
 * Does work whose first effect that no record answers waits until it may be done. What is recorded is passed without: messages that
 * were told are known by then.
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
