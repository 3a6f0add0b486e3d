import { manyListeners } from '../base/concurrency.ts'

/** One input of one stage. */
export interface QueuedTask {
  readonly run: string
  /** The place in the run; together with `run` it identifies the task. */
  readonly place: string
  /** JSON. */
  readonly input: unknown
}

/**
 * Executes a task. The handler keeps the result itself, because queues return nothing. It must not reject, and must end
 * soon after the signal aborts.
 */
type TaskHandler = (task: QueuedTask, signal: AbortSignal) => Promise<void>

interface WorkLimits {
  /** The number of tasks that this worker executes at the same time; at least 1. */
  readonly local: number
}

/** Takes no more tasks, aborts active ones, and resolves after they have ended. */
type StopWork = () => Promise<void>

/**
 * Passes tasks to workers. Results and progress are kept in the journal, never in a queue.
 * Every implementation passes test/contract/task-queue.ts.
 */
export interface TaskQueue {
  /** Resolves when the task is accepted. A waiting or active task is not added a second time. */
  submit(task: QueuedTask): Promise<void>
  /** Executes tasks in the order of submission, including later ones. Only one worker at a time. */
  work(handler: TaskHandler, limits: WorkLimits): StopWork
  /** Drops the waiting tasks of a run, and aborts its active ones. */
  cancel(run: string): Promise<void>
}

interface StartedTask {
  readonly run: string
  readonly stop: AbortController
  readonly ended: Promise<void>
}

/** The queue of one process: tasks are lost when the process ends. */
export function createLocalQueue(): TaskQueue {
  const waiting = new Map<string, QueuedTask>()
  const started = new Map<string, StartedTask>()
  let worker: (WorkLimits & { readonly handler: TaskHandler }) | undefined

  function startNext(): void {
    for (const [key, task] of waiting) {
      if (worker === undefined || started.size >= worker.local) return
      waiting.delete(key)
      const stop = new AbortController()
      const ended = worker.handler(task, stop.signal).finally(() => {
        started.delete(key)
        startNext()
      })
      started.set(key, { run: task.run, stop, ended })
    }
  }

  return {
    async submit(task) {
      const key = JSON.stringify([task.run, task.place])
      if (waiting.has(key) || started.has(key)) return
      waiting.set(key, task)
      startNext()
    },
    work(handler, limits) {
      worker = { ...limits, handler }
      startNext()
      return async () => {
        worker = undefined
        for (const { stop } of started.values()) stop.abort()
        await Promise.all([...started.values()].map(({ ended }) => ended))
      }
    },
    async cancel(run) {
      for (const [key, task] of waiting) if (task.run === run) waiting.delete(key)
      for (const task of started.values()) if (task.run === run) task.stop.abort()
    },
  }
}

export interface QueuedWork<T> {
  readonly queue: TaskQueue
  readonly run: string
  /** The task of an item: its place in the run, and JSON that describes it. */
  readonly taskOf: (item: T, index: number) => { readonly place: string; readonly input: unknown }
  /** The maximum number of active tasks; at least 1. */
  readonly limit: number
  readonly signal: AbortSignal
}

/**
 * `mapLimit` through a queue: results in the order of the items. The first rejection cancels the other tasks and is
 * rethrown after all started ones have ended.
 */
export async function mapQueued<T, R>(
  items: readonly T[],
  { queue, run, taskOf, limit, signal }: QueuedWork<T>,
  work: (item: T, index: number, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const tasks = items.map((item, index) => ({ run, ...taskOf(item, index) }))
  const left = new Map(tasks.map(({ place }, index) => [place, index]))
  let failure: { readonly error: unknown } | undefined
  const { promise: over, end } = ending(signal)

  async function take(place: string, taskSignal: AbortSignal): Promise<void> {
    const index = left.get(place)
    if (index === undefined) return
    try {
      results[index] = await work(items[index] as T, index, manyListeners(AbortSignal.any([signal, taskSignal])))
      left.delete(place)
      if (left.size === 0) end()
    } catch (error) {
      failure ??= { error }
      await queue.cancel(run)
      end()
    }
  }

  const stop = queue.work(({ place }, taskSignal) => take(place, taskSignal), { local: Math.max(1, Math.floor(limit)) })
  try {
    for (const task of tasks) {
      if (failure !== undefined || signal.aborted) break
      await queue.submit(task)
    }
    if (left.size > 0) await over
  } finally {
    if (left.size > 0) await queue.cancel(run)
    await stop()
  }
  if (failure !== undefined) throw failure.error
  signal.throwIfAborted()
  return results
}

function ending(signal: AbortSignal): { readonly promise: Promise<void>; readonly end: () => void } {
  let end = (): void => {}
  const promise = new Promise<void>((resolve) => {
    end = () => {
      signal.removeEventListener('abort', end)
      resolve()
    }
    if (signal.aborted) resolve()
    else manyListeners(signal).addEventListener('abort', end, { once: true })
  })
  return { promise, end }
}
