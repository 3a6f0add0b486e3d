import { crc32, deflateRawSync } from 'node:zlib'

/** An entry of a zip file built byte by byte; the given values are written even if they are wrong. */
export interface RawEntry {
  readonly name: string | Uint8Array
  readonly data?: string | Uint8Array
  /** 0 unless given; 8 packs the data. */
  readonly method?: number
  /** Written as the packed data. */
  readonly packed?: Uint8Array
  readonly crc?: number
  readonly size?: number
  readonly packedSize?: number
  readonly flags?: number
  /** 3, Unix, unless given. */
  readonly host?: number
  /** A Unix mode, with its type. */
  readonly mode?: number
  readonly localName?: string
  /** The start of the entry according to the directory. */
  readonly start?: number
  readonly extra?: Uint8Array
}

export interface RawZipOptions {
  readonly comment?: string
  readonly count?: number
  readonly disk?: number
  /** With 64-bit end records, and their numbers omitted from the usual record. */
  readonly isLong?: boolean
}

export function rawZip(entries: readonly RawEntry[], options: RawZipOptions = {}): Buffer {
  const { comment = '', count = entries.length, disk = 0, isLong = false } = options
  const contents: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const entry of entries) {
    const { local, central } = rawEntry(entry, at)
    contents.push(local)
    directory.push(central)
    at += local.length
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0)
  const tail = isLong ? longEnd({ count, size, start: at }) : []
  const end = record(22, [
    [0, 4, 0x06054b50],
    [4, 2, disk],
    [6, 2, disk],
    [8, 2, isLong ? 0xffff : count],
    [10, 2, isLong ? 0xffff : count],
    [12, 4, isLong ? 0xffffffff : size],
    [16, 4, isLong ? 0xffffffff : at],
    [20, 2, Buffer.byteLength(comment)],
  ])
  return Buffer.concat([...contents, ...directory, ...tail, end, Buffer.from(comment)])
}

/** The content of a field with 64-bit numbers: size, packed size, offset, as far as they are omitted elsewhere. */
export function longField(...numbers: readonly number[]): Buffer {
  const field = Buffer.alloc(4 + numbers.length * 8)
  field.writeUInt16LE(1, 0)
  field.writeUInt16LE(numbers.length * 8, 2)
  for (const [index, number] of numbers.entries()) field.writeBigUInt64LE(BigInt(number), 4 + index * 8)
  return field
}

function rawEntry(entry: RawEntry, at: number): { readonly local: Buffer; readonly central: Buffer } {
  const { method = 0, flags = 0x800, host = 3, mode = 0, extra = new Uint8Array() } = entry
  const data = Buffer.from(entry.data ?? '')
  const packed = Buffer.from(entry.packed ?? (method === 8 ? deflateRawSync(data) : data))
  const name = Buffer.from(entry.name)
  const localName = entry.localName === undefined ? name : Buffer.from(entry.localName)
  const { crc = crc32(data), size = data.length, packedSize = packed.length, start = at } = entry
  const shared = (offset: number): Field[] => [
    [offset, 2, 20],
    [offset + 2, 2, flags],
    [offset + 4, 2, method],
    [offset + 10, 4, crc],
    [offset + 14, 4, packedSize],
    [offset + 18, 4, size],
  ]
  const local = record(30, [[0, 4, 0x04034b50], ...shared(4), [26, 2, localName.length]])
  const central = record(46, [
    [0, 4, 0x02014b50],
    [4, 2, (host << 8) | 20],
    ...shared(6),
    [28, 2, name.length],
    [30, 2, extra.length],
    [38, 4, (mode << 16) >>> 0],
    [42, 4, start],
  ])
  return { local: Buffer.concat([local, localName, packed]), central: Buffer.concat([central, name, extra]) }
}

function longEnd({ count, size, start }: { readonly count: number; readonly size: number; readonly start: number }) {
  const end = record(56, [
    [0, 4, 0x06064b50],
    [4, 4, 44],
    [24, 4, count],
    [32, 4, count],
    [40, 4, size],
    [48, 4, start],
  ])
  const locator = record(20, [
    [0, 4, 0x07064b50],
    [8, 4, start + size],
    [16, 4, 1],
  ])
  return [end, locator]
}

type Field = readonly [offset: number, bytes: 2 | 4, value: number]

function record(length: number, fields: readonly Field[]): Buffer {
  const bytes = Buffer.alloc(length)
  for (const [offset, size, value] of fields) bytes.writeUIntLE(value, offset, size)
  return bytes
}
