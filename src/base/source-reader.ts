import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { compareBytes } from './byte-order.ts'
import { BatonError } from './error.ts'
import { readSourceFile } from './files.ts'
import type { ReadLog, SourceEntry, SourcePart } from './reads.ts'

/*
 * Everything that decides what a run executes is looked at and read by these functions, so that a run that goes on finds
 * what it began with (DESIGN 11 "Sources"). Paths are absolute. Without `reads` they are about the disk alone.
 */

export interface SourceReading {
  readonly part?: SourcePart
  /** Of what cannot change while a run goes on, watching is not told. */
  readonly watched?: boolean
}

/**
 * The text of a file a person wrote, as `readSourceFile` gives it: the stored one where there is one.
 * @throws BatonError FILE_UNREADABLE
 */
export function readSource(
  path: string,
  reads: ReadLog | undefined,
  { part = 'whole', watched = true }: SourceReading = {},
): string {
  const note = watched ? (part === 'prompt' ? reads?.prompt : reads?.file) : undefined
  // one that cannot be read is watched as well
  note?.(path)
  const text = storedText(path, reads) ?? readSourceFile(path)
  note?.(path, text)
  reads?.sources?.found(path, { kind: 'file', text }, part)
  return text
}

function storedText(path: string, reads: ReadLog | undefined): string | undefined {
  const entry = reads?.sources?.stored(path)
  if (entry?.kind === 'file') return entry.text
  if (entry?.kind !== 'none') return undefined
  throw new BatonError('FILE_UNREADABLE', `there was no file ${path} when this run began`, {
    place: { file: path },
    hint: 'Run it anew to use what is there now.',
  })
}

/** Whether the text of the file is stored, so that the disk does not matter. */
export function isStored(path: string, reads: ReadLog | undefined): boolean {
  return reads?.sources?.stored(path)?.kind === 'file'
}

/** Whether a file or folder is there. */
export function sourceExists(path: string, reads: ReadLog | undefined): boolean {
  return look(path, reads) !== 'none'
}

/** Whether a file is there, links followed. */
export function isSourceFile(path: string, reads: ReadLog | undefined): boolean {
  return look(path, reads) === 'file'
}

/** Whether a folder is there, links followed. */
export function isSourceFolder(path: string, reads: ReadLog | undefined): boolean {
  return look(path, reads) === 'folder'
}

/** Names of the folders in a folder, sorted, without hidden ones. A folder that is not there or not for us holds none. */
export function sourceFolders(folder: string, reads: ReadLog | undefined): readonly string[] {
  const stored = reads?.sources?.stored(folder)
  const entry = stored === undefined || (stored.kind === 'folder' && stored.names === undefined) ? list(folder) : stored
  reads?.sources?.found(folder, entry, 'whole')
  return entry.kind === 'folder' ? (entry.names ?? []) : []
}

function list(folder: string): SourceEntry {
  try {
    const entries = readdirSync(folder).filter((name) => !name.startsWith('.'))
    const names = entries.filter((name) => kindAt(join(folder, name)) === 'folder')
    return { kind: 'folder', names: names.toSorted(compareBytes) }
  } catch {
    return kindAt(folder) === 'folder' ? { kind: 'folder', names: [] } : { kind: 'none' }
  }
}

type Kind = SourceEntry['kind'] | 'other'

/** What is found is told of here unless it is a file: that is read next. */
function look(path: string, reads: ReadLog | undefined): Kind {
  const stored = reads?.sources?.stored(path)
  const kind = stored?.kind ?? kindAt(path)
  if (kind === 'folder' || kind === 'none') reads?.sources?.found(path, stored ?? { kind }, 'whole')
  return kind
}

function kindAt(path: string): Kind {
  try {
    const status = statSync(path, { throwIfNoEntry: false })
    if (status === undefined) return 'none'
    return status.isFile() ? 'file' : status.isDirectory() ? 'folder' : 'other'
  } catch {
    // on a way through something that is not a folder, or not for us
    return 'none'
  }
}

/** What is on the disk now, as far as it can be compared with an entry of this kind; a file that cannot be read is none. */
export function entryOnDisk(path: string, like: SourceEntry): SourceEntry {
  const kind = kindAt(path)
  if (kind === 'folder') return like.kind === 'folder' && like.names !== undefined ? list(path) : { kind }
  if (kind !== 'file') return { kind: 'none' }
  try {
    return { kind, text: readSourceFile(path) }
  } catch {
    return { kind: 'none' }
  }
}
