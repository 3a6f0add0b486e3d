import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../base/clock.ts'
import { isFile } from '../../base/entries.ts'
import { entryOnDisk, type ReadLog, type SourceEntry } from '../../base/reads.ts'

/** What was read to know the triggers of a workspace. */
export interface ConfigLog {
  readonly reads: ReadLog
  /** Adds a file of which only counts whether it exists. */
  readonly names: (path: string) => void
  /** Whether something of it differs now. */
  readonly hasChanged: () => boolean
}

export function createConfigLog(): ConfigLog {
  const entries = new Map<string, SourceEntry>()
  const named = new Map<string, boolean>()
  return {
    reads: {
      file: () => undefined,
      prompt: () => undefined,
      list: () => undefined,
      sources: { stored: () => undefined, found: (path, entry) => void entries.set(path, entry) },
    },
    names: (path) => void named.set(path, isFile(path)),
    hasChanged: () =>
      [...entries].some(([path, entry]) => !isDeepStrictEqual(entryOnDisk(path, entry), entry)) ||
      [...named].some(([path, existed]) => isFile(path) !== existed),
  }
}

export interface ConfigChangesOptions<Found> {
  /** What was read at first. */
  readonly log: ConfigLog
  /** Reads it again, whatever becomes of it. @throws BatonError if it cannot be used */
  readonly read: (log: ConfigLog) => Promise<Found>
  readonly onFound: (found: Found) => Promise<void>
  /** Called with why it cannot be used, once for each state of the files. */
  readonly onProblem: (error: unknown) => void
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Milliseconds between looks at the files, and for which they must stay as they are: an editor may be writing. */
const lookMs = 1_000
const settleMs = 200

/** Reads the config again whenever a file of it has changed, until the signal is aborted. Never rejects. */
export async function followConfig<Found>(options: ConfigChangesOptions<Found>): Promise<void> {
  const { read, onFound, onProblem, clock, signal } = options
  let { log } = options
  let wait = lookMs
  try {
    for (;;) {
      await clock.sleep(wait, signal)
      wait = lookMs
      if (!log.hasChanged()) continue
      const next = createConfigLog()
      const found = await read(next).then(
        (value) => () => onFound(value),
        (error: unknown) => async () => onProblem(error),
      )
      await clock.sleep(settleMs, signal)
      if (next.hasChanged()) {
        wait = settleMs
        continue
      }
      log = next
      await found().catch(onProblem)
    }
  } catch {
    // the signal
  }
}
