import { isUtf8 } from 'node:buffer'
import { join } from 'node:path'
import { hasSystemCode } from '../base/error.ts'
import { createHash, sha256 } from '../base/hash.ts'
import { randomName } from '../base/random-name.ts'
import { capture, unwrap } from './work-result.ts'
import { createSlices } from '../base/concurrency.ts'
import type { HashedContent, ContentToStore } from '../event/effects.ts'
import { blobFolder, growth, writeBlob } from './blobs.ts'
import type { FilePort } from './file-port.ts'
import type { PendingSyncs } from './pending-syncs.ts'
import type { SecretMask } from './secrets.ts'
import { writeAll } from './transfer.ts'

/** Files larger than this are copied by the system and never held in memory. */
const mostInMemory = 8 * 1024 * 1024
const chunkBytes = 1024 * 1024
/** A longer secret that spans two chunks of a large file is not found. */
const overlapBytes = 16 * 1024

interface Keeper {
  readonly keep: (content: ContentToStore) => void
  /**
   * Keeps a content in slices, unless it contains a secret or its hash has changed. Rejects with the reason of the
   * signal.
   */
  readonly keepAhead: (content: HashedContent, signal: AbortSignal) => Promise<void>
}

/**
 * Keeps contents of files next to the blobs of a run: raw bytes under their SHA-256. If a content contains a secret's
 * value, it is stored with the secret's name instead, under its own hash plus `.masked`, which shows whether it can be
 * restored; a large file with a secret is not kept. `admit` throws if that many more bytes are not allowed.
 */
export function createContentStore(
  runFolder: string,
  { mask }: SecretMask,
  {
    files,
    pending,
    admit,
  }: { readonly files: FilePort; readonly pending: PendingSyncs; readonly admit: (bytes: number) => void },
): Keeper {
  const folder = blobFolder(runFolder)
  const written = new Set<string>()

  function isNew(hash: string): boolean {
    if (written.has(hash)) return false
    if (written.size === 0) pending.makeFolder(folder)
    written.add(hash)
    return true
  }

  function noteWritten(file: string): void {
    pending.file(file)
    pending.folder(folder)
  }

  function keepBytes(bytes: Buffer): void {
    const hash = sha256(bytes)
    if (!isNew(hash)) return
    const masked = maskedBytes(bytes, mask)
    const file = join(folder, masked === bytes ? hash : `${hash}${maskedEnd}`)
    admit(growth(files, file, masked.length))
    writeBlob(files, file, masked)
    noteWritten(file)
  }

  function keepLarge(path: string): void {
    const temporary = join(folder, `${randomName()}.tmp`)
    if (written.size === 0) pending.makeFolder(folder)
    files.copy(path, temporary)
    const hash = hashUnlessSecret(temporary, mask, files)
    if (hash === undefined || !isNew(hash)) return files.remove(temporary)
    const file = join(folder, hash)
    const admitted = capture(() => admit(growth(files, file, files.size(temporary) ?? 0)))
    if (admitted.status === 'failed') files.remove(temporary)
    unwrap(admitted)
    files.rename(temporary, file)
    noteWritten(file)
  }

  /** A user file that cannot be read is not an error of the journal: it is not kept. */
  function readIfPossible(file: string): Buffer | 'large' | undefined {
    try {
      const isLarge = (files.size(file) ?? 0) > mostInMemory
      if (isLarge) files.close(files.openToRead(file))
      return isLarge ? 'large' : readFile(file, files)
    } catch {
      return undefined
    }
  }

  async function keepAhead(content: HashedContent, signal: AbortSignal): Promise<void> {
    const { hash } = content
    if (written.has(hash)) return
    if (written.size === 0) pending.makeFolder(folder)
    const temporary = join(folder, `${randomName()}.tmp`)
    try {
      if ((await copyUnlessSecret(content, temporary, { mask, files, signal })) !== hash || written.has(hash)) return
      const file = join(folder, hash)
      admit(growth(files, file, files.size(temporary) ?? 0))
      files.rename(temporary, file)
      written.add(hash)
      noteWritten(file)
    } finally {
      if (files.size(temporary) !== undefined) files.remove(temporary)
    }
  }

  return {
    keep(content) {
      if (content.hash !== undefined && written.has(content.hash)) return
      if ('bytes' in content) {
        const { bytes } = content
        return keepBytes(
          typeof bytes === 'string'
            ? Buffer.from(bytes)
            : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
        )
      }
      const bytes = readIfPossible(content.file)
      if (bytes === 'large') keepLarge(content.file)
      else if (bytes !== undefined) keepBytes(bytes)
    },
    keepAhead,
  }
}

const maskedEnd = '.masked'

function maskedBytes(bytes: Buffer, mask: SecretMask['mask']): Buffer {
  const encoding = isUtf8(bytes) ? 'utf8' : 'latin1'
  const text = bytes.toString(encoding)
  const masked = mask(text)
  return masked === text ? bytes : Buffer.from(masked, encoding)
}

function readFile(file: string, files: FilePort): Buffer {
  const chunks: Buffer[] = []
  // one byte more than the size, so that a single read gets all the content
  const size = Math.min(chunkBytes, (files.size(file) ?? 0) + 1)
  forChunks(file, files, { size, take: (chunk) => void chunks.push(Buffer.from(chunk)) })
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
}

/** The hash of a file; undefined if it contains a secret. */
function hashUnlessSecret(file: string, mask: SecretMask['mask'], files: FilePort): string | undefined {
  const seen = createSecretWatch(mask)
  forChunks(file, files, { size: chunkBytes, take: seen.take })
  return seen.hash()
}

interface SecretWatch {
  readonly take: (piece: Uint8Array) => void
  readonly isFree: () => boolean
  /** Undefined if the content contains a secret. */
  readonly hash: () => string | undefined
}

/** Hashes content that arrives in pieces, and looks for secrets in it. */
function createSecretWatch(mask: SecretMask['mask']): SecretWatch {
  const hash = createHash('sha256')
  let before = Buffer.alloc(0)
  let isFree = true
  return {
    take(piece) {
      hash.update(piece)
      const seen = Buffer.concat([before, piece])
      for (const encoding of ['latin1', 'utf8'] as const) {
        const text = seen.toString(encoding)
        if (mask(text) !== text) isFree = false
      }
      before = Buffer.from(seen.subarray(-overlapBytes))
    },
    isFree: () => isFree,
    hash: () => (isFree ? hash.digest('hex') : undefined),
  }
}

/** Small enough to be copied, hashed and searched for secrets without blocking other work. */
const pieceBytes = 128 * 1024

interface Copying {
  readonly mask: SecretMask['mask']
  readonly files: FilePort
  readonly signal: AbortSignal
}

/** Copies a content in slices, and returns its hash; undefined if it contains a secret or the file cannot be read. */
async function copyUnlessSecret(
  content: HashedContent,
  to: string,
  { mask, files, signal }: Copying,
): Promise<string | undefined> {
  const from = 'file' in content ? capture(() => files.openToRead(content.file)) : undefined
  if (from?.status === 'failed') return undefined
  const descriptor = files.create(to)
  try {
    const buffer = Buffer.allocUnsafe(pieceBytes)
    const pieceAt = (position: number): Uint8Array => {
      if ('bytes' in content) return content.bytes.subarray(position, position + pieceBytes)
      return buffer.subarray(0, files.readNow(from?.value as number, buffer, position))
    }
    const seen = createSecretWatch(mask)
    const slices = createSlices()
    let position = 0
    for (let piece = pieceAt(0); piece.length > 0 && seen.isFree(); piece = pieceAt(position)) {
      seen.take(piece)
      writeAll(files, descriptor, piece)
      position += piece.length
      const pause = slices.pass(signal)
      if (pause !== undefined) await pause
    }
    return seen.hash()
  } finally {
    files.close(descriptor)
    if (from !== undefined) files.close(from.value)
  }
}

/** Reads a file in pieces of at most `size` bytes. A piece is only valid until `take` returns. */
function forChunks(
  file: string,
  files: FilePort,
  { size, take }: { readonly size: number; readonly take: (chunk: Buffer) => void },
): void {
  const descriptor = files.openToRead(file)
  try {
    const chunk = Buffer.allocUnsafe(size)
    for (let position = 0; ;) {
      const count = files.readNow(descriptor, chunk, position)
      if (count === 0) return
      take(chunk.subarray(0, count))
      position += count
    }
  } finally {
    files.close(descriptor)
  }
}

/** A kept content: the file with its bytes, or the bytes with secrets restored. */
export type StoredContent =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  /** It contained secrets that are not set now, or have changed since. */
  | { readonly kind: 'masked'; readonly bytes: Buffer }
  | { readonly kind: 'missing' }

/** Looks for a kept content by its hash. The caller has to verify the content against the hash. */
export function findStoredContent(
  runFolder: string,
  hash: string,
  { unmask }: Pick<SecretMask, 'unmask'>,
  files: FilePort,
): StoredContent {
  const file = join(blobFolder(runFolder), hash)
  if (files.size(file) !== undefined) return { kind: 'file', file }
  try {
    const bytes = readFile(`${file}${maskedEnd}`, files)
    for (const encoding of ['utf8', 'latin1'] as const) {
      const restored = Buffer.from(unmask(bytes.toString(encoding)), encoding)
      if (sha256(restored) === hash) return { kind: 'bytes', bytes: restored }
    }
    return { kind: 'masked', bytes }
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT')) return { kind: 'missing' }
    throw error
  }
}

/** The bytes of a kept content as stored, with secrets by name; undefined: it does not exist. */
export function readMaskedContent(runFolder: string, hash: string, files: FilePort): Buffer | undefined {
  const file = join(blobFolder(runFolder), hash)
  const found = [file, `${file}${maskedEnd}`].find((one) => files.size(one) !== undefined)
  return found === undefined ? undefined : readFile(found, files)
}

/**
 * The bytes of a kept content, which must fit into memory; secrets that have changed are left as names. Undefined: it
 * does not exist.
 */
export function readStoredContent(
  runFolder: string,
  hash: string,
  mask: Pick<SecretMask, 'unmask'>,
  files: FilePort,
): Buffer | undefined {
  const found = findStoredContent(runFolder, hash, mask, files)
  switch (found.kind) {
    case 'file': {
      const bytes = readFile(found.file, files)
      return sha256(bytes) === hash ? bytes : undefined
    }
    case 'bytes':
    case 'masked':
      return found.bytes
    case 'missing':
      return undefined
  }
}
