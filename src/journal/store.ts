import { join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { attempt } from './attempt.ts'
import { createBlobWriter } from './blobs.ts'
import { edgesOf } from './edges.ts'
import { createKeeper, readKept } from './kept.ts'
import { journalFailure } from './failure.ts'
import { encodeFields, recordJson } from './fields.ts'
import { noteRunOrder } from './find-run.ts'
import { nodeFiles, type FilePort } from './file-port.ts'
import { openFileRecords, readRun } from './source.ts'
import type { JournalStore, RunJournal } from './journal.ts'
import { processOwners, type OwnerPort } from './owner.ts'
import { beatFile, beatMs, fileTime, refuseRun, refuseWhileOwned } from './ownership.ts'
import { createPendingSyncs, type PendingSyncs } from './pending-syncs.ts'
import { encodeLine, type Entry, formatVersion } from './record.ts'
import { noMask, type SecretMask } from './secrets.ts'
import { createSeal, type Seal, sealKind, type SigningKey } from './signing.ts'
import { claimEpoch, epochsIn, segmentFile } from './segment.ts'
import { createSizeLimit, sizeOnDisk } from './size-limit.ts'
import type { LineFile } from './tail.ts'
import { createLineWriter } from './writer.ts'

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
  const keeper = createKeeper(folder, mask, { files, pending, admit: size.admit })
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
    findKept: (hash) => readKept(folder, hash, mask, files),
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
    attempt(() => {
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
        attempt(() => files.close(beaten))
        attempt(() => files.remove(beatFile(folder, epoch)))
      }
      attempt(look)
      isOpen = false
    },
  }
}
