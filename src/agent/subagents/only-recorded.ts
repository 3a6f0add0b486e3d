import { type RunContext, withServices } from '../../event/context.ts'
import type { Effects } from '../../event/effects.ts'
import type { Permission } from '../../event/permission.ts'
import { Stopped } from './request-count.ts'

/**
 * For work that has ended in an older process: its record answers, and at whatever the record does not answer the work stops. So nothing is
 * asked, paid or changed, and no person is asked.
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
  throw new Stopped('its record goes no further')
}

/** Recorded answers of a person hold without it. */
function askingNobody(permission: Permission): Permission {
  return {
    ...permission,
    check(action, content) {
      const verdict = permission.check(action, content)
      return verdict.kind === 'ask' ? { kind: 'deny', code: 'UNTRUSTED', reason: 'nobody is asked any more' } : verdict
    },
  }
}
