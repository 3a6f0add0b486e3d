import type { Effects, PlannedChange } from '../event/effects.ts'

/** The same effects, with each file change that is going to happen put into something else. */
export function aroundChanges(effects: Effects, wrap: (planned: PlannedChange) => PlannedChange): Effects {
  return {
    ...effects,
    changeFile: (at, asked, plan) =>
      effects.changeFile(at, asked, () => {
        const planned = plan()
        return planned && wrap(planned)
      }),
  }
}
