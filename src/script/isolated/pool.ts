import { startThread, type Thread, type ThreadOptions } from './thread.ts'

/** Threads that have no state at the moment are kept for the next one: starting one takes longer than most scripts. */
const keptThreads = 2
const keptMs = 10_000

export interface ThreadPool {
  /** A thread without a state whose heap may hold this much. */
  take(heapMb: number): Thread
  /** Gives back a thread whose state has confirmed that it is closed. */
  give(thread: Thread): void
}

export function createThreadPool(options: Omit<ThreadOptions, 'heapMb'>): ThreadPool {
  const idle = new Map<Thread, NodeJS.Timeout>()

  const remove = (thread: Thread): void => {
    clearTimeout(idle.get(thread))
    idle.delete(thread)
  }
  const drop = (thread: Thread): void => {
    remove(thread)
    thread.terminate(new Error('the thread is not needed any more'))
  }
  return {
    take(heapMb) {
      const kept = [...idle.keys()].find((thread) => thread.options.heapMb === heapMb)
      if (kept === undefined) return startThread({ ...options, heapMb })
      remove(kept)
      return kept
    },
    give(thread) {
      thread.assign({ onMessage: () => undefined, onEnd: () => remove(thread) })
      thread.assign(undefined)
      idle.set(thread, setTimeout(() => drop(thread), keptMs).unref())
      const [oldest] = idle.keys()
      if (idle.size > keptThreads && oldest !== undefined) drop(oldest)
    },
  }
}
