import type { FilePort } from './file-port.ts'

/** A sync that takes less than this many milliseconds may be made in place (spec/engines.md D2 rule 4). */
const fastSync = 1
/** Syncs in place in a row before timers, signals and sockets get their turn. */
const maxInPlace = 16

export interface SyncStrategy {
  /** Makes the file's content durable for `waiters` callers. */
  sync(descriptor: number, waiters: number): Promise<void>
}

/**
 * A single caller on a fast disk is served by a blocking sync, which costs half of one through the thread pool; all
 * others by one in the background, so that more callers can gather meanwhile.
 */
export function createSyncStrategy(files: FilePort): SyncStrategy {
  let lastDuration = Infinity
  let inPlace = 0
  return {
    async sync(descriptor, waiters) {
      const start = performance.now()
      if (waiters === 1 && lastDuration < fastSync && inPlace < maxInPlace) {
        inPlace += 1
        files.syncDataNow(descriptor)
      } else {
        inPlace = 0
        await files.syncData(descriptor)
      }
      lastDuration = performance.now() - start
    },
  }
}
