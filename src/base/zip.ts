import { crc32, inflateRawSync } from 'node:zlib'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type ArchiveLimits,
  archiveLimits,
  checkEntries,
  checkSizes,
  refused,
  refusedEntry,
  type SafeEntry,
} from './archive.ts'
import { messageOf } from './error.ts'
import { readZipDirectory, type ZipEntry } from './zip-directory.ts'

export interface ZipOptions {
  /** Name of the archive in messages. */
  readonly archive: string
  readonly limits?: ArchiveLimits
}

/** A zip file whose directory was read, and whose entries do not overlap. */
export interface ZipArchive {
  readonly archive: string
  readonly limits: ArchiveLimits
  readonly bytes: Buffer
  /** In archive order, as stored; names and sizes are not checked. */
  readonly entries: readonly ZipEntry[]
  /** The offset of the content of each entry. */
  readonly contents: ReadonlyMap<ZipEntry, number>
}

/**
 * Reads the directory of a zip file. Nothing is unpacked.
 * @throws BatonError FILE_FAILED if it is not an intact zip file, has too many entries, entries that overlap, or names
 * that differ in the local header
 */
export function openZip(content: Uint8Array, { archive, limits = archiveLimits }: ZipOptions): ZipArchive {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const { entries, start } = readZipDirectory({ bytes, archive, maxEntries: limits.entries })
  const contents = new Map<ZipEntry, number>()
  let free = 0
  let before = ''
  for (const entry of entries.toSorted((a, b) => a.start - b.start)) {
    if (entry.start < free) throw refusedEntry(archive, entry.name, `overlaps the content of "${before}"`)
    const at = contentStart(bytes, entry)
    if (at === undefined) throw refusedEntry(archive, entry.name, 'has a different name in its local header')
    free = at + entry.packed
    before = entry.name
    if (free > start) throw refusedEntry(archive, entry.name, 'has truncated content')
    contents.set(entry, at)
  }
  return { archive, limits, bytes, entries, contents }
}

/** The offset of the content of an entry, after its local header; undefined if that belongs to another entry. */
function contentStart(bytes: Buffer, { start, rawName }: ZipEntry): number | undefined {
  if (start + 30 > bytes.length || bytes.readUInt32LE(start) !== 0x04034b50) return undefined
  const nameEnd = start + 30 + bytes.readUInt16LE(start + 26)
  if (!bytes.subarray(start + 30, nameEnd).equals(rawName)) return undefined
  return nameEnd + bytes.readUInt16LE(start + 28)
}

/**
 * The content of one entry, whose size and checksum must be as declared.
 * @throws BatonError FILE_FAILED that names the entry, also if it is too large, encrypted, or not compressed with
 * deflate
 */
export function readZipEntry(zip: ZipArchive, entry: ZipEntry): Uint8Array {
  const { archive, limits } = zip
  checkSizes([entry], { archive, limits })
  if (entry.isEncrypted) throw refusedEntry(archive, entry.name, 'is encrypted, which is not supported')
  const content = unpacked(zip, entry)
  if (content.length !== entry.size) {
    throw refusedEntry(archive, entry.name, `has ${content.length} bytes, but declares ${entry.size}`)
  }
  if (crc32(content) !== entry.crc) throw refusedEntry(archive, entry.name, 'is damaged: its checksum is wrong')
  return content
}

function unpacked({ archive, bytes, contents }: ZipArchive, entry: ZipEntry): Uint8Array {
  const start = contents.get(entry) ?? 0
  const packed = bytes.subarray(start, start + entry.packed)
  switch (entry.method) {
    case 0:
      return packed
    case 8:
      return inflated(packed, entry, archive)
    default:
      throw refusedEntry(archive, entry.name, `is packed with method ${entry.method}; only deflate can be read`)
  }
}

/** Stops as soon as more comes out than is declared. */
function inflated(packed: Uint8Array, { name, size }: ZipEntry, archive: string): Uint8Array {
  try {
    return inflateRawSync(packed, { maxOutputLength: size + 1 })
  } catch (error) {
    const isLarger = error instanceof RangeError
    const problem = isLarger ? `has more than the ${size} bytes it declares` : `is damaged: ${messageOf(error)}`
    throw refusedEntry(archive, name, problem)
  }
}

/**
 * Checks an archive before the first file is written, and returns its entries in order: names and sizes by
 * `checkEntries`, then the content of each by unpacking it in memory. `wants` selects entries by their paths; of the
 * others only names and sizes are checked.
 * @throws BatonError FILE_FAILED; the signal's reason if it is aborted
 */
export async function checkZip(
  zip: ZipArchive,
  signal: AbortSignal,
  wants: (path: string) => boolean = () => true,
): Promise<readonly SafeEntry<ZipEntry>[]> {
  const entries = checkEntries(zip.entries, zip).filter(({ path }) => wants(path))
  let done = 0
  for (const { entry } of entries) {
    done += readZipEntry(zip, entry).length
    if (done < turnBytes) continue
    done = 0
    await nextTurn(undefined, { signal })
  }
  signal.throwIfAborted()
  return entries
}

/** Unpacked bytes after which the event loop gets a turn. */
const turnBytes = 4 * 1024 * 1024

/** Refuses files that are too large, before they are read. @throws BatonError FILE_FAILED */
export function checkArchiveFile(size: number, { archive, limits = archiveLimits }: ZipOptions): void {
  if (size > limits.totalBytes) throw refused(archive, `has ${size} bytes; at most ${limits.totalBytes} are read`)
}
