import { existsSync, readdirSync, readlinkSync, type Stats } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { entryStatus } from '../base/entries.ts'
import { BatonError, isBatonError, messageOf } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { type ContextWith, emit, type Events, type Gate } from '../event/context.ts'
import type {
  Disk,
  FileChangeRecord,
  ChangeSnapshot,
  ContentToStore,
  PathState,
  PlannedChange,
} from '../event/effects.ts'
import type { NewFileContent } from '../event/permission.ts'
import type { Place } from '../event/place.ts'
import { entryHash, startHash } from './file-hash.ts'
import { allowedEntry, allowedPath, type FileWriter, type ReadContext } from './guard.ts'
import { type FileStatus, notAFile, orUnreadable, statusAt } from './workspace-reads.ts'
import { sha256 } from '../base/hash.ts'

/** What changing files takes of a run. */
export type FileContext = ReadContext & ContextWith<'at', Gate & Events>

/** A call that changes files: the context it runs in, and the place at which its effect is recorded. */
export interface FileCall<Context extends FileContext = FileContext> {
  readonly context: Context
  readonly at: Place
}

export interface RequestedChange {
  readonly op: string
  /** Absolute. */
  readonly path: string
  /** As displayed. */
  readonly from?: string
  /** As displayed: what the content is made from. */
  readonly source?: string
}

/** The resolved change. */
export interface Planned {
  /** `path` is absolute here, with links followed. */
  readonly record: Omit<FileChangeRecord, 'op'> & {
    readonly path: string
    readonly before: string | null
    readonly after: string | null
  }
  readonly act: (disk: Disk) => void
  readonly keep: PlannedChange['keep'] & {}
}

/**
 * One file effect: checks the permission, records it, performs it, and emits `file.changed`. Returns true if something
 * has changed.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function change(
  { op, path, ...asked }: RequestedChange,
  call: FileCall,
  plan: (asking: FileWriter) => Planned | undefined,
): boolean {
  const { context, at } = call
  let changed = shownPath(path, call)
  const { effects } = context.services
  const hasChanged = effects.changeFile(at, { op, path: changed, ...asked }, (allow) => {
    const planned = plan({ context, allow })
    if (planned === undefined) return undefined
    const { record, act, keep } = planned
    changed = shownPath(record.path, call)
    return {
      record: { ...record, op, path: changed },
      act: (disk) => orFileFailed(() => act(disk), { op, path: changed }),
      keep,
    }
  })
  if (hasChanged) emit(context, { type: 'file.changed', op, path: changed })
  return hasChanged
}

function orFileFailed(act: () => void, { op, path }: { readonly op: string; readonly path: string }): void {
  try {
    act()
  } catch (error) {
    if (isBatonError(error)) throw error
    throw new BatonError('FILE_FAILED', `${op} of ${path} failed: ${messageOf(error)}`, { cause: error })
  }
}

/** How paths are written in records. */
export function showIn(call: FileCall): ShowPath {
  return (path) => shownPath(path, call)
}

/** A path as displayed: relative to the workspace. */
export function shownPath(path: string, { context }: FileCall): string {
  return displayPath(context.scope.folders.workspace, path)
}

/** The hash of the entry at a path; null if it does not exist. @throws BatonError FILE_FAILED */
export function hashOf(path: string, call: FileCall): string | null {
  return orUnreadable(shownPath(path, call), () => entryHash(path))
}

/** @throws BatonError FILE_FAILED if something exists there */
export function refuseExisting(target: string, call: FileCall): void {
  if (statusAt(target) === undefined) return
  throw new BatonError('FILE_FAILED', `${shownPath(target, call)} already exists`, {
    hint: 'Pass { overwrite = true } to replace it.',
  })
}

/** Throws if the target cannot be written as a file; returns the current status. */
export function refuseOther(target: string, call: FileCall): FileStatus | undefined {
  const status = statusAt(target)
  if (status === undefined || status.kind === 'file') return status
  throw notAFile(shownPath(target, call), status.kind)
}

/** Who writes a file, and its new content, or at least the start of it. */
interface Writing {
  readonly asking: FileWriter
  readonly content: NewFileContent
}

/** The path a file is written to, with links followed. */
export function writtenPath(path: string, call: FileCall, { asking, content }: Writing): string {
  const target = allowedPath('write', path, asking, content)
  refuseOther(target, call)
  return target
}

/** The path of a file or link that is itself replaced. */
export function replacedEntry(path: string, call: FileCall, { asking, content }: Writing): string {
  const target = allowedEntry(path, asking)
  asking.allow({ kind: 'write', path: target, named: path }, content)
  const status = entryStatus(target)
  if (status === undefined || status.isFile() || status.isSymbolicLink()) return target
  throw notAFile(shownPath(target, call), status.isDirectory() ? 'folder' : 'other')
}

/** How a path (absolute) is written in records. */
type ShowPath = (path: string) => string

/** New content of a whole file, with its hash: these bytes, or those of another file. */
export type NewContent =
  | { readonly kind: 'bytes'; readonly bytes: string | Uint8Array; readonly hash: string }
  | { readonly kind: 'file'; readonly file: string; readonly bytes: number; readonly hash: string }

/**
 * For a file that is written as a whole. `before` is the hash of its present content, null if there is no file. All
 * paths here are absolute, with links resolved except for the last part.
 */
export function writeSnapshot(
  path: string,
  { content, before }: { readonly content: NewContent; readonly before: string | null },
  show: ShowPath,
): ChangeSnapshot {
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
export function appendSnapshot(
  path: string,
  { content, isFirst }: { readonly content: string | Uint8Array; readonly isFirst: boolean },
  show: ShowPath,
): ChangeSnapshot {
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
export function moveSnapshot(
  { from, path }: { readonly from: string; readonly path: string },
  show: ShowPath,
): ChangeSnapshot {
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
export function deleteSnapshot(path: string, show: ShowPath): ChangeSnapshot {
  const before = presentStates(path, show)
  return { before, after: before.map(absentOf), contents: contentsAt(path) }
}

/** For a folder that is created, with its parents. */
export function folderSnapshot(path: string, show: ShowPath): ChangeSnapshot {
  const folders = [...missingFolders(path, show), { path: show(path), kind: 'folder' } as const]
  return { before: folders.map(absentOf), after: folders, contents: [] }
}

/** For a file or folder whose permission bits are set. */
export function modeSnapshot(path: string, mode: number, show: ShowPath): ChangeSnapshot {
  const present = presentStates(path, show).slice(0, 1)
  return { before: present, after: present.map((state) => ({ ...state, mode })), contents: contentsAt(path, 'itself') }
}

/** For a link that is created, possibly replacing a file or link. */
export function linkSnapshot(path: string, to: string, show: ShowPath): ChangeSnapshot {
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

function* contentsAt(path: string, which: 'itself' | 'all' = 'all'): Iterable<ContentToStore> {
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
