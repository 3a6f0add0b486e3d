import { join } from 'node:path'
import { BatonError, hasSystemCode, isBatonError, messageOf } from '../base/error.ts'
import { createHash, sha256 } from '../base/hash.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { jsonChunks } from '../base/json-pieces.ts'
import { randomName } from '../base/random-name.ts'
import type { FilePort } from './file-port.ts'
import type { PendingSyncs } from './pending-syncs.ts'
import { writeAll } from './transfer.ts'

/** Values whose JSON is larger than this many bytes are stored in separate files. */
export const maxInlineBytes = 64 * 1024

/** What a record contains instead of a large value. */
export interface BlobReference extends JsonObject {
  /** SHA-256 of the file's bytes, and its name. */
  readonly $blob: string
  readonly bytes: number
}

export function isBlobReference(value: Json): value is BlobReference {
  return isJsonObject(value) && typeof value['$blob'] === 'string' && typeof value['bytes'] === 'number'
}

/** The folder of a run's blobs, which are named by their content hash. */
export function blobFolder(runFolder: string): string {
  return join(runFolder, 'blobs')
}

/**
 * Writes the JSON of a large value without building its whole text. `admit` is called before bytes are written, and
 * throws if no more are allowed. Throws the system error if writing fails.
 */
export type BlobWriter = (value: Json, admit: (bytes: number) => void) => BlobReference

/**
 * Each distinct value is written once per writer, with a temporary file and a rename. Both syncs are due before the
 * next durable record, so a blob is durable before a durable record refers to it. A file left by an earlier writer is
 * replaced, because its content may have been lost in a power failure.
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

/** JSON up to this many bytes is kept in memory until it is written; larger JSON is generated a second time. */
const mostInMemory = 4 * 1024 * 1024

interface Encoded {
  readonly reference: BlobReference
  readonly chunks: readonly Buffer[] | undefined
}

/**
 * Hashes before anything is written: most values that occur again are large, and hashing is cheaper than writing a
 * file.
 */
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

/** How many bytes are added if a file gets this size: a file of an earlier writer is replaced. */
export function growth(files: FilePort, file: string, bytes: number): number {
  return Math.max(0, bytes - (files.size(file) ?? 0))
}

/** Writes a whole file atomically. */
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
 * The JSON that a reference stands for. Synchronous, because observations are.
 * @throws BatonError JOURNAL_FAILED if the file is missing or corrupt
 */
export function readBlob(runFolder: string, { $blob, bytes: size }: BlobReference, files: FilePort): Json {
  const file = join(blobFolder(runFolder), $blob)
  const bytes = readWhole(file, size, files)
  if (bytes.length === size && sha256(bytes) === $blob) return JSON.parse(bytes.toString('utf8')) as Json
  throw new BatonError('JOURNAL_FAILED', `${file}, which holds a recorded value, is corrupt`, {
    hint: repairHint,
    place: { file },
  })
}

const repairHint = 'Resume with --repair: the part that it belongs to is repeated, and paid for again.'

/** Reads a recorded value; the error for a damaged one names its place. */
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
      // one byte more than expected, to detect a file that has grown
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
