import { catchUpMs, longestTimer } from '../base/clock.ts'
import { manyListeners } from '../base/concurrency.ts'
import type { ModelFault } from './errors.ts'

/** Time limits of one model call in milliseconds. */
export interface ModelTimeouts {
  /** Until the connection is established, including TLS. */
  readonly connectMs: number
  /** From there to the first line of the response. */
  readonly headersMs: number
  /** Longest time without answer content. */
  readonly streamIdleMs: number
  /** The key that sets it, for hints; default: `stream_idle in [timeouts]`. */
  readonly streamIdleKey?: string
  /** The whole call; no limit if omitted. Only this limit stops a server that keeps sending small amounts. */
  readonly requestMs?: number
}

export const defaultTimeouts: ModelTimeouts = {
  connectMs: 10_000,
  headersMs: 30_000,
  streamIdleMs: 300_000,
  requestMs: 3_600_000,
}

/** A body that arrives in chunks. */
export interface BodyReader {
  /** What has arrived since the last read, at least one byte; undefined at the end. One read at a time. */
  read(): Promise<Uint8Array | undefined>
  /** Ends the body and a pending read. */
  cancel(): void
}

/** One HTTP exchange. It can be stopped by the caller's signal, a time limit, or a fault found here. */
export interface Call {
  /** Calls `end` once, when the call is stopped by the caller or a limit, or closed; immediately if it already was. */
  onEnd(end: () => void): void
  /** The first fault found, if any. */
  fault(): ModelFault | undefined
  /** Records a fault and throws. */
  fail(fault: ModelFault): never
  /** Waits for `work`; rejects immediately if the call is stopped or the limit expires. One at a time. */
  within<T>(limit: TimeLimit, work: () => Promise<T>): Promise<T>
  /** The same for the next bytes of a body. Cheaper, because it can cancel the read. */
  read(body: BodyReader, limit: TimeLimit): Promise<Uint8Array | undefined>
  /** Replaces the limit of the current wait; the new one starts now. Does nothing if there is no wait. */
  limit(limit: TimeLimit): void
  /** Tells whether the name of the host is being looked up: a limit that expires then is that of the lookup. */
  resolves(isResolving: boolean): void
  /** Ends the exchange and closes the connection if it is still in use. */
  close(): void
}

/** Opens a call under the caller's signal. The caller must close it. */
export function openCall(signal: AbortSignal, { requestMs }: Pick<ModelTimeouts, 'requestMs'>): Call {
  const alarm = createAlarm(({ ms, fault }) => stop(isResolving ? lookupTimeout(ms) : fault(ms)))
  const whole = requestMs === undefined ? undefined : createAlarm(({ ms, fault }) => stop(fault(ms)))
  let found: ModelFault | undefined
  let interrupt: (() => void) | undefined
  let isOver = false
  let isResolving = false
  const ends: (() => void)[] = []

  function endAll(): void {
    isOver = true
    for (const end of ends.splice(0)) end()
  }

  function stop(fault: ModelFault | undefined): void {
    found ??= fault
    alarm.rest()
    whole?.rest()
    endAll()
    interrupt?.()
  }

  function begin(limit: TimeLimit, onStop: () => void): void {
    if (isOver) throw stopped()
    interrupt = onStop
    alarm.set(limit)
  }

  function onRead(bytes: Uint8Array | undefined): Uint8Array | undefined {
    alarm.rest()
    if (isOver) throw stopped()
    return bytes
  }

  function onReadFailed(error: unknown): never {
    alarm.rest()
    throw error
  }

  const onAbort = (): void => stop(undefined)
  // all calls of a run share one signal, and Node would warn about the eleventh listener
  manyListeners(signal)
  signal.addEventListener('abort', onAbort, { once: true })
  if (requestMs !== undefined) whole?.set({ ms: requestMs, fault: requestTimeout })

  return {
    onEnd(end) {
      if (isOver) end()
      else ends.push(end)
    },
    fault: () => found,
    fail(fault) {
      found ??= fault
      throw new Error(fault.what)
    },
    within(limit, work) {
      // the work is told to stop as well, but it may not respond, and a call must never hang
      return new Promise((resolve, reject) => {
        begin(limit, () => reject(stopped()))
        // the alarm is paused first, because the continuation may start the next wait
        const settle = <V>(go: (value: V) => void) => {
          return (value: V): void => {
            alarm.rest()
            go(value)
          }
        }
        work().then(settle(resolve), settle(reject))
      })
    },
    read(body, limit) {
      if (isOver) return Promise.reject(stopped())
      // canceling ends a pending read, whatever the sender does
      begin(limit, () => body.cancel())
      return body.read().then(onRead, onReadFailed)
    },
    limit(limit) {
      if (alarm.isSet()) alarm.set(limit)
    },
    resolves: (is) => void (isResolving = is),
    close() {
      whole?.clear()
      alarm.clear()
      signal.removeEventListener('abort', onAbort)
      endAll()
    },
  }
}

function stopped(): Error {
  return new Error('stopped')
}

/** A time limit, and the fault if it is exceeded. */
export interface TimeLimit {
  readonly ms: number
  readonly fault: (ms: number) => ModelFault
}

export const connectTimeout: TimeLimit['fault'] = (ms) => ({ ...slowToConnect(ms), isUnreached: true })
const lookupTimeout: TimeLimit['fault'] = (ms) => ({ ...slowToResolve(ms), isUnreached: true })
const slowToResolve = timeout('connect', (time) => `could not be resolved within ${time}: DNS gave no answer`)
const slowToConnect = timeout('connect', (time) => `did not accept a connection within ${time}`)
export const headersTimeout = timeout('headers', (time) => `did not start to answer within ${time}`)
export const idleTimeout = timeout('stream_idle', (time) => `sent nothing for ${time} during the answer`)
export const keepAliveTimeout = timeout(
  'stream_idle',
  (time) => `sent only keep-alive messages and empty or incomplete events for ${time}`,
)
const requestTimeout = timeout('request', (time) => `did not finish the answer within ${time}`)

/** `setBy`: the key that sets the limit, if it is another one. */
function timeout(key: string, what: (time: string) => string): (ms: number, setBy?: string) => ModelFault {
  return (ms, setBy = `${key} in [timeouts]`) => {
    const hint = `Run it again; if the server needs longer, raise ${setBy}.`
    return { class: 'timeout', retryable: true, what: what(`${Number((ms / 1000).toFixed(3))} s`), hint }
  }
}

interface Alarm {
  /** Rings after this time, starting now, unless it is set again, paused or cleared before. */
  set(limit: TimeLimit): void
  isSet(): boolean
  /** Pauses it until it is set again. */
  rest(): void
  /** Stops it. Until then it keeps the process running. */
  clear(): void
}

/**
 * One timer for all waits of a call. It is not reset for each wait, which would cost more than everything else in a
 * read: when it fires, it checks how long the current wait has lasted, and is started again if there is time left.
 * Before it rings, data that has arrived is read, because a process that continues after being suspended runs its
 * timers first.
 */
function createAlarm(ring: (limit: TimeLimit) => void): Alarm {
  let timer: { readonly handle: NodeJS.Timeout; readonly at: number } | undefined
  let current: TimeLimit | undefined
  let until = 0

  function start(now: number): void {
    clearTimeout(timer?.handle)
    timer = { handle: setTimeout(onTime, Math.min(until - now, longestTimer)), at: until }
  }

  function judge(limit: TimeLimit, end: number): void {
    timer = undefined
    if (current === limit && until === end) ring(limit)
    else if (current !== undefined) start(performance.now())
  }

  function onTime(): void {
    timer = undefined
    if (current === undefined) return
    const now = performance.now()
    // timers of Node fire up to a millisecond early
    if (until - now >= 1) return start(now)
    const [limit, end] = [current, until]
    timer = { handle: setTimeout(() => judge(limit, end), catchUpMs(now - end)), at: end }
  }

  return {
    set(limit) {
      const now = performance.now()
      current = limit
      until = now + limit.ms
      if (timer === undefined || timer.at > until) start(now)
    },
    isSet: () => current !== undefined,
    rest() {
      current = undefined
    },
    clear() {
      current = undefined
      clearTimeout(timer?.handle)
      timer = undefined
    },
  }
}
