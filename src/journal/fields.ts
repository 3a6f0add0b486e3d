import { maxInlineBytes, type BlobReference } from './blobs.ts'
import type { Json } from '../base/json.ts'
import { isLongJson } from '../base/json-pieces.ts'
import type { Entry, RecordHead } from './record.ts'
import { encodeValue, type TextMap } from './value.ts'

/** Fields that get their values from the journal itself: the mask must not touch them, whatever a secret looks like. */
const structural: ReadonlySet<string> = new Set([
  'k',
  'v',
  'pid',
  'start',
  'boot',
  'ns',
  'before',
  's',
  'kind',
  'repeat',
  'status',
  'fp',
  'hash',
  'exit',
  'stop',
  'key',
  'of',
  'choice',
  'by',
])

/** Field names, which are ours and need no escaping, with the JSON text of their values. */
export type Fields = readonly (readonly [name: string, json: string])[]

export interface FieldOptions {
  readonly mask: TextMap
  /** Stores values over 64 KB; without it they stay in the record. */
  readonly writeBlob?: (value: Json) => BlobReference
}

/** The fields of an entry in order, masked; undefined fields are omitted. */
export function encodeFields(entry: Entry, options: FieldOptions): Fields {
  const fields: [string, string][] = []
  for (const [name, value] of Object.entries(entry)) {
    if (value !== undefined) fields.push([name, fieldJson(name, value, options)])
  }
  return fields
}

function fieldJson(name: string, value: unknown, { mask, writeBlob }: FieldOptions): string {
  if (structural.has(name)) return JSON.stringify(value)
  const encoded = encodeValue(value, mask)
  // the place is never moved to a blob, however long: indexes are built from it
  if (writeBlob === undefined || name === 'p') return JSON.stringify(encoded)
  if (isLongJson(encoded, maxInlineBytes)) return JSON.stringify(writeBlob(encoded))
  const json = JSON.stringify(encoded)
  return isLarge(json) ? JSON.stringify(writeBlob(encoded)) : json
}

function isLarge(json: string): boolean {
  // a UTF-16 unit takes at most three bytes
  return json.length > maxInlineBytes / 3 && Buffer.byteLength(json) > maxInlineBytes
}

/** The JSON text of a whole record. */
export function recordJson({ e, n, t }: RecordHead, fields: Fields): string {
  let text = `{"e":${e},"n":${n},"t":${t}`
  for (const [name, json] of fields) text += `,"${name}":${json}`
  return `${text}}`
}
