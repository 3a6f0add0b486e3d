import { pathToFileURL } from 'node:url'
import {
  closedError,
  limitMessage,
  limitOf,
  type LuaEngine,
  LuaError,
  type LuaState,
  type LuaStateOptions,
  type LuaValue,
} from '../engine.ts'
import { createWatchdog, startThread, type Thread as WorkerThread } from '../thread/thread.ts'
import { type Answer, type FromWorker, type Outcome, seedTarget, type ToWorker } from './protocol.ts'
import { messageOf } from '../../base/error.ts'
import { manyListeners } from '../../base/concurrency.ts'

export interface IsolatedOptions {
  /** The engine that runs inside the threads. */
  readonly engine: 'lua54' | 'fengari'
  /** Absolute path of Lua's wasm file; see `Lua54Options`. */
  readonly wasmFile?: string
  /** Absolute path of the compiled worker.ts. Default: the one next to this file. */
  readonly workerFile?: string
}

/**
 * An engine whose states live in worker threads: a script that is stuck in one native call is ended at its time limit,
 * and its heap is limited. Host functions run in the main thread. A state behaves like a state of the inner engine; if
 * its thread fails, its runs reject with `LuaError`.
 */
export function createIsolatedEngine({ engine, wasmFile, workerFile }: IsolatedOptions): LuaEngine {
  const pool = createThreadPool({
    engine,
    wasmFile,
    workerFile: workerFile === undefined ? new URL(ownWorker, import.meta.url) : pathToFileURL(workerFile),
  })
  return { name: engine, createState: (options) => createIsolatedState(options, pool) }
}

const ownWorker = import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js'

/** Idle threads are kept for later states: starting one takes longer than most scripts. */
const idleThreads = 2
const idleMs = 10_000

interface ThreadPool {
  /** A thread without a state, with this heap limit. */
  take(heapMb: number): Thread
  /** Returns a thread whose state has confirmed that it is closed. */
  give(thread: Thread): void
}

function createThreadPool(options: EngineOptions): ThreadPool {
  const idle = new Map<Thread, NodeJS.Timeout>()

  const remove = (thread: Thread): void => {
    clearTimeout(idle.get(thread))
    idle.delete(thread)
  }
  const drop = (thread: Thread): void => {
    remove(thread)
    void thread.terminate(new Error('the thread is no longer needed'))
  }
  return {
    take(heapMb) {
      const kept = [...idle.keys()].find((thread) => thread.heapMb === heapMb)
      if (kept === undefined) return startEngine(options, heapMb)
      remove(kept)
      return kept
    },
    give(thread) {
      thread.release(() => remove(thread))
      idle.set(thread, setTimeout(() => drop(thread), idleMs).unref())
      const [oldest] = idle.keys()
      if (idle.size > idleThreads && oldest !== undefined) drop(oldest)
    },
  }
}

interface EngineOptions {
  readonly engine: 'lua54' | 'fengari'
  readonly wasmFile: string | undefined
  readonly workerFile: URL
}

/** One worker thread with an engine in it. */
interface Thread extends EngineThread {
  readonly heapMb: number
}

type EngineThread = WorkerThread<ToWorker, FromWorker, Answer>

function startEngine({ workerFile, ...setup }: EngineOptions, heapMb: number): Thread {
  const limits = { maxOldGenerationSizeMb: heapMb }
  const thread: EngineThread = startThread({ file: workerFile, name: 'the Lua engine', setup, limits })
  return { ...thread, heapMb }
}

/** A thread that has not confirmed an abort or a close within this time is terminated. */
const confirmMs = 250
/** Heap a worker needs in addition to what the script uses. */
const engineMb = 64

interface Run {
  readonly chunk: string
  readonly signal: AbortSignal
  readonly resolve: (values: readonly LuaValue[]) => void
  readonly reject: (error: unknown) => void
}

/** The main thread's side of a state that lives in a worker. */
function createIsolatedState(options: LuaStateOptions, pool: ThreadPool): LuaState {
  const { functions, modules, limits } = options
  const thread = pool.take(Math.ceil(limits.memoryBytes / 2 ** 20) + engineMb)
  const calls = createHostCalls(thread, options)
  const runs = new Map<number, Run>()
  let status: 'open' | 'closing' | 'closed' = 'open'
  let failure: LuaError | undefined
  let lastRun = 0
  let deadline: NodeJS.Timeout | undefined

  const terminate = (error: LuaError): void => {
    failure ??= error
    void thread.terminate(error)
  }
  const watchdog = createWatchdog(thread, limits.timeMs, () =>
    terminate(new LuaError(limitMessage('time', limits), { limit: 'time' })),
  )
  const expectConfirmation = (): void => {
    deadline ??= setTimeout(() => terminate(closedError()), confirmMs)
  }
  const settle = (number: number, outcome: Outcome): void => {
    const run = runs.get(number)
    runs.delete(number)
    if (run === undefined) return
    if (run.signal.aborted) {
      if (status === 'open') clearDeadline()
      return run.reject(run.signal.reason)
    }
    if (outcome.kind === 'values') return run.resolve(outcome.values)
    run.reject(calls.errorOf(outcome))
  }
  const clearDeadline = (): void => {
    const isAnyAborted = [...runs.values()].some(({ signal }) => signal.aborted)
    if (isAnyAborted) return
    clearTimeout(deadline)
    deadline = undefined
  }
  const end = (): void => {
    status = 'closed'
    watchdog.stop()
    clearTimeout(deadline)
    calls.close()
  }
  thread.assign({
    onMessage(message: FromWorker) {
      switch (message.kind) {
        case 'opened':
          return watchdog.start()
        case 'call':
          return calls.answer(message)
        case 'done':
          return settle(message.run, message.outcome)
        case 'closed':
          end()
          return pool.give(thread)
      }
    },
    onEnd(error) {
      end()
      failure ??= endError(error, limits)
      for (const { chunk, signal, reject } of runs.values())
        reject(signal.aborted ? signal.reason : inChunk(failure, chunk))
      runs.clear()
    },
  })
  thread.post({
    kind: 'open',
    functions: functions.map(({ path, tables }) => ({ path, tables })),
    modules,
    limits,
  })

  return {
    async run(chunk, variables, signal) {
      signal.throwIfAborted()
      if (failure !== undefined) throw failure
      if (status !== 'open') throw closedError()
      const number = ++lastRun
      const onAbort = (): void => {
        thread.post({ kind: 'abort', run: number })
        expectConfirmation()
      }
      manyListeners(signal).addEventListener('abort', onAbort)
      try {
        return await new Promise<readonly LuaValue[]>((resolve, reject) => {
          runs.set(number, { chunk: chunk.name, signal, resolve, reject })
          thread.post({ kind: 'run', run: number, chunk, variables })
        })
      } finally {
        signal.removeEventListener('abort', onAbort)
      }
    },
    close() {
      if (status !== 'open') return
      status = 'closing'
      calls.close()
      thread.post({ kind: 'close' })
      expectConfirmation()
    },
  }
}

function endError(error: Error, limits: LuaStateOptions['limits']): LuaError {
  if (error instanceof LuaError) return error
  if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new LuaError(limitMessage('memory', limits), { limit: 'memory' })
  }
  return new LuaError(`the Lua engine failed: ${messageOf(error)}`, { cause: error })
}

function inChunk({ message, limit, cause }: LuaError, chunk: string): LuaError {
  return new LuaError(message, { chunk, cause, limit })
}

/** Errors kept to find the cause of an uncaught one; the engine in the thread keeps fewer. */
const keptErrors = 64

/** Answers the host calls of one state that lives in a worker. */
function createHostCalls(thread: Thread, { functions, seed }: LuaStateOptions) {
  const errors = new Map<number, unknown>()
  let lastError = 0
  let isClosed = false

  const failed = (error: unknown): Outcome => {
    errors.set(++lastError, error)
    errors.delete(lastError - keptErrors)
    return { kind: 'failed', message: messageOf(error), details: { hostError: lastError, limit: limitOf(error) } }
  }
  const call = (target: number, args: readonly LuaValue[]): ReturnType<(typeof functions)[number]['call']> => {
    if (isClosed) throw closedError()
    if (target === seedTarget) return [seed()]
    const definition = functions[target]
    if (definition === undefined) throw new Error(`there is no host function ${target}`)
    return definition.call(args)
  }
  /** Sends the outcome to the thread, or the reason why it cannot be copied. */
  const send = (outcome: Outcome, post: (outcome: Outcome) => void): void => {
    try {
      post(outcome)
    } catch (error) {
      post(failed(error))
    }
  }
  const settleLater = (number: number, result: Promise<readonly LuaValue[]>): void => {
    const outcome = result.then((values): Outcome => ({ kind: 'values', values }), failed)
    void outcome.then((settled) => {
      if (!isClosed) send(settled, (sent) => thread.post({ kind: 'settled', call: number, outcome: sent }))
    })
  }
  return {
    answer({ call: number, target, args }: Extract<FromWorker, { kind: 'call' }>): void {
      try {
        const result = call(target, args)
        if (!(result instanceof Promise))
          return send({ kind: 'values', values: result }, (outcome) => thread.answer(outcome))
        thread.answer({ kind: 'waits' })
        settleLater(number, result)
      } catch (error) {
        thread.answer(failed(error))
      }
    },
    /** The error of a failed run, with the host function's own error as its cause. */
    errorOf({ message, details: { hostError, ...details } }: Extract<Outcome, { kind: 'failed' }>): LuaError {
      const cause = hostError === undefined ? undefined : errors.get(hostError)
      return new LuaError(message, { ...details, cause })
    },
    /** From now on every call fails, and no late result is sent. */
    close(): void {
      isClosed = true
    },
  }
}
