import { messageOf } from '../../base/error.ts'
import { LuaError, type LuaState, type LuaStateOptions, type LuaValue } from '../engine.ts'
import { limitMessage } from '../lua/limit-message.ts'
import type { Interrupts } from '../lua/interrupts.ts'
import { createHostCalls } from './host-calls.ts'
import type { ThreadPool } from './pool.ts'
import type { FromWorker, RunOutcome } from './protocol.ts'
import { createWatchdog } from './watchdog.ts'

/** A thread that does not confirm that something has stopped is ended after this time. */
const obeyMs = 250
/** Heap a worker needs besides what the script holds. */
const engineMb = 64

interface Run {
  readonly chunk: string
  readonly signal: AbortSignal
  readonly resolve: (values: readonly LuaValue[]) => void
  readonly reject: (error: unknown) => void
}

/** The main thread's side of a state that lives in a worker. */
export function createIsolatedState(
  options: LuaStateOptions,
  { pool, aborts }: { readonly pool: ThreadPool; readonly aborts: Interrupts },
): LuaState {
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
    thread.terminate(error)
  }
  const watchdog = createWatchdog(thread, limits.timeMs, () =>
    terminate(new LuaError(limitMessage('time', limits), { limit: 'time' })),
  )
  const obeySoon = (): void => {
    deadline ??= setTimeout(() => terminate(closedError()), obeyMs)
  }
  const settle = (number: number, outcome: RunOutcome): void => {
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
      const stopListening = aborts.listen(signal, () => {
        thread.post({ kind: 'abort', run: number })
        obeySoon()
      })
      try {
        return await new Promise<readonly LuaValue[]>((resolve, reject) => {
          runs.set(number, { chunk: chunk.name, signal, resolve, reject })
          thread.post({ kind: 'run', run: number, chunk, variables })
        })
      } finally {
        stopListening()
      }
    },
    close() {
      if (status !== 'open') return
      status = 'closing'
      calls.close()
      thread.post({ kind: 'close' })
      obeySoon()
    },
  }
}

function closedError(): LuaError {
  return new LuaError('the Lua state was closed')
}

function endError(error: Error, limits: LuaStateOptions['limits']): LuaError {
  if (error instanceof LuaError) return error
  if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new LuaError(limitMessage('memory', limits), { limit: 'memory' })
  }
  return new LuaError(`the Lua engine failed: ${messageOf(error)}`, { cause: error })
}

function inChunk({ message, limit, cause }: LuaError, chunk: string): LuaError {
  return new LuaError(message, { chunk, cause, ...(limit === undefined ? {} : { limit }) })
}
