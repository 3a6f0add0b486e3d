import { entryStatus } from '../base/entries.ts'
import { existsSync, readdirSync, readlinkSync, type Stats } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { sha256 } from '../base/hash.ts'
import type { Kept, KeptContent, PathState } from '../event/effects.ts'
import { startHash } from './file-hash.ts'

/** How a path (absolute) is written in records. */
export type ShowPath = (path: string) => string

/** New content of a whole file, with its hash: these bytes, or those of another file. */
export type NewContent =
  | { readonly kind: 'bytes'; readonly bytes: string | Uint8Array; readonly hash: string }
  | { readonly kind: 'file'; readonly file: string; readonly bytes: number; readonly hash: string }

/**
 * For a file that is written as a whole. `before` is the hash of its present content, null if there is no file. All
 * paths here are absolute, with links resolved except for the last part.
 */
export function keptWrite(
  path: string,
  { content, before }: { readonly content: NewContent; readonly before: string | null },
  show: ShowPath,
): Kept {
  const present = presentStates(path, show, (file) => before ?? hashIfReadable(file))
  const folders = missingFolders(path, show)
  const mode = present[0]?.kind === 'file' ? present[0].mode : undefined
  const made: PathState = {
    path: show(path),
    kind: 'file',
    bytes: content.kind === 'bytes' ? Buffer.byteLength(content.bytes) : content.bytes,
    hash: content.hash,
    ...(mode !== undefined && { mode }),
  }
  return {
    before: [...folders.map(absentOf), ...present],
    after: [...folders, made],
    contents: [
      ...[...contentsAt(path)].map((one) => (before === null ? one : { ...one, hash: before })),
      content.kind === 'bytes'
        ? { bytes: content.bytes, hash: content.hash }
        : { file: content.file, hash: content.hash },
    ],
  }
}

/** Appended content up to this many bytes is stored in the record itself: there may be many small pieces. */
const mostInRecord = 16 * 1024
/** The content of a larger file is not kept before an append: the appended bytes can be cut off again. */
const mostBelowAdded = 64 * 1024 * 1024

/** For a file that is appended to. `isFirst`: its content has not been kept before. */
export function keptAppend(
  path: string,
  { content, isFirst }: { readonly content: string | Uint8Array; readonly isFirst: boolean },
  show: ShowPath,
): Kept {
  const size = entryStatus(path)?.size
  const added = Buffer.from(content as string)
  const folders = missingFolders(path, show)
  const isKept = isFirst && (size ?? 0) <= mostBelowAdded
  const present: PathState =
    size === undefined || isKept
      ? (presentStates(path, show)[0] as PathState)
      : { path: show(path), kind: 'file', bytes: size }
  const isSmall = added.length <= mostInRecord
  const longer: PathState = {
    path: show(path),
    kind: 'longer',
    from: size ?? 0,
    bytes: added.length,
    hash: sha256(added),
    ...(isSmall && { added }),
  }
  return {
    before: [...folders.map(absentOf), present],
    after: [...folders, longer],
    contents: [...(isKept ? contentsAt(path) : []), ...(isSmall ? [] : [{ bytes: added }])],
  }
}

/** Moved content is kept too, up to this size; beyond it, only the new path is known. */
const mostMoved = 64 * 1024 * 1024

/** For a moved entry. */
export function keptMove({ from, path }: { readonly from: string; readonly path: string }, show: ShowPath): Kept {
  const moved = presentStates(from, show)
  const folders = missingFolders(path, show)
  const there = presentStates(from, (one) => show(join(path, relative(from, one))))
  const replaced = entryStatus(path) === undefined ? there.map(absentOf) : presentStates(path, show)
  const bytes = moved.reduce((sum, state) => sum + (state.kind === 'file' ? state.bytes : 0), 0)
  return {
    before: [...folders.map(absentOf), ...moved, ...replaced],
    after: [...moved.map(absentOf), ...folders, ...there],
    contents: [...contentsAt(path), ...(bytes > mostMoved ? [] : contentsAt(from))],
  }
}

/** For an entry that is removed with everything in it. */
export function keptDelete(path: string, show: ShowPath): Kept {
  const before = presentStates(path, show)
  return { before, after: before.map(absentOf), contents: contentsAt(path) }
}

/** For a folder that is created, with its parents. */
export function keptFolder(path: string, show: ShowPath): Kept {
  const folders = [...missingFolders(path, show), { path: show(path), kind: 'folder' } as const]
  return { before: folders.map(absentOf), after: folders, contents: [] }
}

/** For a file or folder whose permission bits are set. */
export function keptMode(path: string, mode: number, show: ShowPath): Kept {
  const present = presentStates(path, show).slice(0, 1)
  return { before: present, after: present.map((state) => ({ ...state, mode })), contents: contentsAt(path, 'itself') }
}

/** For a link that is created, possibly replacing a file or link. */
export function keptLink(path: string, to: string, show: ShowPath): Kept {
  const folders = missingFolders(path, show)
  return {
    before: [...folders.map(absentOf), ...presentStates(path, show)],
    after: [...folders, { path: show(path), kind: 'link', to }],
    contents: contentsAt(path),
  }
}

function absentOf({ path }: PathState): PathState {
  return { path, kind: 'absent' }
}

/** Missing folders above a path, outermost first. */
function missingFolders(path: string, show: ShowPath): readonly PathState[] {
  const missing: PathState[] = []
  for (let folder = dirname(path); !existsSync(folder); folder = dirname(folder)) {
    missing.push({ path: show(folder), kind: 'folder' })
  }
  return missing.toReversed()
}

/**
 * The states of the entry at a path and everything below it; a device or pipe counts as absent, because it cannot be
 * kept.
 */
function presentStates(path: string, show: ShowPath, hashOf = hashIfReadable): readonly PathState[] {
  const found: PathState[] = []
  visit(path, (entry, status) => void found.push(stateOf(entry, status, { show, hashOf })))
  return found.length === 0 ? [{ path: show(path), kind: 'absent' }] : found
}

interface Looking {
  readonly show: ShowPath
  readonly hashOf: (file: string) => string | undefined
}

function stateOf(path: string, status: Stats, { show, hashOf }: Looking): PathState {
  const shown = show(path)
  const mode = status.mode & 0o7777
  if (status.isSymbolicLink()) return { path: shown, kind: 'link', to: readlinkSync(path) }
  if (status.isDirectory()) return { path: shown, kind: 'folder', mode }
  if (!status.isFile()) return { path: shown, kind: 'absent' }
  const hash = hashOf(path)
  return { path: shown, kind: 'file', bytes: status.size, mode, ...(hash !== undefined && { hash }) }
}

function hashIfReadable(path: string): string | undefined {
  try {
    return startHash(path)
  } catch {
    // it can be removed, but not kept
    return undefined
  }
}

function* contentsAt(path: string, which: 'itself' | 'all' = 'all'): Iterable<KeptContent> {
  const status = entryStatus(path)
  if (status?.isFile() === true) yield { file: path }
  if (status?.isDirectory() !== true || which === 'itself') return
  for (const name of readdirSync(path)) yield* contentsAt(join(path, name))
}

function visit(path: string, take: (path: string, status: Stats) => void): void {
  const status = entryStatus(path)
  if (status === undefined) return
  take(path, status)
  if (status.isDirectory()) for (const name of readdirSync(path).toSorted()) visit(join(path, name), take)
}
