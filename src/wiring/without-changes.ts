import type { RunServices } from '../event/context.ts'
import type { Effects } from '../event/effects.ts'

/**
 * The effects of a run that previews its file changes and makes none: each change is examined, reported in a warning,
 * and recorded as a read. The caller finds the files unchanged.
 */
export function withoutChanges(effects: Effects, events: RunServices['events']): Effects {
  return {
    ...effects,
    changeFile(at, asked, plan, permit) {
      const look: typeof plan = (allow) => {
        if (plan(allow) !== undefined) {
          events(at, {
            type: 'warning',
            message: `not done in a dry run, and not previewed: ${asked.op} ${asked.path}`,
          })
        }
        return undefined
      }
      effects.changeFile(at, asked, look, permit)
      return false
    },
    under: (permission) => withoutChanges(effects.under(permission), events),
  }
}
