import { BatonError } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import { isBlobReference, readBlob, valueAt } from './blobs.ts'
import { edgesOf } from './edges.ts'
import { nodeFiles, type FilePort } from './file-port.ts'
import { readStoredContent } from './content-store.ts'
import { createLineReader, readLineBatches } from './lines.ts'
import { decodeLine, isKnownRecord, type JournalRecord } from './record.ts'
import type { SecretMask } from './secrets.ts'
import { epochsIn, segmentFile } from './segment.ts'
import { createSegmentReader, type Damage, type Located, type Reading } from './segment-reader.ts'
import { createSeal, type Seal, type SigningKey } from './signing.ts'
import type { Location } from './tree.ts'
import { decodeValue } from './value.ts'

/** The records of a run as an index needs them: all in the order of (epoch, number), single ones on demand. */
export interface RecordSource {
  /**
   * Visits each record of a known kind; `isLast` means that no later writer has added to the run. Returns the damaged
   * parts.
   */
  scan(visit: (record: JournalRecord, location: Location, isLast: boolean) => void): Promise<readonly Damage[]>
  /** One record. Synchronous, because observations are. */
  at(location: Location): JournalRecord
  /** The value that a field stands for: blobs loaded, secrets restored. */
  value(field: Json | undefined): unknown
  /**
   * A content that was kept with the run, by the SHA-256 of its bytes, with secrets restored; undefined: it does not
   * exist.
   */
  kept(hash: string): Uint8Array | undefined
  close(): void
}

/** Upper limit for the bytes of one epoch's file. */
const epochSpan = 2 ** 40

/** Each has at most 64 kB. */
const mostRecent = 64

export interface FileRecordsOptions {
  readonly mask: SecretMask
  /** Only epochs before this one. */
  readonly before?: number
  readonly files?: FilePort
  /** Records that are not signed with it count as damaged; omitted: signatures are not checked. */
  readonly key?: SigningKey | undefined
}

/** The records of a run folder. Holds the files open until it is closed. */
export function openFileRecords(
  folder: string,
  { mask, before = Infinity, files = nodeFiles, key }: FileRecordsOptions,
): RecordSource {
  const epochs = epochsIn(folder, files).filter((epoch) => epoch < before)
  const descriptors = new Map<number, { readonly descriptor: number; readonly lineAt: (position: number) => Buffer }>()
  /** The records that were read last: whoever shows a part of a run reads its few records several times. */
  const recent = new Map<Location, JournalRecord>()
  /** The place that recorded a large value. */
  const placeOf = new WeakMap<object, string>()

  function lineOf(epoch: number, position: number): Buffer {
    const known = descriptors.get(epoch)
    if (known !== undefined) return known.lineAt(position)
    const descriptor = files.openToRead(segmentFile(folder, epoch))
    const lineAt = createLineReader(descriptor, files)
    descriptors.set(epoch, { descriptor, lineAt })
    return lineAt(position)
  }

  function remember(location: Location, record: JournalRecord): void {
    recent.set(location, record)
    const [oldest] = recent.keys()
    if (oldest !== undefined && recent.size > mostRecent) recent.delete(oldest)
  }

  return {
    async scan(visit) {
      const damages: Damage[] = []
      for (const epoch of epochs) {
        const isLast = epoch === epochs.at(-1)
        for await (const batch of readEpoch(folder, epoch, { epochs, files, key })) {
          for (const { reading, offset } of batch) {
            if (reading.type === 'record') visit(reading.record, epoch * epochSpan + offset, isLast)
            else if (reading.type === 'corrupt') {
              const { type: _, ...damage } = reading
              damages.push(damage)
            }
          }
        }
      }
      return damages
    },
    at(location) {
      const known = recent.get(location)
      if (known !== undefined) return known
      const epoch = Math.floor(location / epochSpan)
      const record = decodeLine(lineOf(epoch, location % epochSpan))
      if (record === undefined || !isKnownRecord(record)) throw changed(segmentFile(folder, epoch))
      if ('p' in record) {
        for (const field of Object.values(record as object) as readonly Json[])
          if (isBlobReference(field)) placeOf.set(field, record.p)
      }
      remember(location, record)
      return record
    },
    value(field) {
      if (field === undefined) return undefined
      if (!isBlobReference(field)) return decodeValue(field, mask.unmask)
      const place = placeOf.get(field)
      const read = (): Json => readBlob(folder, field, files)
      return decodeValue(place === undefined ? read() : valueAt(place, read), mask.unmask)
    },
    kept: (hash) => readStoredContent(folder, hash, mask, files),
    close() {
      for (const { descriptor } of descriptors.values()) files.close(descriptor)
      descriptors.clear()
      recent.clear()
    },
  }
}

function changed(file: string): BatonError {
  return new BatonError('JOURNAL_FAILED', `${file} was changed while it was read`, { place: { file } })
}

/**
 * All records of a run folder, epoch by epoch, as a stream. A damaged end of a file is a torn write that was never
 * acknowledged, and is dropped; damage followed by good records is reported.
 * @throws BatonError JOURNAL_FAILED if a newer version wrote a file in a format that this one cannot read
 */
export async function* readRun(folder: string, files: FilePort = nodeFiles): AsyncGenerator<Reading> {
  const epochs = epochsIn(folder, files)
  for (const epoch of epochs) {
    for await (const batch of readEpoch(folder, epoch, { epochs, files }))
      for (const { reading } of batch) yield reading
  }
}

interface EpochContext {
  /** All epochs that are read. */
  readonly epochs: readonly number[]
  readonly files: FilePort
  readonly key?: SigningKey | undefined
}

/** The records of one epoch, after a reading for epochs that are missing before it. */
async function* readEpoch(
  folder: string,
  epoch: number,
  { epochs, files, key }: EpochContext,
): AsyncGenerator<readonly Located[]> {
  const expected = (epochs[epochs.indexOf(epoch) - 1] ?? 0) + 1
  if (expected < epoch) {
    const reason = 'missing'
    yield [
      { reading: { type: 'corrupt', file: segmentFile(folder, expected), offset: 0, bytes: 0, reason }, offset: 0 },
    ]
  }
  yield* readSegment(folder, epoch, { files, seal: key && createSeal(key) })
}

/** The readings of a run's first epoch, batch by batch: anything that the key has not signed is damage. */
export function readSigned(folder: string, key: SigningKey, files: FilePort): AsyncGenerator<readonly Located[]> {
  return readSegment(folder, 1, { files, seal: createSeal(key) })
}

/**
 * How many bytes of complete lines an epoch had when the next one started; undefined if there is none, or it did not
 * record that.
 */
async function bytesThen(folder: string, epoch: number, files: FilePort): Promise<number | undefined> {
  const next = segmentFile(folder, epoch + 1)
  if (files.size(next) === undefined) return undefined
  const { first } = await edgesOf(next, files)
  return first?.k === 'seg' ? first.before : undefined
}

interface SegmentContext {
  readonly files: FilePort
  /** Omitted: signatures are not checked. */
  readonly seal?: Seal | undefined
}

async function* readSegment(
  folder: string,
  epoch: number,
  { files, seal }: SegmentContext,
): AsyncGenerator<readonly Located[]> {
  const reader = createSegmentReader(folder, epoch, seal)
  for await (const lines of readLineBatches(segmentFile(folder, epoch), files)) yield reader.take(lines)
  const torn = reader.torn(await bytesThen(folder, epoch, files))
  if (torn !== undefined) yield [torn]
}
