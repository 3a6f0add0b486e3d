import { StopSignal } from '../../base/error.ts'
import type { Watching } from '../../chat/chat.ts'
import type { Listener } from '../../event/bus.ts'
import type { RunReport } from '../../wiring/conduct.ts'

/** A message that is worked on while the chat goes on. */
export interface BackgroundTask {
  /** That of its run. */
  readonly id: string
  readonly text: string
  /** Left out: it is still worked on. */
  readonly report?: RunReport
  /** Iterations that have ended, of those that succeeded. */
  readonly iterations: { readonly ended: number; readonly succeeded: number }
}

/** The tasks in the background of one chat. */
export interface Background {
  /** Begins one, and gives its id once its run is recorded. Rejects with what it cannot begin with. */
  readonly start: (
    text: string,
    answer: (watching: Watching, listener: Listener) => Promise<RunReport>,
  ) => Promise<string>
  readonly tasks: () => readonly BackgroundTask[]
  /** Those that have ended since this was asked last. */
  readonly news: () => readonly BackgroundTask[]
  /** Stops one, or all that are worked on; gives which. They can be resumed. */
  readonly stop: (id?: string) => readonly string[]
  /** Settles when none is worked on. */
  readonly settled: () => Promise<void>
}

export function createBackground(signal: AbortSignal): Background {
  const tasks = new Map<string, BackgroundTask>()
  /** What stops those that are worked on. */
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
            // a run that could not begin is not recorded
            else reject(end.error instanceof Error ? end.error : new Error('the task could not begin'))
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
