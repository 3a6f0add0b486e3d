import type { ArchiveEntry } from './archive-entry.ts'
import { refused, refusedEntry } from './archive-entry.ts'
import { decodeZipName } from './zip-name.ts'

/** An entry as the directory of a zip file describes it. */
export interface ZipEntry extends ArchiveEntry {
  /** The name as it is stored. */
  readonly rawName: Uint8Array
  /** 0: as it is, 8: deflate. */
  readonly method: number
  readonly isEncrypted: boolean
  /** By its Unix mode; archives made elsewhere have none. */
  readonly isExecutable: boolean
  readonly crc: number
  /** Where its local header begins. */
  readonly start: number
}

export interface ZipDirectory {
  /** In the order of the archive. */
  readonly entries: readonly ZipEntry[]
  /** Where the directory begins: all content lies before. */
  readonly start: number
}

interface Zip {
  readonly bytes: Buffer
  readonly archive: string
  /** More entries are not even read. */
  readonly mostEntries: number
}

const signature = { entry: 0x02014b50, end: 0x06054b50, end64: 0x06064b50, locator64: 0x07064b50 }
const unknown16 = 0xffff
const unknown32 = 0xffffffff

/**
 * Reads the directory at the end of a zip file, also with 64-bit sizes. Our own code because libraries do not tell what
 * a check needs: whether an entry is a link, where it lies, and whether it is encrypted.
 * @throws BatonError FILE_FAILED for what is no zip file, cut off, in several parts, or does not fit together
 */
export function readZipDirectory(zip: Zip): ZipDirectory {
  const { bytes, archive, mostEntries } = zip
  const { count, start, size, end } = directoryPlace(zip)
  if (count > mostEntries) throw refused(archive, `has ${count} entries; at most ${mostEntries} are unpacked`)
  if (start + size !== end) throw refused(archive, 'is damaged: its directory is not where it should be')
  const entries: ZipEntry[] = []
  let at = start
  for (let index = 0; index < count; index += 1) {
    if (at + 46 > end || bytes.readUInt32LE(at) !== signature.entry) {
      throw refused(archive, `is damaged: its directory ends after ${index} of ${count} entries`)
    }
    const length = 46 + [28, 30, 32].reduce((sum, offset) => sum + bytes.readUInt16LE(at + offset), 0)
    if (at + length > end) throw refused(archive, `is damaged: its directory is cut off in entry ${index + 1}`)
    entries.push(readEntry(bytes.subarray(at, at + length), archive))
    at += length
  }
  if (at !== end) throw refused(archive, `is damaged: its directory holds more than its ${count} entries`)
  return { entries, start }
}

interface DirectoryPlace {
  readonly count: number
  readonly start: number
  readonly size: number
  /** Where what comes behind the directory begins. */
  readonly end: number
}

function directoryPlace(zip: Zip): DirectoryPlace {
  const { bytes, archive } = zip
  const end = endRecord(bytes)
  if (end === undefined) throw refused(archive, 'is not a zip archive, or is cut off')
  const disks = [bytes.readUInt16LE(end + 4), bytes.readUInt16LE(end + 6)]
  const count = bytes.readUInt16LE(end + 10)
  const size = bytes.readUInt32LE(end + 12)
  const start = bytes.readUInt32LE(end + 16)
  const locator = end - 20
  const isLong = locator >= 0 && bytes.readUInt32LE(locator) === signature.locator64
  if (isLong && (count === unknown16 || size === unknown32 || start === unknown32)) return longPlace(zip, locator)
  if (disks.some((disk) => disk !== 0) || bytes.readUInt16LE(end + 8) !== count) {
    throw refused(archive, 'is one of several parts, which cannot be read')
  }
  return { count, size, start, end }
}

/** The last end record whose comment ends with the file. */
function endRecord(bytes: Buffer): number | undefined {
  for (let at = bytes.length - 22; at >= 0 && at >= bytes.length - 22 - 0xffff; at -= 1) {
    const isEnd = bytes.readUInt32LE(at) === signature.end
    if (isEnd && at + 22 + bytes.readUInt16LE(at + 20) === bytes.length) return at
  }
  return undefined
}

function longPlace({ bytes, archive }: Zip, locator: number): DirectoryPlace {
  const end = safeNumber(bytes.readBigUInt64LE(locator + 8))
  if (end === undefined || end + 56 > locator || bytes.readUInt32LE(end) !== signature.end64) {
    throw refused(archive, 'is damaged: its 64-bit end record is not where it should be')
  }
  const [count, size, start] = [32, 40, 48].map((offset) => safeNumber(bytes.readBigUInt64LE(end + offset)))
  const disks = [bytes.readUInt32LE(end + 16), bytes.readUInt32LE(end + 20), bytes.readUInt32LE(locator + 4)]
  if (disks.some((disk) => disk !== 0)) throw refused(archive, 'is one of several parts, which cannot be read')
  if (count === undefined || size === undefined || start === undefined) {
    throw refused(archive, 'is damaged: its 64-bit end record holds impossible numbers')
  }
  return { count, size, start, end }
}

function safeNumber(value: bigint): number | undefined {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : undefined
}

function readEntry(bytes: Buffer, archive: string): ZipEntry {
  const host = bytes.readUInt8(5)
  const flags = bytes.readUInt16LE(8)
  const nameEnd = 46 + bytes.readUInt16LE(28)
  const rawName = bytes.subarray(46, nameEnd)
  const name = decodeZipName(rawName, { host, isUtf8: (flags & 0x800) !== 0 })
  if (name === undefined) throw refusedEntry(archive, rawName.toString('latin1'), 'has a name that is not UTF-8')
  const extra = bytes.subarray(nameEnd, nameEnd + bytes.readUInt16LE(30))
  const sizes = longSizes(
    [24, 20, 42].map((offset) => bytes.readUInt32LE(offset)),
    extra,
  )
  const [size, packed, start] = sizes ?? []
  if (size === undefined || packed === undefined || start === undefined) {
    throw refusedEntry(archive, name, 'has sizes that are missing or impossible')
  }
  const isEncrypted = (flags & 0x2041) !== 0
  const attributes = bytes.readUInt32LE(38)
  const isExecutable = ((attributes >>> 16) & 0o100) !== 0
  const entry = { name, rawName, size, packed, start, isEncrypted, isExecutable, crc: bytes.readUInt32LE(16) }
  return { ...entry, kind: kindOf(name, attributes), method: bytes.readUInt16LE(10) }
}

/** Those of the three (size, packed size, offset) that do not fit into 32 bits stand in an extra field, in this order. */
function longSizes(short: readonly number[], extra: Buffer): readonly (number | undefined)[] | undefined {
  if (!short.includes(unknown32)) return short
  const field = extraField(extra, 1)
  if (field === undefined) return undefined
  let at = 0
  return short.map((value) => {
    if (value !== unknown32) return value
    at += 8
    return at > field.length ? undefined : safeNumber(field.readBigUInt64LE(at - 8))
  })
}

function extraField(extra: Buffer, id: number): Buffer | undefined {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    const end = at + 4 + extra.readUInt16LE(at + 2)
    if (extra.readUInt16LE(at) === id) return end > extra.length ? undefined : extra.subarray(at + 4, end)
  }
  return undefined
}

/** Of the attributes, the upper half is a Unix mode when one is given, the lower those of DOS. */
function kindOf(name: string, attributes: number): ZipEntry['kind'] {
  switch (attributes >>> 28) {
    case 0:
      return name.endsWith('/') || (attributes & 0x10) !== 0 ? 'folder' : 'file'
    case 4:
      return 'folder'
    case 8:
      return name.endsWith('/') ? 'folder' : 'file'
    case 10:
      return 'link'
    default:
      return 'device'
  }
}
