import { BatonError, messageOf } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'
import type { Json } from '../base/json.ts'
import { type BlobReference, isBlobReference } from './blobs.ts'
import { type CassetteEntry, cassetteVersion } from './cassette.ts'
import { nodeFiles } from './file-port.ts'
import type { FileRecordsOptions } from './file-records.ts'
import { type Head, readHead } from './head.ts'
import { lineAt } from './line-at.ts'
import { type Line, readLineBatches } from './lines.ts'
import { assertReadable, decodeLine, isKnownRecord } from './record.ts'
import type { RecordSource } from './run-index.ts'
import { decodeValue } from './value.ts'

/**
 * The records of a cassette, read in place. Holds the file open until it is closed.
 * @throws BatonError USAGE for a file that cannot be opened; `scan` rejects with JOURNAL_FAILED, naming line and byte,
 * for one that is damaged, cut off, or none
 */
export function openCassette(file: string, { mask, files = nodeFiles }: FileRecordsOptions): RecordSource {
  const descriptor = openNow()
  /** Where the parts of each large value are. */
  const blobs = new Map<string, number[]>()

  function openNow(): number {
    try {
      return files.openToRead(file)
    } catch (error) {
      throw new BatonError('USAGE', `the cassette ${file} cannot be read: ${messageOf(error)}`, { cause: error })
    }
  }

  /** Notes a line of the cassette's own. True for the last one. */
  function own({ k }: Head, { bytes, offset }: Line, records: number): boolean {
    const entry = decodeLine(bytes) as unknown as CassetteEntry
    if (entry.k === 'cassette' && entry.v > cassetteVersion) throw newer(file, entry.v)
    if (entry.k === 'blob') blobs.set(entry.hash, [...(blobs.get(entry.hash) ?? []), offset])
    if (entry.k === 'cassette.end' && entry.records !== records) throw cutOff(file, `${records} of ${entry.records}`)
    return k === 'cassette.end'
  }

  function blobNow({ $blob, bytes }: BlobReference): Json {
    const parts = (blobs.get($blob) ?? []).map((offset) => decodeLine(lineAt(descriptor, offset, files)))
    const text = parts.map((part) => (part as unknown as { readonly text: string }).text).join('')
    if (Buffer.byteLength(text) === bytes && sha256(text) === $blob) return JSON.parse(text) as Json
    throw new BatonError('JOURNAL_FAILED', `${file} lacks a large value, or parts of it (${$blob.slice(0, 12)})`, {
      place: { file },
    })
  }

  return {
    async scan(visit) {
      blobs.clear()
      let number = 0
      let records = 0
      let isWhole = false
      for await (const lines of readLineBatches(file, files)) {
        for (const line of lines) {
          number += 1
          const head = readHead(line.bytes)
          if (head === undefined) throw number === 1 ? none(file) : damaged(file, number, line)
          if (number === 1 && head.k !== 'cassette') throw none(file)
          if (head.e === 0) {
            isWhole = own(head, line, records)
            continue
          }
          if (head.k === 'seg') assertReadable(line.bytes, file)
          records += 1
          visit(head, line.offset, false)
        }
      }
      if (!isWhole) throw number === 0 ? none(file) : cutOff(file, `its end is missing behind line ${number}`)
      return []
    },
    at(location) {
      const record = decodeLine(lineAt(descriptor, location, files))
      if (record !== undefined && isKnownRecord(record)) return record
      throw new BatonError('JOURNAL_FAILED', `${file} was changed while it was read`, { place: { file } })
    },
    value(field) {
      if (field === undefined) return undefined
      return decodeValue(isBlobReference(field) ? blobNow(field) : field, mask.unmask)
    },
    close: () => files.close(descriptor),
  }
}

function none(file: string): BatonError {
  return new BatonError('JOURNAL_FAILED', `${file} is not a cassette, or its first line is damaged`, {
    hint: 'A cassette is written by --record or baton runs export.',
    place: { file, line: 1 },
  })
}

function damaged(file: string, line: number, { offset }: Line): BatonError {
  return new BatonError(
    'JOURNAL_FAILED',
    `${file} is damaged: line ${line}, at byte ${offset}, is not as it was written`,
    {
      hint: 'Was it edited, or were its line ends changed? Record it again.',
      place: { file, line },
    },
  )
}

function cutOff(file: string, what: string): BatonError {
  return new BatonError('JOURNAL_FAILED', `${file} is not whole: ${what}`, {
    hint: 'It was cut off or put together. Record it again.',
    place: { file },
  })
}

function newer(file: string, version: number): BatonError {
  return new BatonError(
    'JOURNAL_FAILED',
    `${file} has format ${version}; this version reads up to ${cassetteVersion}`,
    {
      hint: 'It was written by a newer version of baton: use that one.',
      place: { file },
    },
  )
}
