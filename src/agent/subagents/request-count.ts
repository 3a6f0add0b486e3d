import type { Effects } from '../../event/effects.ts'

export class Stopped extends Error {}

/** Counts the requests of an agent: a replay uses the number to stop it where it was stopped. */
export interface RequestCount {
  /** Requests that were started; they are in the record. */
  readonly begun: () => number
  /** The agent starts its next turn. From then on a request and its retries, also with fallback models, count once. */
  readonly turn: () => void
  /** Counts the requests that are made through these effects. */
  readonly counted: (effects: Effects) => Effects
}

/**
 * @param stopsAfter the number of requests after which it was stopped in the run that is replayed: instead of a further
 * request it throws `Stopped`
 */
export function countRequests(stopsAfter: number | undefined): RequestCount {
  let begun = 0
  /** The next request counts. */
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
        // the record answered it
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
