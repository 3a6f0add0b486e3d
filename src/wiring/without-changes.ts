import type { RunServices } from '../event/context.ts'
import type { Effects } from '../event/effects.ts'

/**
 * The effects of a run that shows its file changes and makes none: each is looked at, named in a warning, and recorded as
 * something that was read. Whoever asked for it finds the files as they were.
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
