import { isBatonError } from '../base/error.ts'
import { readSourceFile } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { isJsonObject, type Json } from '../base/json.ts'
import { entryOnDisk, type SourceEntry, type SourcePart } from '../base/reads.ts'
import { originOf, parsePlace, placeText } from '../event/place.ts'
import type { Entry, JournalRecord } from '../journal/record.ts'
import type { RunIndex } from '../journal/run-index.ts'
import { secretNames } from '../journal/secrets.ts'
import { hashPrompt, withoutTranscript } from '../prompt/document.ts'

/** The state of one path that a run depends on. */
export interface Source {
  readonly path: string
  readonly entry: SourceEntry
  readonly part: SourcePart
  /** Equal for equal content; of a prompt file, only the part above its `====` line. */
  readonly hash: string
}

/** A path that the run itself has changed since it was read; from then on, the disk counts. */
export interface ChangedByRun {
  readonly path: string
  readonly changed: true
}

type SourceRecord = Extract<Entry, { readonly k: 'source' }>

/** The last of the sources a run starts with; later ones were read during the run. */
export const lastSource = 'config'

export function sourceOf(path: string, entry: SourceEntry, part: SourcePart): Source {
  return { path, entry, part, hash: hashOfEntry(entry, part) }
}

/** A text that is equal for equal content; for a file, its SHA-256. */
function hashOfEntry(entry: SourceEntry, part: SourcePart): string {
  if (entry.kind === 'file') return part === 'prompt' ? hashPrompt(entry.text) : sha256(entry.text)
  if (entry.kind === 'none' || entry.names === undefined) return entry.kind
  return sha256(JSON.stringify(entry.names))
}

/**
 * The record of a source. Its value is the text of a file, `{ prompt: text }` for a prompt file (without transcript),
 * `{ module: text }`, `{ folder: names or null }`, null if it did not exist, or `{ changed: true }`.
 */
export function sourceRecord(source: Source | ChangedByRun, named?: string): SourceRecord {
  const { path } = source
  if ('changed' in source) return { k: 'source', name: named ?? 'changed', path, hash: '', value: { changed: true } }
  const name = named ?? source.entry.kind
  return { k: 'source', name, path, hash: source.hash, value: valueOf(source) }
}

function valueOf({ entry, part }: Source): Json {
  switch (entry.kind) {
    case 'file':
      if (part === 'module') return { module: entry.text }
      return part === 'prompt' ? { prompt: withoutTranscript(entry.text) } : entry.text
    case 'folder':
      return { folder: entry.names ?? null }
    case 'none':
      return null
  }
}

/** Decodes the value of a record; undefined for values that this version does not know. */
function readSourceValue(value: unknown): Pick<Source, 'entry' | 'part'> | Pick<ChangedByRun, 'changed'> | undefined {
  if (value === null) return { entry: { kind: 'none' }, part: 'whole' }
  if (typeof value === 'string') return { entry: { kind: 'file', text: value }, part: 'whole' }
  const { prompt, module, folder, changed } = isJsonObject(value as Json)
    ? (value as { readonly [key: string]: unknown })
    : {}
  if (changed === true) return { changed }
  if (typeof prompt === 'string') return { entry: { kind: 'file', text: prompt }, part: 'prompt' }
  if (typeof module === 'string') return { entry: { kind: 'file', text: module }, part: 'module' }
  if (folder === null) return { entry: { kind: 'folder' }, part: 'whole' }
  if (!Array.isArray(folder)) return undefined
  const names = folder.filter((name) => typeof name === 'string')
  return { entry: { kind: 'folder', names }, part: 'whole' }
}

export interface StoredSource extends Source {
  /** False: it contains a secret that changed or is in no variable, so that the text cannot be restored. */
  readonly isWhole: boolean
  /** The names of the secrets in it, as far as known. */
  readonly secrets: readonly string[]
}

/** The sources of a run, by absolute path. */
export interface StoredSources {
  /** The sources at its start. */
  readonly start: ReadonlyMap<string, StoredSource>
  /** The sources at its last point: the same, except for what was read or changed during the run. */
  readonly later: ReadonlyMap<string, StoredSource | ChangedByRun>
}

/**
 * The sources of a run from its `source` records, in the order of writing; other records are ignored. Each process that
 * resumes a run stores all sources again, and the last process that completed this counts. `value` decodes a field.
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
    // the text of a prompt that was not a file is recorded with the start of the run
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

/** A source whose state on disk differs from what a run read. */
export interface ChangedSource {
  /** Absolute. */
  readonly path: string
  /** `new`: it did not exist. */
  readonly change: 'changed' | 'gone' | 'new'
  /** What a resumed run uses: `disk` if a secret in the stored text cannot be restored, `loaded` for a module. */
  readonly used: 'stored' | 'disk' | 'loaded'
}

/** The sources that changed on disk, sorted by path, without changes of the run itself. */
export function changedSources({ start, later }: StoredSources): readonly ChangedSource[] {
  const changes = new Map<string, ChangedSource>()
  for (const source of [...start.values(), ...later.values()]) {
    if ('changed' in source) continue
    // skips what the run changed or read again; in a prompt file it writes only below the relevant part
    const last = source.part === 'whole' ? later.get(source.path) : undefined
    const isReplaced = last !== undefined && ('changed' in last || last.hash !== source.hash)
    const change = isReplaced ? undefined : changeOf(source)
    if (change !== undefined) changes.set(source.path, change)
  }
  return [...changes.values()].toSorted((left, right) => (left.path < right.path ? -1 : 1))
}

function changeOf(source: StoredSource): ChangedSource | undefined {
  const { path, entry, part } = source
  if (hashOnDisk(source) === source.hash) return undefined
  const now = entryOnDisk(path, entry)
  const change = entry.kind === 'none' ? 'new' : now.kind === 'none' ? 'gone' : 'changed'
  return { path, change, used: part === 'module' ? 'loaded' : usesDisk(source) ? 'disk' : 'stored' }
}

/** The hash of the current state at the path of a source. */
export function hashOnDisk({ path, entry, part }: Source): string {
  return hashOfEntry(entryOnDisk(path, entry), part)
}

/** Whether the disk is used for a source: it is a module, or its text cannot be restored and the file still exists. */
export function usesDisk({ path, entry, part, isWhole }: StoredSource): boolean {
  if (part === 'module') return true
  return !isWhole && entryOnDisk(path, entry).kind === 'file'
}

type UseRecord = Extract<JournalRecord, { readonly k: 'use' }>

/**
 * For `--use-current`: repeats what executed a file that has changed since. Ignores executions at a place that was
 * started over later, or that later executed the same file again.
 */
export function reopenChanged(index: RunIndex): void {
  const now = new Map<string, string | undefined>()
  for (const use of lastUses(index)) {
    if (!now.has(use.path)) now.set(use.path, codeHash(use.path))
    if (now.get(use.path) !== use.hash && !isVoid(use, index)) index.tree.reopen(use.p)
  }
}

function lastUses({ records }: RunIndex): Iterable<UseRecord> {
  const last = new Map<string, UseRecord>()
  for (const record of records('use')) last.set(`${record.p}\n${record.path}`, record)
  return last.values()
}

/** Whether a boundary at or around the place was started over since. */
function isVoid({ p, e, n }: UseRecord, { tree, source }: RunIndex): boolean {
  const path = originOf(parsePlace(p))
  return path.some((_, index) => {
    const begin = tree.find(placeText(path.slice(0, index + 1)))?.begin
    const record = begin === undefined ? undefined : source.at(begin)
    if (record === undefined || (record.k === 'begin' && record.below === 'kept')) return false
    return record.e > e || (record.e === e && record.n > n)
  })
}

function codeHash(path: string): string | undefined {
  try {
    return sha256(readSourceFile(path))
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}
