import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { bundledFile } from '../../base/bundled-file.ts'
import { manyListeners } from '../../base/concurrency.ts'
import { messageOf } from '../../base/error.ts'
import type { Json } from '../../base/json.ts'
import { createWatchdog, startThread, type Thread } from '../thread/thread.ts'
import { type BoxAnswer, limitError, type Program, type ProgramEnd, type ProgramHost } from './program.ts'
import type { Answer, FunctionCall, Fixed, FromWorker, ToWorker } from './protocol.ts'

interface ProgramOptions extends Fixed {
  readonly signal: AbortSignal
}

/** Runs untrusted programs. */
export interface JavaScriptBox {
  /**
   * Runs a program in a fresh context: all it can do is call the functions of the host. What it does is determined by
   * its text, `seed`, `now` and the answers. The outcome is returned as data, also when a limit was reached.
   * @throws the reason of the signal, or what a call rejected with; Error when the box was closed or cannot work
   */
  run(program: Program, host: ProgramHost, options: ProgramOptions): Promise<ProgramEnd>
  /** Ends everything that runs in it; settles when its threads are gone. */
  close(): Promise<void>
}

/**
 * A box whose thread is started for the first program and reused for later ones; a second program at the same time gets
 * a second thread. An idle thread does not keep the process alive, and ends after a while.
 */
export function createJavaScriptBox(): JavaScriptBox {
  const threads = new Set<BoxThread>()
  let idle: BoxThread | undefined
  let idleTimer: NodeJS.Timeout | undefined
  let isClosed = false

  const end = async (thread: BoxThread, why: string): Promise<void> => {
    if (idle === thread) idle = undefined
    await thread.terminate(new Error(why))
    threads.delete(thread)
  }
  const take = (heapMb: number): BoxThread => {
    clearTimeout(idleTimer)
    const kept = idle
    idle = undefined
    if (kept?.heapMb === heapMb) return kept
    if (kept !== undefined) void end(kept, 'the thread is no longer needed')
    const thread = startBoxThread(heapMb)
    threads.add(thread)
    return thread
  }
  const give = (thread: BoxThread): void => {
    if (isClosed || idle !== undefined) return void end(thread, 'the thread is no longer needed')
    idle = thread
    thread.release(() => void end(thread, 'the thread has ended'))
    idleTimer = setTimeout(() => void end(thread, 'the thread is no longer needed'), idleMs).unref()
  }
  return {
    async run(program, host, options) {
      options.signal.throwIfAborted()
      if (isClosed) throw closedError()
      const thread = take(options.limits.memoryMb + engineMb)
      let isWhole = false
      try {
        return await runInThread(thread, { program, host, options }, () => (isWhole = true))
      } finally {
        if (isWhole) give(thread)
        else void end(thread, 'the program was stopped')
      }
    },
    async close() {
      isClosed = true
      clearTimeout(idleTimer)
      await Promise.all([...threads].map(async (thread) => end(thread, closedError().message)))
    },
  }
}

/** A thread that has not ended a program within this time is terminated. */
const confirmMs = 250
/** Starting a thread takes as long as fifty small programs. */
const idleMs = 10_000
/** Heap of a thread in addition to the memory of the program, which may cross the boundary as text. */
const engineMb = 64
/** For programs that recurse or nest as deeply as their own limit allows. */
const stackMb = 32

function closedError(): Error {
  return new Error('the JavaScript box was closed')
}

interface BoxThread extends Thread<ToWorker, FromWorker, Answer> {
  readonly heapMb: number
}

function startBoxThread(heapMb: number): BoxThread {
  const thread = startThread<ToWorker, FromWorker, Answer>({
    file: workerFile(),
    name: 'the JavaScript box',
    setup: {},
    limits: { maxOldGenerationSizeMb: heapMb, stackSizeMb: stackMb },
  })
  return { ...thread, heapMb }
}

/** Next to the bundled command; in the library; or, when run from source, in the built library. */
function workerFile(): URL {
  const bundled = bundledFile('code-worker.js')
  if (bundled !== undefined) return pathToFileURL(bundled)
  const file = ['./worker.js', '../../../dist/script/javascript/worker.js']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url))
  if (file === undefined) throw new Error('the worker of the JavaScript box is missing: build the library first')
  return file
}

interface Running {
  readonly program: Program
  readonly host: ProgramHost
  readonly options: ProgramOptions
}

/** `whole` is called when the thread has finished the program and can take the next one. */
function runInThread(
  thread: BoxThread,
  { program, host, options: { signal, ...fixed } }: Running,
  whole: () => void,
): Promise<ProgramEnd> {
  const { limits } = fixed
  const off: (() => void)[] = []
  const run = new Promise<ProgramEnd>((resolve, reject) => {
    const told: Promise<unknown>[] = []
    const callOf = ({ target, index, args }: FunctionCall): Promise<BoxAnswer> => {
      const name = host.functions[target]?.name
      const given = JSON.parse(args) as readonly Json[]
      if (name === undefined || !Array.isArray(given))
        throw new Error('the thread of the JavaScript box sent an invalid call')
      return host.call({ name, index, args: given })
    }
    const answer = async (calls: readonly FunctionCall[]): Promise<void> => {
      // calls issued together are already paid for: all of them end before one of them stops the program
      const answers = passAll(await Promise.allSettled(calls.map((call) => attempted(() => callOf(call)))))
      if (isOver) return
      const now = answers.findLast((one) => one.now !== undefined)?.now
      thread.answer({ kind: 'texts', texts: answers.map(textOf), now })
    }
    /** The thread is waiting for an answer: it can end the program itself and be reused. */
    const stop = (reason: unknown): void => {
      if (isOver) return
      stopped = { reason }
      thread.answer({ kind: 'stop' })
      const timer = setTimeout(() => reject(reason), confirmMs)
      off.push(() => clearTimeout(timer))
    }
    let stopped: { readonly reason: unknown } | undefined
    /** An outcome that arrives after the program was stopped does not count. */
    const finish = (end: ProgramEnd): void => (stopped === undefined ? resolve(end) : reject(stopped.reason))
    const watchdog = createWatchdog(thread, limits.timeMs, () => finish(limitError('time', limits)))
    let isOver = false
    off.push(() => {
      isOver = true
      watchdog.stop()
    })
    thread.assign({
      onMessage(message) {
        switch (message.kind) {
          case 'begun':
            return watchdog.start()
          case 'ask':
            return void answer(message.calls).catch(stop)
          case 'tell': {
            const call = attempted(() => callOf(message))
            call.catch(reject)
            told.push(call)
            return
          }
          case 'done': {
            whole()
            const { end } = message
            const result = end.kind === 'value' ? { kind: end.kind, value: JSON.parse(end.text) as Json } : end
            return void Promise.all(told).then(() => finish(result), reject)
          }
        }
      },
      onEnd(error) {
        if (isMemory(error)) return finish(limitError('memory', limits))
        reject(stopped === undefined ? engineError(error) : stopped.reason)
      },
    })
    const onAbort = (): void => reject(signal.reason as Error)
    manyListeners(signal).addEventListener('abort', onAbort)
    off.push(() => signal.removeEventListener('abort', onAbort))
    thread.post({
      program,
      functions: host.functions.map(({ name, id, waits }) => ({ name, waits, ...(id === undefined ? {} : { id }) })),
      ...fixed,
    })
  })
  return run.finally(() => {
    for (const stop of off) stop()
  })
}

function passAll<T>(results: readonly PromiseSettledResult<T>[]): readonly T[] {
  return results.map((result) => {
    if (result.status === 'fulfilled') return result.value
    throw result.reason
  })
}

async function attempted<T>(work: () => Promise<T>): Promise<T> {
  return work()
}

function textOf(answer: BoxAnswer): string {
  return 'error' in answer ? `-${JSON.stringify(answer.error)}` : `+${JSON.stringify(answer.value)}`
}

function isMemory(error: Error): boolean {
  return 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function engineError(error: Error): Error {
  return error.message === closedError().message
    ? error
    : new Error(`the JavaScript engine failed: ${messageOf(error)}`, { cause: error })
}

let box: JavaScriptBox | undefined

/**
 * The box for all programs of this process: an idle thread is kept for a while for the next program and does not keep
 * the process alive. Programs that run at the same time have separate threads.
 */
export function sharedBox(): JavaScriptBox {
  box ??= createJavaScriptBox()
  return box
}
