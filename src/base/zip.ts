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
} from './archive-entry.ts'
import { messageOf } from './error.ts'
import { readZipDirectory, type ZipEntry } from './zip-directory.ts'

export interface ZipOptions {
  /** What the archive is called in messages. */
  readonly archive: string
  readonly limits?: ArchiveLimits
}

/** A zip file whose directory was read, and whose entries lie behind each other as they should. */
export interface ZipArchive {
  readonly archive: string
  readonly limits: ArchiveLimits
  readonly bytes: Buffer
  /** In the order of the archive, as they are stored: nothing is checked but that they can be read. */
  readonly entries: readonly ZipEntry[]
  /** Where the content of each begins. */
  readonly contents: ReadonlyMap<ZipEntry, number>
}

/**
 * Reads the directory of a zip file (issue F "Guards"). Nothing is unpacked.
 * @throws BatonError FILE_FAILED for what is no zip file, is damaged, has too many entries, or entries that overlap or
 * are named otherwise where they lie
 */
export function openZip(content: Uint8Array, { archive, limits = archiveLimits }: ZipOptions): ZipArchive {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const { entries, start } = readZipDirectory({ bytes, archive, mostEntries: limits.entries })
  const contents = new Map<ZipEntry, number>()
  let free = 0
  let before = ''
  for (const entry of entries.toSorted((a, b) => a.start - b.start)) {
    if (entry.start < free) throw refusedEntry(archive, entry.name, `lies in the content of "${before}"`)
    const at = contentStart(bytes, entry)
    if (at === undefined) throw refusedEntry(archive, entry.name, 'is named otherwise where its content is')
    free = at + entry.packed
    before = entry.name
    if (free > start) throw refusedEntry(archive, entry.name, 'has content that is cut off')
    contents.set(entry, at)
  }
  return { archive, limits, bytes, entries, contents }
}

/** Where the content of an entry begins, behind its local header; undefined when that is not the one of this entry. */
function contentStart(bytes: Buffer, { start, rawName }: ZipEntry): number | undefined {
  if (start + 30 > bytes.length || bytes.readUInt32LE(start) !== 0x04034b50) return undefined
  const nameEnd = start + 30 + bytes.readUInt16LE(start + 26)
  if (!bytes.subarray(start + 30, nameEnd).equals(rawName)) return undefined
  return nameEnd + bytes.readUInt16LE(start + 28)
}

/**
 * The content of one entry. What is declared of it must be so: size and checksum.
 * @throws BatonError FILE_FAILED that names the entry, also when it is too large, encrypted, or packed in another way
 * than deflate
 */
export function readZipEntry(zip: ZipArchive, entry: ZipEntry): Uint8Array {
  const { archive, limits } = zip
  checkSizes([entry], { archive, limits })
  if (entry.isEncrypted) throw refusedEntry(archive, entry.name, 'is encrypted, and cannot be read')
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

/** Stops where more comes out than is declared, whatever that costs to pack. */
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
 * The entries of an archive that may be unpacked, in its order, once all of it was checked: names and sizes as
 * `checkEntries` has it, then the content of each by unpacking it into nothing. So an archive that is bad anywhere is
 * refused before the first file is written. `wants` picks entries by their paths; the others are checked as well, but
 * their content is not looked at.
 * @throws BatonError FILE_FAILED; the reason of the signal when it is aborted
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

/** After so many bytes others have their turn. */
const turnBytes = 4 * 1024 * 1024

/** Refuses files that are too large to be an archive, before they are read. @throws BatonError FILE_FAILED */
export function checkArchiveFile(size: number, { archive, limits = archiveLimits }: ZipOptions): void {
  if (size > limits.totalBytes) throw refused(archive, `has ${size} bytes; at most ${limits.totalBytes} are read`)
}
