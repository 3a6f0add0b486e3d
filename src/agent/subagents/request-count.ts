import type { Effects } from '../../event/effects.ts'

export class Stopped extends Error {}

/** How far an agent has come: by the number of its requests a replay knows where it was stopped. */
export interface RequestCount {
  /** Requests that were begun: they are in the record. */
  readonly begun: () => number
  /** The agent goes on to its next turn. A request and those that repeat it, to another model or once more, count once from then on. */
  readonly turn: () => void
  /** Counts the requests that are made by these effects. */
  readonly counted: (effects: Effects) => Effects
}

/** @param stopsAfter so many requests it was stopped in a run that is replayed: it makes none more, and throws `Stopped` instead */
export function countRequests(stopsAfter: number | undefined): RequestCount {
  let begun = 0
  /** The request that is made next is one more. */
  let isNext = true
  let hasTurns = false

  function stopHere(): void {
    if (begun === stopsAfter) throw new Stopped('stopped')
  }

  function begin(): void {
    if (!isNext) return
    begun += 1
    isNext = !hasTurns
  }

  function counted(effects: Effects): Effects {
    return {
      ...effects,
      async perform(at, effect, act, permit) {
        if (effect.kind !== 'model' && effect.kind !== 'command') return effects.perform(at, effect, act, permit)
        if (isNext) stopHere()
        let isBegun = false
        const once = (): void => {
          if (!isBegun) begin()
          isBegun = true
        }
        const value = await effects.perform(
          at,
          effect,
          (...given) => {
            once()
            return act(...given)
          },
          permit,
        )
        // a record has answered
        once()
        return value
      },
      under: (permission) => counted(effects.under(permission)),
    }
  }

  return {
    begun: () => begun,
    turn() {
      stopHere()
      hasTurns = true
      isNext = true
    },
    counted,
  }
}
