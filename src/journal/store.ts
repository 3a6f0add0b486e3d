import { basename, join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { capture } from './work-result.ts'
import { blobFolder, createBlobWriter } from './blobs.ts'
import { edgesOf } from './edges.ts'
import { createContentStore, readStoredContent } from './content-store.ts'
import { journalFailure } from './failure.ts'
import { encodeFields, recordJson } from './fields.ts'
import { noteRunOrder } from './find-run.ts'
import { type FilePort, nodeFiles } from './file-port.ts'
import { openFileRecords, readRun } from './source.ts'
import type { JournalStore, RunJournal } from './journal.ts'
import { type OwnerPort, processOwners } from './owner.ts'
import { beatFile, beatMs, fileTime, refuseRun, refuseWhileOwned } from './ownership.ts'
import { createPendingSyncs, type PendingSyncs } from './pending-syncs.ts'
import { encodeLine, type Entry, formatVersion } from './record.ts'
import { noMask, type SecretMask } from './secrets.ts'
import { createSeal, type Seal, sealKind, type SigningKey } from './signing.ts'
import { claimEpoch, epochsIn, segmentFile } from './segment.ts'
import { createTail, type LineFile } from './tail.ts'
import { sizeText } from '../base/size.ts'

export interface StoreOptions {
  readonly now: () => Date
  readonly mask?: SecretMask
  readonly files?: FilePort
  readonly owners?: OwnerPort
  /** Signs what is recorded; if omitted, a resume that requires signatures refuses the run. */
  readonly key?: SigningKey
}

export interface OpenRunOptions extends StoreOptions {
  /** The run folder; see `runsFolder`. */
  readonly folder: string
}

/** Runs as folders below `root`, each with one file per epoch and its blobs. */
export function createFileStore(root: string, options: StoreOptions): JournalStore {
  const { mask = noMask, files = nodeFiles } = options
  return {
    open: (run) => openRun({ ...options, folder: join(root, run) }),
    read: (run) => readRun(join(root, run), files),
    records: (run) => openFileRecords(join(root, run), { mask, files }),
  }
}

/**
 * Becomes the writer of a run. The folder and file of a new run are created with its first records, so a run that records
 * nothing leaves nothing, and one that can be seen has begun; the next epoch of an existing run is won immediately and durably.
 * @throws BatonError USAGE if its writer is alive and has not ended it, JOURNAL_FAILED if the folder fails
 */
export async function openRun(options: OpenRunOptions): Promise<RunJournal> {
  const { folder, now, mask = noMask, files = nodeFiles, owners = processOwners, key } = options
  const pending = createPendingSyncs(files)
  const seal = key === undefined ? undefined : createSeal(key)
  const writing: Writing = { folder, files, pending, mask, now, ...(seal && { seal }) }

  function claim(epoch: number, { sync, before, first }: Claiming): number | undefined {
    const fields = encodeFields({ k: 'seg', v: formatVersion, ...owners.self(), before }, { mask: mask.mask })
    const line = Buffer.from(encodeLine(recordJson({ e: epoch, n: 0, t: now().getTime() }, fields)))
    const claimed = (header: Buffer): number | undefined =>
      claimEpoch({ epoch, header, sync }, { folder, files, pending })
    if (first !== undefined) {
      seal?.add(line)
      return claimed(Buffer.concat([line, first()]))
    }
    const descriptor = claimed(line)
    // a lost claim is tried again with the next epoch
    if (descriptor !== undefined) seal?.add(line)
    return descriptor
  }

  try {
    for (;;) {
      const newest = epochsIn(folder, files).at(-1)
      if (newest === undefined) {
        const open = (first: () => Buffer): number => {
          const descriptor = claim(1, { sync: 'lazy', first }) ?? refuseRun(folder)
          noteRunOrder(folder)
          return descriptor
        }
        return createRunJournal(1, { type: 'lazy', open }, writing)
      }
      const { first, last, bytes } = await edgesOf(segmentFile(folder, newest), files)
      // an unreadable header was lost in a power failure, and so was its writer
      if (first?.k === 'seg' && last?.k !== 'run.end') {
        const clock = { files, owners, now: () => fileTime(folder, files) }
        await refuseWhileOwned({ folder, epoch: newest, owner: first }, clock)
      }
      const descriptor = claim(newest + 1, { sync: 'durable', before: bytes })
      if (descriptor !== undefined) return createRunJournal(newest + 1, { type: 'open', descriptor }, writing)
    }
  } catch (error) {
    throw journalFailure(folder, error)
  }
}

interface Claiming {
  readonly sync: 'durable' | 'lazy'
  /** Bytes of the epoch before. */
  readonly before?: number
  /** The lines after the header. */
  readonly first?: () => Buffer
}

/** What the writer of a run works with. */
interface Writing {
  readonly folder: string
  readonly files: FilePort
  readonly pending: PendingSyncs
  readonly mask: SecretMask
  readonly now: () => Date
  readonly seal?: Seal
}

/** Numbers, masks and encodes records, and writes them to the file of one epoch. */
function createRunJournal(epoch: number, file: LineFile, { seal, ...writing }: Writing): RunJournal {
  const { folder, files, pending, mask, now } = writing
  const heart = createHeart(folder, { epoch, files, onDeleted: (error) => void writer.fail(error) })
  const writer = createLineWriter({ folder, files, pending, file: heart.around(file), sign: seal && sign })
  const writeBlob = createBlobWriter(folder, files, pending)
  const size = createSizeLimit(folder, epoch === 1 ? 0 : sizeOnDisk(folder, files))
  const keeper = createContentStore(folder, mask, { files, pending, admit: size.admit })
  let next = 1

  /** The number is taken only when nothing can fail any more, so that numbers have no gaps. */
  function take(entry: Entry): { readonly number: number; readonly line: string } {
    const admit = size.forKind(entry.k)
    const fields = encodeFields(entry, {
      mask: mask.mask,
      writeBlob: (value) => orFailure(() => writeBlob(value, admit)),
    })
    const line = encodeLine(recordJson({ e: epoch, n: next, t: now().getTime() }, fields))
    admit(Buffer.byteLength(line))
    return { number: next++, line }
  }

  function sign(lines: Buffer): string {
    seal?.add(lines)
    const number = next++
    const fields = { k: sealKind, mac: seal?.take({ folder, epoch, number }) ?? '' }
    const line = encodeLine(JSON.stringify({ e: epoch, n: number, t: now().getTime(), ...fields }))
    size.count(line.length)
    return line
  }

  /** A failed write of a kept content ends the run like a failed record; a refused one leaves the journal as it is. */
  function orFailure<T>(write: () => T): T {
    writer.failure.throwIfAborted()
    try {
      return write()
    } catch (error) {
      throw error === size.reached() ? error : writer.fail(error)
    }
  }

  return {
    epoch,
    mask,
    failure: writer.failure,
    note(entry) {
      const { number, line } = take(entry)
      writer.note(line)
      return number
    },
    async append(entry) {
      const { number, line } = take(entry)
      await writer.append(line)
      return number
    },
    keep: (content) => orFailure(() => keeper.keep(content)),
    async keepAhead(content, signal) {
      try {
        writer.failure.throwIfAborted()
        await keeper.keepAhead(content, signal)
      } catch (error) {
        signal.throwIfAborted()
        writer.failure.throwIfAborted()
        throw error === size.reached() ? error : writer.fail(error)
      }
    },
    findKept: (hash) => readStoredContent(folder, hash, mask, files),
    limitSize(bytes) {
      size.limitTo(bytes)
      return size.reached
    },
    push: writer.push,
    syncSoon: writer.syncSoon,
    flush: writer.flush,
    fenced() {
      try {
        heart.look()
        writer.failure.throwIfAborted()
        return files.size(segmentFile(folder, epoch + 1)) !== undefined
      } catch (error) {
        throw writer.fail(error)
      }
    },
    close() {
      heart.end()
      return writer.close()
    },
  }
}

interface HeartOptions {
  readonly epoch: number
  readonly files: FilePort
  /** Called when the file of the epoch is gone. */
  readonly onDeleted: (error: BatonError) => void
}

/** Shows other machines and containers that a waiting writer is alive, and notices when its file is deleted. */
function createHeart(folder: string, { epoch, files, onDeleted }: HeartOptions) {
  let isOpen = false
  let isEnded = false
  let descriptor: number | undefined
  let timer: NodeJS.Timeout | undefined

  function look(): void {
    if (!isOpen || files.size(segmentFile(folder, epoch)) !== undefined) return
    onDeleted(
      new BatonError('JOURNAL_FAILED', `${folder} was deleted while the run was recorded there`, {
        hint: 'This run can no longer be resumed or shown. Run it again.',
      }),
    )
  }

  function beat(): void {
    // without it, the next record is the next heartbeat
    capture(() => {
      look()
      descriptor ??= files.create(beatFile(folder, epoch))
      files.write(descriptor, Buffer.from('.'), 0)
    })
  }

  function begin(): void {
    // writes while closing open the file, and would start a heart that nobody stops
    if (isEnded) return
    isOpen = true
    timer ??= setInterval(beat, beatMs).unref()
  }

  return {
    look,
    /** The file, with a heart that beats as soon as the file exists. */
    around(file: LineFile): LineFile {
      if (file.type === 'open') begin()
      if (file.type === 'open') return file
      return {
        type: 'lazy',
        open(first) {
          const opened = file.open(first)
          begin()
          return opened
        },
      }
    },
    end() {
      isEnded = true
      clearInterval(timer)
      const beaten = descriptor
      descriptor = undefined
      if (beaten !== undefined) {
        capture(() => files.close(beaten))
        capture(() => files.remove(beatFile(folder, epoch)))
      }
      capture(look)
      isOpen = false
    },
  }
}

interface LineWriterOptions {
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
interface LineWriter {
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

function createLineWriter({ folder, files, pending, file, sign }: LineWriterOptions): LineWriter {
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

/**
 * Records of starts and reads: without them nothing is lost, because a resume repeats these. All others are written
 * even beyond the limit: what was paid for or changed, and how the run ended.
 */
const limitedKinds: ReadonlySet<Entry['k']> = new Set<Entry['k']>(['begin', 'started', 'obs', 'call', 'use', 'show'])

/** Counts the disk space of a run's journal. */
interface SizeLimit {
  /**
   * Requests `bytes` more, before they are written; counts them.
   * @throws BatonError RUN_TOO_LARGE beyond the limit, and the same error from then on
   */
  readonly admit: (bytes: number) => void
  /** Counts bytes that are written in any case. */
  readonly count: (bytes: number) => void
  /** The one of these two functions that applies to records of this kind. */
  readonly forKind: (kind: Entry['k']) => (bytes: number) => void
  readonly limitTo: (bytes: number) => void
  /** The error, once the limit was reached. */
  readonly reached: () => BatonError | undefined
}

/** Starts with `size` bytes and without a limit. */
function createSizeLimit(folder: string, size: number): SizeLimit {
  let limit = Infinity
  let written = size
  let error: BatonError | undefined

  function count(bytes: number): void {
    written += bytes
  }

  function admit(bytes: number): void {
    if (error !== undefined) throw error
    if (written + bytes > limit) throw (error = tooLarge(folder, { limit, written, bytes }))
    count(bytes)
  }

  return {
    admit,
    count,
    forKind: (kind) => (limitedKinds.has(kind) ? admit : count),
    limitTo: (bytes) => void (limit = bytes),
    reached: () => error,
  }
}

/** The bytes that a run has written so far: its records and blobs. */
function sizeOnDisk(folder: string, files: FilePort): number {
  const sizes = [folder, blobFolder(folder)].flatMap((each) =>
    files.list(each).map((name) => (name === 'blobs' ? 0 : (files.size(join(each, name)) ?? 0))),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

function tooLarge(
  folder: string,
  { limit, written, bytes }: { readonly limit: number; readonly written: number; readonly bytes: number },
): BatonError {
  const message = `the record of this run would exceed ${sizeText(limit)}: it has ${sizeText(written)}, and ${sizeText(bytes)} more would be recorded`
  const id = basename(folder)
  return new BatonError('RUN_TOO_LARGE', message, {
    hint: `Check whether a script repeats something endlessly. Otherwise raise the limit: baton resume ${id} -c runs.max_size=${sizeText(Math.max(2 * limit, 2 * (written + bytes)))}`,
  })
}
