import { type RunContext, withServices } from '../../event/context.ts'
import type { Effects } from '../../event/effects.ts'
import type { Permission } from '../../event/permission.ts'
import { Stopped } from './request-count.ts'

/**
 * For work that ended in an earlier process: recorded effects are answered, and the first one that is not recorded
 * stops the work. So nothing is requested, paid for or changed, and the user is not asked.
 */
export function onlyRecorded(context: RunContext): RunContext {
  const { effects, permission } = context.services
  return withServices(context, { effects: recorded(effects.under(askingNobody(permission))) })
}

function recorded(effects: Effects): Effects {
  return {
    ...effects,
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
    under: (permission) => recorded(effects.under(askingNobody(permission))),
  }
}

function stop(): never {
  throw new Stopped('the record ends here')
}

/** Answers of the user that are recorded still apply. */
function askingNobody(permission: Permission): Permission {
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
