import { BatonError } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import { isBlobReference, readBlob, valueAt } from './blobs.ts'
import { edgesOf } from './edges.ts'
import { nodeFiles, type FilePort } from './file-port.ts'
import { lineAt, readLineBatches } from './lines.ts'
import { assertReadable, decodeLine, isKnownRecord, type JournalRecord, type UnknownRecord } from './record.ts'
import type { SecretMask } from './secrets.ts'
import { createSeal, isSameSignature, type Seal, sealKind, type SigningKey } from './signing.ts'
import { epochsIn, segmentFile } from './segment.ts'
import type { Location } from './tree.ts'
import { decodeValue } from './value.ts'

/** The records of a run as an index needs them: all in the order of (epoch, number), single ones on demand. */
export interface RecordSource {
  /** Visits each record of a known kind; `isLast` says that no later writer has added to the run. Gives the damaged parts. */
  scan(visit: (record: JournalRecord, location: Location, isLast: boolean) => void): Promise<readonly Damage[]>
  /** One record. Synchronous, because observations are. */
  at(location: Location): JournalRecord
  /** The value a field stands for: blobs fetched, secrets put back. */
  value(field: Json | undefined): unknown
  close(): void
}

/** A damaged part with good records behind it. */
export interface Damage {
  readonly file: string
  readonly offset: number
  readonly bytes: number
  readonly reason: string
}

/** What reading a journal gives, in the order of writing. */
export type Reading =
  | { readonly type: 'record'; readonly record: JournalRecord }
  | { readonly type: 'unknown'; readonly record: UnknownRecord }
  /** A damaged part with good records behind it. `offset` and `bytes` tell where in the file. */
  | ({ readonly type: 'corrupt' } & Damage)

/** One epoch's file has at most this many bytes. */
const epochSpan = 2 ** 40

export interface FileRecordsOptions {
  readonly mask: SecretMask
  /** Only epochs before this one. */
  readonly before?: number
  readonly files?: FilePort
  /** Records that are not signed with it count as damaged; left out: nobody asks who has written them. */
  readonly key?: SigningKey | undefined
}

/** The records of a run folder. Holds the files open until it is closed. */
export function openFileRecords(
  folder: string,
  { mask, before = Infinity, files = nodeFiles, key }: FileRecordsOptions,
): RecordSource {
  const epochs = epochsIn(folder, files).filter((epoch) => epoch < before)
  const descriptors = new Map<number, number>()
  /** Who has recorded a large value. */
  const placeOf = new WeakMap<object, string>()

  function descriptorOf(epoch: number): number {
    const known = descriptors.get(epoch)
    if (known !== undefined) return known
    const descriptor = files.openToRead(segmentFile(folder, epoch))
    descriptors.set(epoch, descriptor)
    return descriptor
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
      const epoch = Math.floor(location / epochSpan)
      const record = decodeLine(lineAt(descriptorOf(epoch), location % epochSpan, files))
      if (record === undefined || !isKnownRecord(record)) throw changed(segmentFile(folder, epoch))
      if ('p' in record) {
        for (const field of Object.values(record as object) as readonly Json[])
          if (isBlobReference(field)) placeOf.set(field, record.p)
      }
      return record
    },
    value(field) {
      if (field === undefined) return undefined
      if (!isBlobReference(field)) return decodeValue(field, mask.unmask)
      const place = placeOf.get(field)
      const read = (): Json => readBlob(folder, field, files)
      return decodeValue(place === undefined ? read() : valueAt(place, read), mask.unmask)
    },
    close() {
      for (const descriptor of descriptors.values()) files.close(descriptor)
      descriptors.clear()
    },
  }
}

function changed(file: string): BatonError {
  return new BatonError('JOURNAL_FAILED', `${file} was changed while it was read`, { place: { file } })
}

/**
 * All records of a run folder, epoch by epoch, as a stream. A damaged end of a file is a torn write, never acknowledged,
 * and dropped; damage with good records behind it is reported.
 * @throws BatonError JOURNAL_FAILED when a file was written by a newer version in a format this one cannot read
 */
export async function* readRun(folder: string, files: FilePort = nodeFiles): AsyncGenerator<Reading> {
  const epochs = epochsIn(folder, files)
  for (const epoch of epochs) {
    for await (const batch of readEpoch(folder, epoch, { epochs, files }))
      for (const { reading } of batch) yield reading
  }
}

interface Located {
  readonly reading: Reading
  readonly offset: number
}

interface EpochContext {
  /** All that are read. */
  readonly epochs: readonly number[]
  readonly files: FilePort
  readonly key?: SigningKey | undefined
}

/** The records of one epoch, behind the epochs that are missing before it. */
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

/** Whether the start of a run is signed with a key; a start that is damaged counts as signed, one that is missing too. */
export async function isSignedRun(folder: string, key: SigningKey, files: FilePort = nodeFiles): Promise<boolean> {
  const epochs = epochsIn(folder, files).slice(0, 1)
  for (const epoch of epochs) {
    for await (const batch of readEpoch(folder, epoch, { epochs, files, key })) {
      for (const { reading } of batch) return reading.type === 'record' || (reading as Damage).reason !== notSigned
    }
  }
  return false
}

/** How many bytes of whole lines an epoch had when the next one began; undefined when none has begun, or it did not say. */
async function bytesThen(folder: string, epoch: number, files: FilePort): Promise<number | undefined> {
  const next = segmentFile(folder, epoch + 1)
  if (files.size(next) === undefined) return undefined
  const { first } = await edgesOf(next, files)
  return first?.k === 'seg' ? first.before : undefined
}

const notSigned = 'not as this installation has signed it'

interface SegmentContext {
  readonly files: FilePort
  /** Left out: signatures are not looked at. */
  readonly seal?: Seal | undefined
}

/** With `seal` lines are read that the next signature covers; those behind the last one were torn off with theirs. */
async function* readSegment(
  folder: string,
  epoch: number,
  { files, seal }: SegmentContext,
): AsyncGenerator<readonly Located[]> {
  const file = segmentFile(folder, epoch)
  let unsigned: Located[] = []
  let signedEnd = 0
  let end = 0
  let expected = 0
  let damage: Damage | undefined
  for await (const lines of readLineBatches(file, files)) {
    const signed: Located[] = []
    for (const { bytes, offset, size } of lines) {
      const batch = seal === undefined ? signed : unsigned
      const record = decodeLine(bytes)
      if (seal !== undefined && record?.k === sealKind) {
        const { n: number } = record
        const isOwn = isSameSignature(seal.take({ folder, epoch, number }), (record as UnknownRecord)['mac'])
        const known = damage ?? unsigned.map(({ reading }) => reading).find(({ type }) => type === 'corrupt')
        const reason = known !== undefined && 'reason' in known ? known.reason : notSigned
        const lost: Damage = { file, offset: signedEnd, bytes: offset + size - signedEnd, reason }
        if (isOwn) signed.push(...unsigned)
        else signed.push({ reading: { type: 'corrupt', ...lost }, offset: signedEnd })
        unsigned = []
        signedEnd = offset + size
      } else seal?.add(bytes, '\n')
      if (record === undefined || record.e !== epoch || record.n < expected) {
        damage ??= { file, offset, bytes: 0, reason: 'not as it was written' }
        damage = { ...damage, bytes: offset + size - damage.offset }
        continue
      }
      if (damage === undefined && record.n > expected) {
        damage = { file, offset, bytes: 0, reason: `records ${expected} to ${record.n - 1} are missing` }
      }
      if (damage !== undefined) batch.push({ reading: { type: 'corrupt', ...damage }, offset })
      damage = undefined
      expected = record.n + 1
      end = offset + size
      if (!isKnownRecord(record)) {
        if (seal === undefined || record.k !== sealKind) batch.push({ reading: { type: 'unknown', record }, offset })
        continue
      }
      if (record.k === 'seg') assertReadable(record, file)
      batch.push({ reading: { type: 'record', record }, offset })
    }
    yield signed
  }
  const then = await bytesThen(folder, epoch, files)
  // what is bad at the end was torn off, unless the next writer has seen it whole; a line feed is no loss
  if (then === undefined || then <= end + 1) return
  const reason = damage?.reason ?? 'missing'
  yield [{ reading: { type: 'corrupt', file, offset: end, bytes: then - end, reason }, offset: end }]
}
