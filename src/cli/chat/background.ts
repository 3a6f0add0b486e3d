import { StopSignal } from '../../base/error.ts'
import type { Watching } from '../../chat/chat.ts'
import type { Listener } from '../../event/bus.ts'
import type { RunReport } from '../../wiring/conduct.ts'

/** A message that runs while the chat continues. */
export interface BackgroundTask {
  /** The id of its run. */
  readonly id: string
  readonly text: string
  /** Omitted while it is running. */
  readonly report?: RunReport
  /** How many iterations have ended, and how many of those succeeded. */
  readonly iterations: { readonly ended: number; readonly succeeded: number }
}

/** The background tasks of one chat. */
export interface Background {
  /** Starts a task, and resolves to its id once its run is recorded. Rejects if it cannot start. */
  readonly start: (
    text: string,
    answer: (watching: Watching, listener: Listener) => Promise<RunReport>,
  ) => Promise<string>
  readonly tasks: () => readonly BackgroundTask[]
  /** The tasks that have ended since the last call. */
  readonly news: () => readonly BackgroundTask[]
  /** Stops one running task, or all; returns their ids. They can be resumed. */
  readonly stop: (id?: string) => readonly string[]
  /** Resolves when no task is running. */
  readonly settled: () => Promise<void>
}

export function createBackground(signal: AbortSignal): Background {
  const tasks = new Map<string, BackgroundTask>()
  /** Stop functions of the running tasks, by id. */
  const running = new Map<string, () => void>()
  const ends = new Set<Promise<unknown>>()
  let told = new Set<string>()

  return {
    start(text, answer) {
      const own = new AbortController()
      return new Promise<string>((resolve, reject) => {
        let id = ''
        const counts = { ended: 0, succeeded: 0 }
        const report = answer(
          {
            signal: AbortSignal.any([signal, own.signal]),
            onBegin(run) {
              id = run
              tasks.set(run, { id: run, text, iterations: counts })
              running.set(run, () => own.abort(new StopSignal('SIGINT', 130)))
              resolve(run)
            },
          },
          (event) => {
            if (event.type !== 'iteration.completed') return
            counts.ended += 1
            if (event.success) counts.succeeded += 1
          },
        )
        const ended = report.then(
          (end) => {
            running.delete(id)
            if (id !== '') tasks.set(id, { id, text, iterations: counts, report: end })
            // a run that could not start is not recorded
            else reject(end.error instanceof Error ? end.error : new Error('the task could not start'))
          },
          (error: unknown) => {
            running.delete(id)
            reject(error as Error)
          },
        )
        ends.add(ended)
        void ended.finally(() => ends.delete(ended))
      })
    },
    tasks: () => [...tasks.values()],
    news() {
      const fresh = [...tasks.values()].filter(({ id, report }) => report !== undefined && !told.has(id))
      told = new Set([...told, ...fresh.map(({ id }) => id)])
      return fresh
    },
    stop(id) {
      const stopped = id === undefined ? [...running.keys()] : [...running.keys()].filter((one) => one.startsWith(id))
      for (const one of stopped) running.get(one)?.()
      return stopped
    },
    async settled() {
      await Promise.allSettled(ends)
    },
  }
}
