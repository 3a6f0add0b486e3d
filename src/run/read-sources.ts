import type { Json } from '../base/json.ts'
import type { JournalRecord } from '../journal/record.ts'
import { secretNames } from '../journal/secrets.ts'
import { type ChangedByRun, hashOfEntry, lastSource, readSourceValue, type Source } from './source-records.ts'

/** A source as it was stored. */
export interface StoredSource extends Source {
  /** False: it holds a secret that is another one now, or in no variable, so the text is not the one that was read. */
  readonly isWhole: boolean
  /** The secrets it holds, as far as they are known by name. */
  readonly secrets: readonly string[]
}

/** What a run was made of, by absolute path. */
export interface StoredSources {
  /** What it began with. */
  readonly start: ReadonlyMap<string, StoredSource>
  /** What it would find at this point: the same, but for what was read or changed while it went on. */
  readonly later: ReadonlyMap<string, StoredSource | ChangedByRun>
}

/**
 * The sources of a run from its `source` records, in the order of writing; other records do no harm. Each process that
 * goes on with a run stores all its sources again, and the last one that came so far counts. `value` opens a field.
 */
export function storedSources(
  records: Iterable<JournalRecord>,
  value: (field: Json | undefined) => unknown,
): StoredSources {
  let epoch: number | undefined
  let isBegun = false
  let begun = new Map<string, RawSource>()
  let start: ReadonlyMap<string, RawSource> = new Map()
  let later = new Map<string, RawSource>()
  for (const record of records) {
    if (record.k !== 'source') continue
    if (record.e !== epoch) {
      epoch = record.e
      isBegun = false
      begun = new Map()
    }
    const path = value(record.path) as string
    if (record.name === lastSource && path === '') {
      isBegun = true
      start = begun
      later = new Map(begun)
    }
    // the text of a prompt that was no file is known from how the run was started
    if (path === '') continue
    if (isBegun) later.set(path, record)
    else begun.set(path, record)
  }

  const opened = new Map<string, StoredSource>()
  for (const [path, record] of start) {
    const source = openSource(record, path, value)
    if (source !== undefined && !('changed' in source)) opened.set(path, source)
  }
  const now = new Map<string, StoredSource | ChangedByRun>()
  for (const [path, record] of later) {
    const source = record === start.get(path) ? opened.get(path) : openSource(record, path, value)
    if (source !== undefined) now.set(path, source)
  }
  return { start: opened, later: now }
}

type RawSource = Extract<JournalRecord, { readonly k: 'source' }>

function openSource(
  { value: field, hash }: RawSource,
  path: string,
  value: (field: Json) => unknown,
): StoredSource | ChangedByRun | undefined {
  const source = readSourceValue(value(field))
  if (source === undefined) return undefined
  if ('changed' in source) return { path, changed: true }
  const isWhole = hashOfEntry(source.entry, source.part) === hash
  return { ...source, path, hash, isWhole, secrets: secretNames(JSON.stringify(field)) }
}
