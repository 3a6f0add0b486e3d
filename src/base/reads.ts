import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { compareBytes } from './byte-order.ts'
import { BatonError } from './error.ts'
import { readSourceFile } from './files.ts'

/*
 * All files that decide what a run executes are looked up and read by these functions, so that a resumed run finds what
 * it started with, and watching knows what to compare. Paths are absolute. Without `reads` they only use the disk.
 */

/**
 * Receives everything a run reads that decides what it does, to be compared later. The first report on a path counts.
 */
export interface ReadLog {
  /** A file and the text that was read. Without a text: the file as it is now, which may be missing. */
  readonly file: (path: string, text?: string) => void
  /** Like `file`, for a prompt file, of which only the part above its `====` line counts. */
  readonly prompt: (path: string, text?: string) => void
  readonly list: (list: ReadList) => void
  /** Like `file`, for a file that the run works on, and that does not decide what is run. */
  readonly data?: (path: string, text?: string) => void
  /**
   * Called before a file is looked up or read, or, without a path, before files are listed: waits while an editor may be
   * saving. Only in runs of a watch session.
   */
  readonly ready?: (path?: string) => void
  /** The stored sources of a run that is resumed. If omitted, everything is read from the disk. */
  readonly sources?: SourceFiles
}

/** The entry at a path, as far as it decides what a run does. */
export type SourceEntry =
  | { readonly kind: 'file'; readonly text: string }
  /** `names`: the folders in it, sorted; omitted if only its existence counts. */
  | { readonly kind: 'folder'; readonly names?: readonly string[] }
  | { readonly kind: 'none' }

/**
 * `prompt`: only the part above the `====` line counts. `module`: loaded from the disk, never from the stored version.
 */
export type SourcePart = 'whole' | 'prompt' | 'module'

/** The files and folders that decide what a run executes. */
interface SourceFiles {
  /** The stored entry, which is used instead of the disk; undefined if there is none. */
  readonly stored: (path: string) => SourceEntry | undefined
  /** Receives what was found, stored or on disk. */
  readonly found: (path: string, entry: SourceEntry, part: SourcePart) => void
}

/** Files that were listed by globs. */
export interface ReadList {
  readonly globs: readonly string[]
  readonly baseDir: string
  /** Nothing outside is listed. */
  readonly root: string
  readonly found: readonly string[]
  /** Names of folders that are skipped unless a glob names them; default: build folders. */
  readonly skipFolders?: readonly string[]
  /** Whether only the names count, or the content of the files as well. */
  readonly reads: 'names' | 'content'
}

/** Reports to both; the stored sources are those of the first that has some. */
export function bothReads(first: ReadLog | undefined, second: ReadLog): ReadLog {
  if (first === undefined) return second
  const sources = first.sources ?? second.sources
  const ready = first.ready ?? second.ready
  return {
    file(path, text) {
      first.file(path, text)
      second.file(path, text)
    },
    prompt(path, text) {
      first.prompt(path, text)
      second.prompt(path, text)
    },
    list(list) {
      first.list(list)
      second.list(list)
    },
    data(path, text) {
      first.data?.(path, text)
      second.data?.(path, text)
    },
    ...(sources === undefined ? {} : { sources }),
    ...(ready === undefined ? {} : { ready }),
  }
}

export interface SourceReading {
  readonly part?: SourcePart
  /** False for files that cannot change during a run: they are not reported for watching. */
  readonly watched?: boolean
}

/**
 * The text of a file the user wrote, as `readSourceFile` returns it: the stored one if there is one.
 * @throws BatonError FILE_UNREADABLE
 */
export function readSource(
  path: string,
  reads: ReadLog | undefined,
  { part = 'whole', watched = true }: SourceReading = {},
): string {
  reads?.ready?.(path)
  const note = watched ? (part === 'prompt' ? reads?.prompt : reads?.file) : undefined
  // before reading: a file that cannot be read is watched as well
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
  throw new BatonError('FILE_UNREADABLE', `the file ${path} did not exist when this run started`, {
    place: { file: path },
    hint: 'Start a new run to use the file as it is now.',
  })
}

/** Whether the text of the file is stored, so that the disk does not matter. */
export function isStored(path: string, reads: ReadLog | undefined): boolean {
  return reads?.sources?.stored(path)?.kind === 'file'
}

/** Whether a file or folder exists. */
export function sourceExists(path: string, reads: ReadLog | undefined): boolean {
  return look(path, reads) !== 'none'
}

/** Whether a file exists, links followed. */
export function isSourceFile(path: string, reads: ReadLog | undefined): boolean {
  return look(path, reads) === 'file'
}

/** Whether an entry exists that is not a folder; if it is not a regular file, reading it reports what it is. */
export function isSourceEntry(path: string, reads: ReadLog | undefined): boolean {
  const kind = look(path, reads)
  return kind === 'file' || kind === 'other'
}

/** Whether a folder exists, links followed. */
export function isSourceFolder(path: string, reads: ReadLog | undefined): boolean {
  return look(path, reads) === 'folder'
}

/** Names of the folders in a folder, sorted, without hidden ones; empty if the folder is missing or unreadable. */
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

/** Reports what is found, except files, which are read and reported next. */
function look(path: string, reads: ReadLog | undefined): Kind {
  reads?.ready?.(path)
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
    // the path leads through a file, or a folder that cannot be read
    return 'none'
  }
}

/** The entry on the disk now, in the form that can be compared with `like`; an unreadable file is `none`. */
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
