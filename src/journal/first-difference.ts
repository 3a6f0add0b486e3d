import { BatonError, isBatonError } from '../base/error.ts'

/** Stops a replayed run at its first difference, so that the error that is shown is that one, with its line of a script. */
export interface FirstDifference {
  /** Throws once there was a difference. */
  readonly check: () => void
  /** Throws the difference, or that there was one before. */
  readonly stop: (place: string, error: BatonError) => never
  /** Does the work of a boundary. What was caught within it is thrown at its end. */
  readonly around: <T>(place: string, work: () => Promise<T>) => Promise<T>
  /** The difference as it is to be shown; `thrown` is what the run failed with, which may say more about it. */
  readonly error: (thrown?: unknown) => BatonError | undefined
}

interface Found {
  readonly error: BatonError
  /** The innermost boundary it was found in. */
  readonly boundary: string | undefined
  /** Settles when that is left. */
  readonly left: Promise<void>
}

export function createFirstDifference(): FirstDifference {
  const active = new Map<string, Promise<void>>()
  let found: Found | undefined
  /** The difference with the line it came up in, as the boundary around it threw it. */
  let shown: BatonError | undefined

  function later(): BatonError {
    return new BatonError('DIVERGED', 'stopped, because another part of the run differs from its record')
  }

  /** Another part that stops must not end the run before the line of the difference is known. */
  async function failed(place: string, error: unknown): Promise<void> {
    if (found === undefined) return
    const { boundary, left } = found
    if (boundary === place && comesFrom(error, found.error)) shown ??= error
    else if (boundary !== undefined && !isBelow(boundary, place)) await left
  }

  return {
    check() {
      if (found !== undefined) throw later()
    },
    stop(place, error) {
      if (found !== undefined) throw later()
      const [boundary] = [...active.keys()]
        .filter((one) => isBelow(one, place))
        .toSorted((left, right) => right.length - left.length)
      found = {
        error,
        boundary,
        left: (boundary === undefined ? undefined : active.get(boundary)) ?? Promise.resolve(),
      }
      throw error
    },
    async around(place, work) {
      let leave = (): void => {}
      active.set(place, new Promise((resolve) => (leave = resolve)))
      try {
        const value = await work()
        if (found !== undefined) throw found.boundary === place ? found.error : later()
        return value
      } catch (error) {
        await failed(place, error)
        throw error
      } finally {
        active.delete(place)
        leave()
      }
    },
    error: (thrown) => (found !== undefined && comesFrom(thrown, found.error) ? thrown : (shown ?? found?.error)),
  }
}

/** Whether a place is a boundary, or within it. */
function isBelow(boundary: string, place: string): boolean {
  return place.startsWith(boundary) && ['', '/', '#'].includes(place.charAt(boundary.length))
}

function comesFrom(thrown: unknown, error: BatonError): thrown is BatonError {
  for (let cause = thrown; isBatonError(cause); cause = cause.cause) if (cause === error) return true
  return false
}
