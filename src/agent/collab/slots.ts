import { manyListeners } from '../../base/concurrency.ts'

/**
 * Limits how many agents work at once. Spawners take turns for free slots; the agents of one spawner are served in
 * order.
 */
export interface Slots {
  /** Waits for a slot. @throws the reason of the signal; no slot is taken then */
  readonly take: (spawner: string, signal: AbortSignal) => Promise<void>
  readonly give: () => void
}

export function createSlots(count: number): Slots {
  let free = count
  /** The spawner that is served next is first. */
  const queues = new Map<string, Set<() => void>>()

  function next(): (() => void) | undefined {
    for (const [spawner, queue] of queues) {
      const [start] = queue
      queues.delete(spawner)
      if (start === undefined) continue
      queue.delete(start)
      if (queue.size > 0) queues.set(spawner, queue)
      return start
    }
    return undefined
  }

  function queueUp(spawner: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = queues.get(spawner) ?? new Set()
      queues.set(spawner, queue)
      const start = (): void => {
        signal.removeEventListener('abort', abort)
        resolve()
      }
      const abort = (): void => {
        queue.delete(start)
        if (queue.size === 0 && queues.get(spawner) === queue) queues.delete(spawner)
        signal.removeEventListener('abort', abort)
        reject(signal.reason as Error)
      }
      queue.add(start)
      manyListeners(signal).addEventListener('abort', abort)
    })
  }

  return {
    async take(spawner, signal) {
      signal.throwIfAborted()
      if (free === 0) return queueUp(spawner, signal)
      free -= 1
    },
    give() {
      const start = next()
      if (start === undefined) free += 1
      else start()
    },
  }
}
