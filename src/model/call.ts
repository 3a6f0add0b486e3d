import { manyListeners } from '../base/limit.ts'
import type { ModelFault } from './errors.ts'

/** Time limits of one model call in milliseconds (DESIGN 8). */
export interface ModelTimeouts {
  /**
   * From sending the request to the first line of the response. It includes connecting, which Node's `fetch` itself
   * ends after 10 s; `fetch` also has limits of its own of 5 min, so a larger value here has no effect.
   */
  readonly headersMs: number
  /** Longest silence inside the answer. Above 5 min Node's own limit comes first. */
  readonly streamIdleMs: number
  /** The whole call; no limit when left out. */
  readonly requestMs?: number
}

export const defaultTimeouts: ModelTimeouts = { headersMs: 30_000, streamIdleMs: 300_000 }

/** A time limit, and the fault that passing it is. */
export interface TimeLimit {
  readonly ms: number
  readonly fault: (ms: number) => ModelFault
}

/** One HTTP exchange that can be stopped from three sides: the caller's signal, a time limit, and a fault we find. */
export interface Call {
  /** What `fetch` is given: aborted by `close`, by a time limit and by the caller. */
  readonly signal: AbortSignal
  /** The first fault that was found, when there is one. */
  fault(): ModelFault | undefined
  /** Notes a fault and throws. */
  fail(fault: ModelFault): never
  /** Waits for `work`; rejects at once when the call is stopped or the limit passes. One at a time. */
  within<T>(limit: TimeLimit, work: () => Promise<T>): Promise<T>
  /** Ends the exchange: closes the connection when it is still in use. */
  close(): void
}

/** Opens a call below the caller's signal. Whoever opens it closes it. */
export function openCall(signal: AbortSignal, { requestMs }: Pick<ModelTimeouts, 'requestMs'>): Call {
  const controller = new AbortController()
  let found: ModelFault | undefined
  let interrupt: (() => void) | undefined
  const alarm = createAlarm()

  function stop(fault: ModelFault | undefined): void {
    found ??= fault
    controller.abort()
    interrupt?.()
  }

  const onAbort = (): void => stop(undefined)
  // one signal serves all calls of a run; Node would warn about the eleventh listener
  manyListeners(signal)
  signal.addEventListener('abort', onAbort, { once: true })
  const timer = requestMs === undefined ? undefined : setTimeout(() => stop(requestTimeout(requestMs)), requestMs)

  return {
    signal: controller.signal,
    fault: () => found,
    fail(fault) {
      found ??= fault
      throw new Error(fault.what)
    },
    within({ ms, fault }, work) {
      // `fetch` is told to stop as well, but that it listens is not relied on: a call must never hang
      return new Promise((resolve, reject) => {
        interrupt = () => {
          alarm.rest()
          reject(new Error('stopped'))
        }
        if (controller.signal.aborted) return interrupt()
        alarm.set(ms, () => stop(fault(ms)))
        work().then(
          (value) => {
            alarm.rest()
            resolve(value)
          },
          (error: unknown) => {
            alarm.rest()
            reject(error as Error)
          },
        )
      })
    },
    close() {
      clearTimeout(timer)
      alarm.clear()
      signal.removeEventListener('abort', onAbort)
      controller.abort()
    },
  }
}

interface Alarm {
  /** Calls `ring` after `ms` milliseconds, unless it is set anew, at rest or cleared before. */
  set(ms: number, ring: () => void): void
  /** Until it is set anew it does not ring, and does not keep the process running. */
  rest(): void
  clear(): void
}

/** One timer for all the waits of a call: moving it costs far less than a new one for every read. */
function createAlarm(): Alarm {
  let timer: { readonly handle: NodeJS.Timeout; readonly ms: number } | undefined
  let onRing: (() => void) | undefined

  return {
    set(ms, ring) {
      onRing = ring
      if (timer?.ms === ms) {
        // starts again also when it has passed at rest
        timer.handle.refresh().ref()
        return
      }
      clearTimeout(timer?.handle)
      timer = { handle: setTimeout(() => onRing?.(), ms), ms }
    },
    rest() {
      onRing = undefined
      timer?.handle.unref()
    },
    clear() {
      onRing = undefined
      clearTimeout(timer?.handle)
      timer = undefined
    },
  }
}

export function headersTimeout(ms: number): ModelFault {
  return timeout(`did not begin to answer within ${seconds(ms)}`)
}

export function idleTimeout(ms: number): ModelFault {
  return timeout(`sent nothing for ${seconds(ms)} in the middle of the answer`)
}

function requestTimeout(ms: number): ModelFault {
  return timeout(`did not finish the answer within ${seconds(ms)}`)
}

function timeout(what: string): ModelFault {
  return { class: 'timeout', retryable: true, what }
}

function seconds(ms: number): string {
  return `${Number((ms / 1000).toFixed(3))} s`
}
