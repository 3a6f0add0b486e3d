import { BatonError, messageOf } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { type BlobReference, isBlobReference } from './blobs.ts'
import { type CassetteEntry, cassetteVersion } from './cassette.ts'
import { nodeFiles } from './file-port.ts'
import type { FileRecordsOptions, RecordSource } from './source.ts'
import { lineAt, readLineBatches } from './lines.ts'
import { assertReadable, decodeLine, isKnownRecord, type JournalRecord } from './record.ts'
import { decodeValue } from './value.ts'

interface CassetteOptions extends FileRecordsOptions {
  /** Restores secrets that `mask` leaves masked, only to verify texts. */
  readonly restore?: (text: string) => string
}

/**
 * The records of a cassette, read in place. Holds the file open until it is closed.
 * @throws BatonError USAGE for a file that cannot be opened; `scan` rejects with JOURNAL_FAILED, naming line and byte,
 * for one that is damaged, truncated, or not a cassette
 */
export function openCassette(file: string, options: CassetteOptions): RecordSource {
  const { mask, files = nodeFiles, restore = (text) => text } = options
  const descriptor = openNow()
  /** The offsets of the parts of each large value. */
  const blobs = new Map<string, number[]>()
  /** The offsets of the texts that changes write, by the hash of their bytes. */
  const texts = new Map<string, number>()

  function openNow(): number {
    try {
      return files.openToRead(file)
    } catch (error) {
      throw new BatonError('USAGE', `the cassette ${file} cannot be read: ${messageOf(error)}`, { cause: error })
    }
  }

  /** Handles a line of the cassette itself. Returns true for the last one. */
  function own(entry: CassetteEntry, offset: number, records: number): boolean {
    if (entry.k === 'cassette' && entry.v > cassetteVersion) {
      throw unusable(file, `has format ${entry.v}; this version reads up to ${cassetteVersion}`, {
        hint: 'It was written by a newer version of baton: use that one.',
      })
    }
    if (entry.k === 'blob') blobs.set(entry.hash, [...(blobs.get(entry.hash) ?? []), offset])
    if (entry.k === 'cassette.end' && entry.records !== records) throw cutOff(file, `${records} of ${entry.records}`)
    return entry.k === 'cassette.end'
  }

  function blobNow({ $blob, bytes }: BlobReference): Json {
    const parts = (blobs.get($blob) ?? []).map((offset) => decodeLine(lineAt(descriptor, offset, files)))
    const text = parts.map((part) => (part as unknown as { readonly text: string }).text).join('')
    if (Buffer.byteLength(text) === bytes && sha256(text) === $blob) return JSON.parse(text) as Json
    throw unusable(file, `is missing a large value, or parts of it (${$blob.slice(0, 12)})`)
  }

  function recordAt(location: number): JournalRecord {
    const record = decodeLine(lineAt(descriptor, location, files))
    if (record !== undefined && isKnownRecord(record)) return record
    throw unusable(file, 'was changed while it was read')
  }

  function value(field: Json | undefined): unknown {
    if (field === undefined) return undefined
    return decodeValue(isBlobReference(field) ? blobNow(field) : field, mask.unmask)
  }

  return {
    async scan(visit) {
      blobs.clear()
      texts.clear()
      let number = 0
      let records = 0
      let isWhole = false
      for await (const lines of readLineBatches(file, files)) {
        for (const line of lines) {
          number += 1
          const record = decodeLine(line.bytes)
          if (number === 1 && (record?.k as string) !== 'cassette') throw none(file)
          if (record === undefined) {
            throw unusable(file, `is damaged: line ${number}, at byte ${line.offset}, is corrupt`, {
              hint: 'Was it edited, or were its line endings changed? Record it again.',
              line: number,
            })
          }
          if (record.e === 0) {
            isWhole = own(record as unknown as CassetteEntry, line.offset, records)
            continue
          }
          records += 1
          if (!isKnownRecord(record)) continue
          if (record.k === 'seg') assertReadable(record, file)
          const { after } = record.k === 'started' && 'text' in record ? (record.request as JsonObject) : {}
          if (typeof after === 'string') texts.set(after, line.offset)
          visit(record, line.offset, false)
        }
      }
      if (!isWhole) throw number === 0 ? none(file) : cutOff(file, `its end is missing after line ${number}`)
      return []
    },
    at: recordAt,
    value,
    kept(hash) {
      const location = texts.get(hash)
      const record = location === undefined ? undefined : recordAt(location)
      const text = record?.k === 'started' ? value(record.text) : undefined
      if (typeof text !== 'string') return undefined
      return [text, restore(text)].some((one) => sha256(one) === hash) ? Buffer.from(text) : undefined
    },
    close: () => files.close(descriptor),
  }
}

function none(file: string): BatonError {
  const hint = 'A cassette is written by --record or baton runs export.'
  return unusable(file, 'is not a cassette, or its first line is damaged', { hint, line: 1 })
}

function cutOff(file: string, what: string): BatonError {
  return unusable(file, `is incomplete: ${what}`, { hint: 'It was truncated or concatenated. Record it again.' })
}

function unusable(file: string, problem: string, details: { readonly hint?: string; readonly line?: number } = {}) {
  const { hint, ...place } = details
  return new BatonError('JOURNAL_FAILED', `${file} ${problem}`, { hint, place: { file, ...place } })
}
