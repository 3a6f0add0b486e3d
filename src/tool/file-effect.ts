import { entryStatus } from '../base/entries.ts'
import { BatonError, isBatonError, messageOf } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { emit, type RunContext } from '../event/context.ts'
import type { Disk, FileChangeRecord, PlannedChange } from '../event/effects.ts'
import type { Place } from '../event/place.ts'
import { entryHash } from './file-hash.ts'
import { allowedEntry, allowedPath, type Asking } from './guard.ts'
import type { ShowPath } from './kept-states.ts'
import { type FileStatus, notAFile, orUnreadable, statusAt } from './workspace-reads.ts'

/** A call that changes files: the context it runs in, and the place at which its effect is recorded. */
export interface FileCall {
  readonly context: RunContext
  readonly at: Place
}

/** A change as its caller requests it. */
export interface Asked {
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
  { op, path, ...asked }: Asked,
  call: FileCall,
  plan: (asking: Asking) => Planned | undefined,
): boolean {
  const { context, at } = call
  let changed = shown(path, call)
  const { effects } = context.services
  const hasChanged = effects.changeFile(at, { op, path: changed, ...asked }, (allow) => {
    const planned = plan({ context, allow })
    if (planned === undefined) return undefined
    const { record, act, keep } = planned
    changed = shown(record.path, call)
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
  return (path) => shown(path, call)
}

/** A path as displayed: relative to the workspace. */
export function shown(path: string, { context }: FileCall): string {
  return displayPath(context.scope.folders.workspace, path)
}

/** The hash of the entry at a path; null if it does not exist. @throws BatonError FILE_FAILED */
export function hashOf(path: string, call: FileCall): string | null {
  return orUnreadable(shown(path, call), () => entryHash(path))
}

/** @throws BatonError FILE_FAILED if something exists there */
export function refuseExisting(target: string, call: FileCall): void {
  if (statusAt(target) === undefined) return
  throw new BatonError('FILE_FAILED', `${shown(target, call)} already exists`, {
    hint: 'Pass { overwrite = true } to replace it.',
  })
}

/** Throws if the target cannot be written as a file; returns the current status. */
export function refuseOther(target: string, call: FileCall): FileStatus | undefined {
  const status = statusAt(target)
  if (status === undefined || status.kind === 'file') return status
  throw notAFile(shown(target, call), status.kind)
}

/** Who writes a file, and its new content, or at least the start of it. */
interface Writing {
  readonly asking: Asking
  readonly content: () => string | Uint8Array
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
  throw notAFile(shown(target, call), status.isDirectory() ? 'folder' : 'other')
}
