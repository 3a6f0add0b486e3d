import { MessageChannel, type MessagePort, type ResourceLimits, Worker } from 'node:worker_threads'
import { longestTimer } from '../../base/clock.ts'
import { clockCells, clockOf, createClockMemory } from './clock.ts'

/** Who uses a thread. */
interface ThreadUser<Received> {
  onMessage(message: Received): void
  /** The thread is gone. */
  onEnd(error: Error): void
}

/** One worker thread that can sleep until it is answered (ask.ts). */
export interface Thread<Sent, Received, Answer> {
  assign(user: ThreadUser<Received>): void
  /** Makes the thread idle: the process can exit while it waits. `onEnd` is called when it is gone nevertheless. */
  release(onEnd: () => void): void
  post(message: Sent): void
  /** Wakes the thread with the answer to its call. Throws when the answer cannot be copied. */
  answer(answer: Answer): void
  /** Milliseconds the thread has worked. Includes the time of a wait for an answer until that is over. */
  workedMs(): number
  isWaiting(): boolean
  /** Stops it at once, whatever it does; settles when it is gone. */
  terminate(error: Error): Promise<void>
}

export interface ThreadOptions {
  readonly file: URL
  /** What it does, for messages. */
  readonly name: string
  /** What it is started with, besides the clock and the port of its answers. */
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
    // scripts see nothing of the environment
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
  /** Work of the thread counts from now on. */
  start(): void
  stop(): void
}

/** What runs in a thread checks its limit itself; this is for native calls, where it cannot. */
const graceMs = 200
const shortestMs = 20

/** Calls `onLate` when a thread has worked for longer than its time limit, for example in an endless native call. */
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
    // what it has worked is known only when it waits no more
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
