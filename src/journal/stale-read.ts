import { canonicalJson, isObject, type Json } from '../base/json.ts'
import type { AskedCall, Place } from '../event/effects.ts'
import type { SecretMask } from './secrets.ts'
import { encodeValue } from './value.ts'

/** A file that was answered from a record and is another one now. */
export interface StaleRead {
  readonly at: Place
  /** As the call was given it. */
  readonly path: string
  /** What has to be done afresh for the file to be read anew. */
  readonly boundary: string
}

/** Calls that read one file, which they are given first. */
const fileReads = /^(?:aip\.file\.load\w*|file\.read|attachment)$/

/** The path of the file that a call reads; undefined for other calls. */
export function fileReadBy({ name, args }: AskedCall): string | undefined {
  const path: unknown = Array.isArray(args) ? args[0] : undefined
  return typeof path === 'string' && fileReads.test(name) ? path : undefined
}

/** Whether reading gives something else than what is recorded; when a file was written does not count. */
export function isStale(read: () => unknown, recorded: unknown, mask: SecretMask): boolean {
  const text = (value: unknown): string => canonicalJson(timeless(encodeValue(value, mask.mask)))
  try {
    return text(read()) !== text(recorded)
  } catch {
    // it cannot be read any more
    return true
  }
}

/** Without the times of files, which host functions tell of every file. */
function timeless(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => timeless(item as Json))
  if (!isObject(value)) return value
  const { ctime: _, mtime: __, ...rest } = value
  return Object.fromEntries(Object.entries(rest).map(([name, item]) => [name, timeless(item as Json)]))
}
