import { join } from 'node:path'
import { BatonError, hasSystemCode, isBatonError, messageOf } from '../base/error.ts'
import { createHash, sha256 } from '../base/hash.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { jsonChunks } from '../base/json-pieces.ts'
import { randomName } from '../base/random-name.ts'
import type { FilePort } from './file-port.ts'
import type { PendingSyncs } from './pending-syncs.ts'
import { writeAll } from './transfer.ts'

/** Values whose JSON is larger than this many bytes stand in a file of their own. */
export const maxInlineBytes = 64 * 1024

/** What a record holds in place of a large value. */
export interface BlobReference extends JsonObject {
  /** SHA-256 of the file's bytes, and its name. */
  readonly $blob: string
  readonly bytes: number
}

export function isBlobReference(value: Json): value is BlobReference {
  return isJsonObject(value) && typeof value['$blob'] === 'string' && typeof value['bytes'] === 'number'
}

/** Where a run's blobs are, named by their content. */
export function blobFolder(runFolder: string): string {
  return join(runFolder, 'blobs')
}

/**
 * Writes the JSON of a large value, whose text is never made as a whole. `admit` is asked before bytes are written, and throws
 * when there may not be more. Throws the system error when the disk refuses.
 */
export type BlobWriter = (value: Json, admit: (bytes: number) => void) => BlobReference

/**
 * Each distinct value is written once per writer: temporary file, rename; the syncs of both are due before the next
 * durable record, so a blob is durable before a durable record names it. A file an earlier writer left is replaced,
 * because its content may have been lost with the machine's power.
 */
export function createBlobWriter(runFolder: string, files: FilePort, pending: PendingSyncs): BlobWriter {
  const folder = blobFolder(runFolder)
  const written = new Set<string>()
  return (value, admit) => {
    const { reference, chunks } = encoded(value)
    const { $blob: hash, bytes } = reference
    if (written.has(hash)) return reference
    if (written.size === 0) pending.makeFolder(folder)
    const file = join(folder, hash)
    admit(growth(files, file, bytes))
    putInPlace(files, file, (write) => {
      if (chunks === undefined) jsonChunks(value, 'as written', write)
      else for (const chunk of chunks) write(chunk)
    })
    pending.file(file)
    pending.folder(folder)
    written.add(hash)
    return reference
  }
}

/** JSON of at most so many bytes is kept until it is written; of more than that it is made again. */
const mostInMemory = 4 * 1024 * 1024

interface Encoded {
  readonly reference: BlobReference
  readonly chunks: readonly Buffer[] | undefined
}

/** Before anything is written: most values that are written again are large, and hashing them costs less than a file. */
function encoded(value: Json): Encoded {
  const hash = createHash('sha256')
  let bytes = 0
  let chunks: Buffer[] | undefined = []
  jsonChunks(value, 'as written', (chunk) => {
    hash.update(chunk)
    bytes += chunk.length
    if (bytes > mostInMemory) chunks = undefined
    chunks?.push(Buffer.from(chunk))
  })
  return { reference: { $blob: hash.digest('hex'), bytes }, chunks }
}

/** How many bytes more there are once a file has so many: one of an earlier writer is replaced. */
export function growth(files: FilePort, file: string, bytes: number): number {
  return Math.max(0, bytes - (files.size(file) ?? 0))
}

/** Puts a whole file in place. */
export function writeBlob(files: FilePort, file: string, bytes: Buffer): void {
  putInPlace(files, file, (write) => write(bytes))
}

function putInPlace(files: FilePort, file: string, fill: (write: (bytes: Uint8Array) => void) => void): void {
  const temporary = `${file}.${randomName()}.tmp`
  const descriptor = files.create(temporary)
  try {
    fill((bytes) => writeAll(files, descriptor, bytes))
  } finally {
    files.close(descriptor)
  }
  files.rename(temporary, file)
}

/**
 * The JSON a reference stands for. Synchronous, because observations are.
 * @throws BatonError JOURNAL_FAILED when the file is gone or is not what was written
 */
export function readBlob(runFolder: string, { $blob, bytes: size }: BlobReference, files: FilePort): Json {
  const file = join(blobFolder(runFolder), $blob)
  const bytes = readWhole(file, size, files)
  if (bytes.length === size && sha256(bytes) === $blob) return JSON.parse(bytes.toString('utf8')) as Json
  throw new BatonError('JOURNAL_FAILED', `${file}, which holds a recorded value, is not as it was written`, {
    hint: repairHint,
    place: { file },
  })
}

const repairHint = 'Resume with --repair: the part that it belongs to is done again, and paid again.'

/** Reads what a place has recorded, which the error for a damaged value names. */
export function valueAt<T>(place: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!isBatonError(error) || error.code !== 'JOURNAL_FAILED') throw error
    const { message, hint, place: file } = error
    throw new BatonError('JOURNAL_FAILED', `the record of ${place} is damaged: ${message}`, {
      ...(hint !== undefined && { hint }),
      ...(file !== undefined && { place: file }),
      cause: error,
    })
  }
}

function readWhole(file: string, size: number, files: FilePort): Buffer {
  try {
    const descriptor = files.openToRead(file)
    try {
      // one byte more than expected shows a file that has grown
      const target = Buffer.alloc(size + 1)
      let done = 0
      for (let count = 1; count > 0 && done < target.length; done += count) {
        count = files.readNow(descriptor, target.subarray(done), done)
      }
      return target.subarray(0, done)
    } finally {
      files.close(descriptor)
    }
  } catch (error) {
    throw unreadable(file, error)
  }
}

function unreadable(file: string, error: unknown): BatonError {
  const what = hasSystemCode(error, 'ENOENT') ? 'is missing' : `cannot be read: ${messageOf(error)}`
  return new BatonError('JOURNAL_FAILED', `${file}, which holds a recorded value, ${what}`, {
    hint: repairHint,
    place: { file },
    cause: error,
  })
}
