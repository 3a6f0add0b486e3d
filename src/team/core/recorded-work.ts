import { type RunContext, withServices } from '../../event/context.ts'
import { decorate, type Effects, type LeaseTerms } from '../../event/effects.ts'
import type { Permission } from '../../event/permission.ts'
import { Stopped } from './order.ts'
import { part } from '../../event/place.ts'

/**
 * For work that ended in an earlier process: recorded effects are answered, and the first one that is not recorded
 * stops the work. So nothing is requested, paid for or changed, and the user is not asked.
 */
export function onlyRecorded(context: RunContext): RunContext {
  const { effects, permission } = context.services
  return withServices(context, { effects: decorate(effects, recorded, withoutQuestions).under(permission) })
}

function recorded(effects: Effects): Partial<Effects> {
  return {
    observe(at, call, _read) {
      if (!effects.answers(at)) stop()
      return effects.observe(at, call, stop)
    },
    async observeAsync(at, call, _read) {
      if (!effects.answers(at)) stop()
      return effects.observeAsync(at, call, async () => stop())
    },
    changeFile(at, asked, _plan, permit) {
      if (!effects.answers(at)) stop()
      return effects.changeFile(at, asked, stop, permit)
    },
    async perform(at, effect, _act, permit) {
      if (!effects.answers(at)) stop()
      return effects.perform(at, effect, async () => stop(), permit)
    },
    undo: () => {},
    again: () => false,
  }
}

function stop(): never {
  throw new Stopped('the record ends here')
}

/** Answers of the user that are recorded still apply. */
function withoutQuestions(permission: Permission): Permission {
  return {
    ...permission,
    check(action, content) {
      const verdict = permission.check(action, content)
      return verdict.kind === 'ask'
        ? { kind: 'deny', code: 'UNTRUSTED', reason: 'a replay does not ask the user' }
        : verdict
    },
  }
}

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

  const effects = decorate(
    context.services.effects,
    waiting(context.services.permission, () => (begun ??= begin())),
  )
  try {
    return await work(withServices(context, { effects }))
  } finally {
    endLease()
  }
}

function waiting(outer: Permission, begin: () => Promise<void>) {
  return (effects: Effects, permission = outer): Partial<Effects> => ({
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
  })
}
