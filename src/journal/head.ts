import { crc32 } from 'node:zlib'
import { decodeLine, type UnknownRecord } from './record.ts'

/** What an index needs of a record, read without parsing its values. */
export interface Head {
  readonly e: number
  readonly n: number
  readonly k: string
  /** Empty for records without a place. */
  readonly p: string
  /** Text of the record from behind its place on, as far as it was looked at. */
  readonly rest: string
}

/** Text behind the place that is looked at: the fields the journal itself gives values to are there. */
const restBytes = 512
/** A record whose place does not end within this many bytes is parsed as a whole. */
const headBytes = 1024
const jsonStart = 9

const quote = 34

/**
 * The head of a line without its line feed; undefined when a single bit of it is not as it was written. A line whose
 * fields do not stand in the order of `recordJson`, or whose place is written with escapes, is parsed.
 */
export function readHead(line: Buffer): Head | undefined {
  if (line.length <= jsonStart || line[8] !== 32) return undefined
  if (checksumIn(line) !== crc32(line.subarray(jsonStart))) return undefined
  return scannedHead(line) ?? parsedHead(line)
}

/** The eight lower case hex digits at the beginning; undefined for anything else. */
function checksumIn(line: Buffer): number | undefined {
  let sum = 0
  for (let index = 0; index < 8; index += 1) {
    const code = line[index] ?? 0
    const digit = code >= 48 && code <= 57 ? code - 48 : code >= 97 && code <= 102 ? code - 87 : undefined
    if (digit === undefined) return undefined
    sum = sum * 16 + digit
  }
  return sum
}

const startPattern = /^\{"e":(\d+),"n":(\d+),"t":\d+,"k":"([a-z.]+)"(,"p":")?/
/** The longest beginning that fits the pattern: three numbers and a kind. */
const startBytes = 120

function scannedHead(line: Buffer): Head | undefined {
  const [start, e, n, k, placed] = startPattern.exec(line.toString('latin1', jsonStart, jsonStart + startBytes)) ?? []
  if (start === undefined || e === undefined || n === undefined || k === undefined) return undefined
  const begin = jsonStart + start.length
  if (placed === undefined) {
    return k === 'seg' ? { e: Number(e), n: Number(n), k, p: '', rest: restOf(line, begin) } : undefined
  }
  const end = line.indexOf(quote, begin)
  if (end === -1 || end > headBytes) return undefined
  const p = line.toString('utf8', begin, end)
  if (p.includes('\\')) return undefined
  return { e: Number(e), n: Number(n), k, p, rest: restOf(line, end + 1) }
}

function restOf(line: Buffer, begin: number): string {
  return line.toString('utf8', begin, Math.min(line.length, begin + restBytes))
}

function parsedHead(line: Buffer): Head | undefined {
  const record = decodeLine(line) as UnknownRecord | undefined
  if (record === undefined) return undefined
  const { e, n, t: _, k, p, ...rest } = record
  return { e, n, k, p: typeof p === 'string' ? p : '', rest: `,${JSON.stringify(rest).slice(1)}` }
}
