import { MessageChannel, Worker } from 'node:worker_threads'
import { type Answer, clockCells, clockOf, createClockMemory, type FromWorker, type ToWorker } from './protocol.ts'

export interface ThreadOptions {
  readonly engine: 'lua54' | 'fengari'
  readonly wasmFile: string | undefined
  readonly workerFile: URL
  readonly heapMb: number
}

/** Whoever uses a thread at the moment. */
interface ThreadUser {
  onMessage(message: FromWorker): void
  /** The thread is gone. */
  onEnd(error: Error): void
}

/** One worker thread with an engine in it. */
export interface Thread {
  readonly options: ThreadOptions
  /** Gives the thread to a user, or to nobody. The process does not wait for a thread that nobody uses. */
  assign(user: ThreadUser | undefined): void
  post(message: ToWorker): void
  /** Wakes the thread with the answer to its call. Throws when the answer cannot be copied. */
  answer(answer: Answer): void
  /** Milliseconds the thread has worked. While it waits for an answer they seem to go on, and are taken back after it. */
  workedMs(): number
  isWaiting(): boolean
  /** Stops it in the middle of whatever it does. */
  terminate(error: Error): void
}

export function startThread(options: ThreadOptions): Thread {
  const memory = createClockMemory()
  const { cells, waitedMs } = clockOf(memory)
  const { port1, port2 } = new MessageChannel()
  const worker = new Worker(options.workerFile, {
    workerData: { engine: options.engine, wasmFile: options.wasmFile, clock: memory, answers: port2 },
    transferList: [port2],
    resourceLimits: { maxOldGenerationSizeMb: options.heapMb },
    // nothing of the process is shown to what runs in there
    env: {},
  })
  let user: ThreadUser | undefined
  const end = (error: Error): void => {
    port1.close()
    const last = user
    user = undefined
    last?.onEnd(error)
  }
  worker.on('message', (message: FromWorker) => user?.onMessage(message))
  worker.on('error', end)
  worker.on('exit', (code) => end(new Error(`the thread of the Lua engine ended with code ${code}`)))
  return {
    options,
    assign(next) {
      user = next
      if (next === undefined) worker.unref()
      else worker.ref()
    },
    post: (message) => worker.postMessage(message),
    answer(answer) {
      port1.postMessage(answer)
      Atomics.add(cells, clockCells.answers, 1)
      Atomics.notify(cells, clockCells.answers)
    },
    workedMs: () => worker.performance.eventLoopUtilization().active - (waitedMs[0] ?? 0),
    isWaiting: () => Atomics.load(cells, clockCells.isWaiting) !== 0,
    terminate(error) {
      end(error)
      void worker.terminate()
    },
  }
}
