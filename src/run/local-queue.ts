import type { QueuedTask, TaskHandler, TaskQueue, WorkLimits } from './task-queue.ts'

interface StartedTask {
  readonly run: string
  readonly stop: AbortController
  readonly ended: Promise<void>
}

/** The queue of one process: tasks live as long as it (spec/engines.md D4, DESIGN 17). */
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
