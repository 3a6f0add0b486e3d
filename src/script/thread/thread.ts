import { MessageChannel, type MessagePort, type ResourceLimits, Worker } from 'node:worker_threads'
import { longestTimer } from '../../base/clock.ts'
import { clockCells, clockOf, createClockMemory } from './clock.ts'

interface ThreadUser<Received> {
  onMessage(message: Received): void
  onEnd(error: Error): void
}

/** One worker thread that can sleep until it gets an answer (ask.ts). */
export interface Thread<Sent, Received, Answer> {
  assign(user: ThreadUser<Received>): void
  /** Makes the thread idle: it does not keep the process alive. `onEnd` is called if it ends anyway. */
  release(onEnd: () => void): void
  post(message: Sent): void
  /** Wakes the thread with the answer to its call. Throws when the answer cannot be copied. */
  answer(answer: Answer): void
  /** Milliseconds the thread has worked. While it waits for an answer, the current wait is included. */
  workedMs(): number
  isWaiting(): boolean
  /** Stops it immediately, whatever it is doing; settles when it has ended. */
  terminate(error: Error): Promise<void>
}

export interface ThreadOptions {
  readonly file: URL
  /** Its purpose, for messages. */
  readonly name: string
  /** Its `workerData`, in addition to the clock and the port for answers. */
  readonly setup: object
  readonly limits: ResourceLimits
}

/** What a worker finds in `workerData` besides its setup. */
export interface ThreadSetup {
  readonly clock: SharedArrayBuffer
  readonly answers: MessagePort
}

export function startThread<Sent, Received, Answer>({
  file,
  name,
  setup,
  limits,
}: ThreadOptions): Thread<Sent, Received, Answer> {
  const clock = createClockMemory()
  const { cells, waitedMs } = clockOf(clock)
  const { port1, port2 } = new MessageChannel()
  const given: ThreadSetup = { clock, answers: port2 }
  const worker = new Worker(file, {
    workerData: { ...setup, ...given },
    transferList: [port2],
    resourceLimits: limits,
    // scripts must not see the environment
    env: {},
  })
  let user: ThreadUser<Received> | undefined
  const end = (error: Error): void => {
    port1.close()
    const last = user
    user = undefined
    last?.onEnd(error)
  }
  worker.on('message', (message: Received) => user?.onMessage(message))
  worker.on('error', end)
  worker.on('exit', (code) => end(new Error(`the thread of ${name} ended with code ${code}`)))
  return {
    assign(next) {
      user = next
      worker.ref()
    },
    release(onEnd) {
      user = { onMessage: () => undefined, onEnd }
      worker.unref()
    },
    post: (message) => worker.postMessage(message),
    answer(answer) {
      port1.postMessage(answer)
      Atomics.add(cells, clockCells.answers, 1)
      Atomics.notify(cells, clockCells.answers)
    },
    workedMs: () => worker.performance.eventLoopUtilization().active - (waitedMs[0] ?? 0),
    isWaiting: () => Atomics.load(cells, clockCells.isWaiting) !== 0,
    async terminate(error) {
      end(error)
      await worker.terminate()
    },
  }
}

interface Watchdog {
  /** The thread's work counts from now on. */
  start(): void
  stop(): void
}

/** Code in a thread checks its limit itself; this is for native calls, where it cannot. */
const graceMs = 200
const shortestMs = 20

/** Calls `onLate` if a thread has worked for longer than its time limit, for example in an endless native call. */
export function createWatchdog(
  thread: Pick<Thread<never, never, never>, 'workedMs' | 'isWaiting'>,
  timeMs: number,
  onLate: () => void,
): Watchdog {
  let timer: NodeJS.Timeout | undefined
  let workedBefore = 0

  const check = (): void => {
    const left = timeMs + graceMs - (thread.workedMs() - workedBefore)
    if (left <= 0 && !thread.isWaiting()) return onLate()
    // how much it has worked is known only when it no longer waits
    const shortest = thread.isWaiting() ? graceMs : shortestMs
    timer = setTimeout(check, Math.min(Math.max(left, shortest), longestTimer))
  }
  return {
    start() {
      workedBefore = thread.workedMs()
      check()
    },
    stop() {
      clearTimeout(timer)
    },
  }
}
