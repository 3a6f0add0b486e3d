import { sha256 } from '../base/hash.ts'
import { isJsonObject, type Json } from '../base/json.ts'
import type { SourceEntry, SourcePart } from '../base/reads.ts'
import type { Entry } from '../journal/record.ts'
import { hashPrompt, withoutTranscript } from '../prompt/document.ts'

/** What decided a run at one path (DESIGN 11 "Sources"). */
export interface Source {
  readonly path: string
  readonly entry: SourceEntry
  readonly part: SourcePart
  /** Equal for equal content; of a prompt file of the part above its `====` line. */
  readonly hash: string
}

/** A path that the run itself has changed since it was read: what is on the disk counts from then on. */
export interface ChangedByRun {
  readonly path: string
  readonly changed: true
}

type SourceRecord = Extract<Entry, { readonly k: 'source' }>

/** The last of the sources a run starts with: those behind it were read while the run went on. */
export const lastSource = 'config'

export function sourceOf(path: string, entry: SourceEntry, part: SourcePart): Source {
  return { path, entry, part, hash: hashOfEntry(entry, part) }
}

/** Text that is equal for equal content, of a file a SHA-256. */
export function hashOfEntry(entry: SourceEntry, part: SourcePart): string {
  if (entry.kind === 'file') return part === 'prompt' ? hashPrompt(entry.text) : sha256(entry.text)
  if (entry.kind === 'none' || entry.names === undefined) return entry.kind
  return sha256(JSON.stringify(entry.names))
}

/**
 * The record of a source. Its value is the text of a file, `{ prompt: text }` for a prompt file (without transcript),
 * `{ folder: names or null }`, null for what was not there, or `{ changed: true }`.
 */
export function sourceRecord(source: Source | ChangedByRun, name = kindName(source)): SourceRecord {
  const { path } = source
  if ('changed' in source) return { k: 'source', name, path, hash: '', value: { changed: true } }
  return { k: 'source', name, path, hash: source.hash, value: valueOf(source) }
}

function kindName(source: Source | ChangedByRun): string {
  return 'changed' in source ? 'changed' : source.entry.kind
}

function valueOf({ entry, part }: Source): Json {
  switch (entry.kind) {
    case 'file':
      return part === 'prompt' ? { prompt: withoutTranscript(entry.text) } : entry.text
    case 'folder':
      return { folder: entry.names ?? null }
    case 'none':
      return null
  }
}

/** What a record with this value stands for; undefined for what this version does not know. */
export function readSourceValue(
  value: unknown,
): Pick<Source, 'entry' | 'part'> | Pick<ChangedByRun, 'changed'> | undefined {
  if (value === null) return { entry: { kind: 'none' }, part: 'whole' }
  if (typeof value === 'string') return { entry: { kind: 'file', text: value }, part: 'whole' }
  const { prompt, folder, changed } = isJsonObject(value as Json) ? (value as { readonly [key: string]: unknown }) : {}
  if (changed === true) return { changed }
  if (typeof prompt === 'string') return { entry: { kind: 'file', text: prompt }, part: 'prompt' }
  if (folder === null) return { entry: { kind: 'folder' }, part: 'whole' }
  if (!Array.isArray(folder)) return undefined
  const names = folder.filter((name) => typeof name === 'string')
  return { entry: { kind: 'folder', names }, part: 'whole' }
}
