import { type ArchiveEntry, refused, refusedEntry } from './archive.ts'

/** An entry as the central directory of a zip file describes it. */
export interface ZipEntry extends ArchiveEntry {
  /** The name as stored. */
  readonly rawName: Uint8Array
  /** 0: stored, 8: deflate. */
  readonly method: number
  readonly isEncrypted: boolean
  /** By its Unix mode; false for archives from other systems. */
  readonly isExecutable: boolean
  readonly crc: number
  /** Offset of its local header. */
  readonly start: number
}

export interface ZipDirectory {
  /** In archive order. */
  readonly entries: readonly ZipEntry[]
  /** Offset of the directory: all content lies before it. */
  readonly start: number
}

interface Zip {
  readonly bytes: Buffer
  readonly archive: string
  /** An archive that declares more is refused before its entries are read. */
  readonly maxEntries: number
}

const signature = { entry: 0x02014b50, end: 0x06054b50, end64: 0x06064b50, locator64: 0x07064b50 }
const multiPart = 'is part of a multi-part archive, which is not supported'
const unknown16 = 0xffff
const unknown32 = 0xffffffff

/**
 * Reads the central directory of a zip file, also with 64-bit sizes. Our own code, because libraries accept archives
 * that are refused here (docs/decisions/2026-11-22-libraries-for-small-formats.md).
 * @throws BatonError FILE_FAILED unless it is a whole, consistent zip file in one part
 */
export function readZipDirectory(zip: Zip): ZipDirectory {
  const { bytes, archive, maxEntries } = zip
  const { count, start, size, end } = directoryPlace(zip)
  if (count > maxEntries) throw refused(archive, `has ${count} entries; at most ${maxEntries} are unpacked`)
  if (start + size !== end) throw refused(archive, 'is damaged: its directory is not where it should be')
  const entries: ZipEntry[] = []
  let at = start
  for (let index = 0; index < count; index += 1) {
    if (at + 46 > end || bytes.readUInt32LE(at) !== signature.entry) {
      throw refused(archive, `is damaged: its directory ends after ${index} of ${count} entries`)
    }
    const length = 46 + [28, 30, 32].reduce((sum, offset) => sum + bytes.readUInt16LE(at + offset), 0)
    if (at + length > end) throw refused(archive, `is damaged: its directory is truncated in entry ${index + 1}`)
    entries.push(readEntry(bytes.subarray(at, at + length), archive))
    at += length
  }
  if (at !== end) throw refused(archive, `is damaged: its directory has more than the declared ${count} entries`)
  return { entries, start }
}

interface DirectoryPlace {
  readonly count: number
  readonly start: number
  readonly size: number
  /** Offset of what follows the directory. */
  readonly end: number
}

function directoryPlace(zip: Zip): DirectoryPlace {
  const { bytes, archive } = zip
  const end = endRecord(bytes)
  if (end === undefined) throw refused(archive, 'is not a zip archive, or is truncated')
  const disks = [bytes.readUInt16LE(end + 4), bytes.readUInt16LE(end + 6)]
  const count = bytes.readUInt16LE(end + 10)
  const size = bytes.readUInt32LE(end + 12)
  const start = bytes.readUInt32LE(end + 16)
  const locator = end - 20
  const isLong = locator >= 0 && bytes.readUInt32LE(locator) === signature.locator64
  if (isLong && (count === unknown16 || size === unknown32 || start === unknown32)) return longPlace(zip, locator)
  if (disks.some((disk) => disk !== 0) || bytes.readUInt16LE(end + 8) !== count) {
    throw refused(archive, multiPart)
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
  if (disks.some((disk) => disk !== 0)) throw refused(archive, multiPart)
  if (count === undefined || size === undefined || start === undefined) {
    throw refused(archive, 'is damaged: its 64-bit end record has impossible numbers')
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
  const name = decodeName(rawName, { host, isUtf8: (flags & 0x800) !== 0 })
  if (name === undefined) throw refusedEntry(archive, rawName.toString('latin1'), 'has a name that is not UTF-8')
  const extra = bytes.subarray(nameEnd, nameEnd + bytes.readUInt16LE(30))
  const short = [24, 20, 42].map((offset) => bytes.readUInt32LE(offset))
  const [size, packed, start] = longSizes(short, extra) ?? []
  if (size === undefined || packed === undefined || start === undefined) {
    throw refusedEntry(archive, name, 'has sizes that are missing or impossible')
  }
  const isEncrypted = (flags & 0x2041) !== 0
  const attributes = bytes.readUInt32LE(38)
  const isExecutable = ((attributes >>> 16) & 0o100) !== 0
  const entry = { name, rawName, size, packed, start, isEncrypted, isExecutable, crc: bytes.readUInt32LE(16) }
  return { ...entry, kind: kindOf(name, attributes), method: bytes.readUInt16LE(10) }
}

/**
 * Fields of the three (size, packed size, offset) that do not fit into 32 bits are in an extra field, in this order.
 */
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

/** The upper half of the attributes is a Unix mode or 0, the lower half DOS attributes. */
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

/** Bytes 128 to 255 of code page 437, the encoding of zip names before UTF-8. */
const codePage437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀' +
  'αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0'

/** Systems whose tools have used `\` between folders: DOS, OS/2, NTFS, VFAT. */
const backslashHosts: ReadonlySet<number> = new Set([0, 6, 10, 14])

interface NameOrigin {
  /** The system the entry was made on, by its number in the zip format. */
  readonly host: number
  /** The entry says that its name is UTF-8. */
  readonly isUtf8: boolean
}

/**
 * The name of an entry as text. Names of unknown encoding are UTF-8 when they are valid UTF-8, as most tools write them,
 * else code page 437. In a name from Windows or DOS that has `\` and no `/`, the `\` separates folders.
 * Undefined when a name is declared to be UTF-8 and is not.
 */
function decodeName(bytes: Uint8Array, { host, isUtf8 }: NameOrigin): string | undefined {
  const name = utf8(bytes) ?? (isUtf8 ? undefined : oldName(bytes))
  if (name === undefined || name.includes('/') || !backslashHosts.has(host)) return name
  return name.replaceAll('\\', '/')
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function oldName(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('latin1')
    .replaceAll(/[\x80-\xff]/g, (character) => codePage437.charAt(character.charCodeAt(0) - 128))
}
