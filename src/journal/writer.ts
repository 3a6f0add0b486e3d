import type { FilePort } from './file-port.ts'
import { BatonError } from '../base/error.ts'
import { journalFailure } from './failure.ts'
import type { PendingSyncs } from './pending-syncs.ts'
import { type LineFile, createTail } from './tail.ts'

export interface LineWriterOptions {
  /** The run folder, for messages. */
  readonly folder: string
  readonly files: FilePort
  readonly pending: PendingSyncs
  readonly file: LineFile
  /** Returns the line that signs lines which are about to be written; omitted: they are not signed. */
  readonly sign?: ((lines: Buffer) => string) | undefined
}

/**
 * Appends lines to one file by the rules of docs/design/journal.md. Lines keep the order of the calls. After the first
 * error of any operation the writer is dead: every waiting and later call fails with that error, and nothing more is
 * written, so the remains of a failed write can only be at the end of the file.
 */
export interface LineWriter {
  /** Aborted with the `BatonError` at the first error. */
  readonly failure: AbortSignal
  /** Resolves when the line, and all before it, are durable. */
  readonly append: (line: string) => Promise<void>
  /** Takes a line without waiting: it is written soon, or at the next `push`, `append` or `close`. */
  readonly note: (line: string) => void
  /** Hands all lines to the operating system: they survive the end of this process, but not of the machine. */
  readonly push: () => void
  /** The same, and makes them durable within a tenth of a second, without anyone waiting for it. */
  readonly syncSoon: () => void
  /** Resolves when all lines are durable. */
  readonly flush: () => Promise<void>
  /**
   * Writes what is left and closes the file; syncs only if something was synced before. Rejects if the writer is dead.
   */
  readonly close: () => Promise<void>
  /** Declares the writer dead because of an external error, and returns the error to throw. */
  readonly fail: (error: unknown) => BatonError
}

interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** Milliseconds that a noted line may wait. */
const noteDelay = 50
/** Milliseconds until lines that nobody waits for are synced: often they are synced earlier for someone who does. */
const syncDelay = 100

export function createLineWriter({ folder, files, pending, file, sign }: LineWriterOptions): LineWriter {
  const stop = new AbortController()
  const sync = createSync(files)
  const tail = createTail(file, files, sign)
  const waiters: Waiter[] = []
  let isDirty = false
  let everSynced = false
  let committing: Promise<void> | undefined
  let closing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let syncTimer: NodeJS.Timeout | undefined

  function fail(error: unknown): BatonError {
    const failure = deadBecause() ?? journalFailure(folder, error)
    tail.drop()
    settle(waiters.splice(0), failure)
    stop.abort(failure)
    return failure
  }

  function deadBecause(): BatonError | undefined {
    return stop.signal.aborted ? (stop.signal.reason as BatonError) : undefined
  }

  function assertUsable(): void {
    const failure = deadBecause()
    if (failure !== undefined) throw failure
    if (closing !== undefined) throw new BatonError('JOURNAL_FAILED', `the journal in ${folder} is already closed`)
  }

  /** Runs an operation on the file; an error ends this writer. */
  function orFail<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw fail(error)
    }
  }

  function add(line: string): void {
    assertUsable()
    orFail(() => tail.add(line))
    isDirty = true
  }

  function writeOut(): void {
    clearTimeout(timer)
    timer = undefined
    orFail(tail.writeOut)
  }

  function writeLater(): void {
    timer ??= setTimeout(() => {
      try {
        writeOut()
      } catch {
        // `failure` is aborted by now, and every later call reports it
      }
    }, noteDelay).unref()
  }

  function commit(): Promise<void> {
    const done = new Promise<void>((resolve, reject) => waiters.push({ resolve, reject }))
    committing ??= Promise.resolve().then(commitWaiters)
    return done
  }

  async function commitWaiters(): Promise<void> {
    while (waiters.length > 0) await commitGroup().catch(fail)
    committing = undefined
  }

  /** One sync for everything that waits; lines that arrive in the meantime go with the next one (rule 4). */
  async function commitGroup(): Promise<void> {
    // opening first: it adds the file's own name to what must be synced
    const descriptor = orFail(tail.open)
    while (!pending.isEmpty()) await pending.sync()
    if (stop.signal.aborted) return
    const group = waiters.splice(0)
    try {
      writeOut()
      isDirty = false
      everSynced = true
      await sync(descriptor, group.length)
      settle(group)
    } catch (error) {
      settle(group, fail(error))
    }
  }

  async function flush(): Promise<void> {
    assertUsable()
    if (isDirty || committing !== undefined || !pending.isEmpty()) await commit()
  }

  function push(): void {
    assertUsable()
    writeOut()
  }

  async function finish(): Promise<void> {
    await committing
    clearTimeout(timer)
    clearTimeout(syncTimer)
    try {
      const failure = deadBecause()
      if (failure !== undefined) throw failure
      writeOut()
      if (everSynced && (isDirty || !pending.isEmpty())) await commit()
    } finally {
      orFail(tail.close)
    }
  }

  return {
    failure: stop.signal,
    async append(line) {
      add(line)
      await commit()
    },
    note(line) {
      add(line)
      if (tail.hasWaiting()) writeLater()
    },
    push,
    syncSoon() {
      push()
      syncTimer ??= setTimeout(() => {
        syncTimer = undefined
        // `failure` is aborted by now, and every later call reports it
        flush().catch(() => {})
      }, syncDelay).unref()
    },
    flush,
    close: () => (closing ??= finish()),
    fail,
  }
}

function settle(waiters: readonly Waiter[], failure?: BatonError): void {
  for (const { resolve, reject } of waiters) {
    if (failure === undefined) resolve()
    else reject(failure)
  }
}

/** A sync faster than this many milliseconds may be made synchronously. */
const fastSync = 1
/** Consecutive synchronous syncs before timers, signals and sockets get their turn. */
const maxInPlace = 16

/**
 * Makes the file's content durable for `waiters` callers. A single caller on a fast disk gets a blocking sync, which
 * costs half as much as one through the thread pool; all others get one in the background, so that more callers can
 * join in the meantime.
 */
function createSync(files: FilePort): (descriptor: number, waiters: number) => Promise<void> {
  let lastDuration = Infinity
  let inPlace = 0
  return async (descriptor, waiters) => {
    const start = performance.now()
    if (waiters === 1 && lastDuration < fastSync && inPlace < maxInPlace) {
      inPlace += 1
      files.syncDataNow(descriptor)
    } else {
      inPlace = 0
      await files.syncData(descriptor)
    }
    lastDuration = performance.now() - start
  }
}
