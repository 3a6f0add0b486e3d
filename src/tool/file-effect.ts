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

/** A call that changes files: the context it runs in, and the place its effect is recorded at. */
export interface FileCall {
  readonly context: RunContext
  readonly at: Place
}

/** A change as its caller asks for it. */
export interface Asked {
  readonly op: string
  /** Absolute. */
  readonly path: string
  /** As it is shown. */
  readonly from?: string
  /** As it is shown: what the content is made of. */
  readonly source?: string
}

/** What it comes to. */
export interface Planned {
  /** `path` is absolute here, and where links lead. */
  readonly record: Omit<FileChangeRecord, 'op'> & {
    readonly path: string
    readonly before: string | null
    readonly after: string | null
  }
  readonly act: (disk: Disk) => void
  readonly keep: PlannedChange['keep'] & {}
}

/**
 * One file effect: asks whether it is allowed, records it, does it, and sends `file.changed`. True when something has changed.
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

/** How paths are named in records. */
export function showIn(call: FileCall): ShowPath {
  return (path) => shown(path, call)
}

/** A path as a person sees it: from the workspace. */
export function shown(path: string, { context }: FileCall): string {
  return displayPath(context.scope.folders.workspace, path)
}

/** What stands at a path, as one hash; null for nothing. @throws BatonError FILE_FAILED */
export function hashOf(path: string, call: FileCall): string | null {
  return orUnreadable(shown(path, call), () => entryHash(path))
}

/** @throws BatonError FILE_FAILED where something stands */
export function refuseExisting(target: string, call: FileCall): void {
  if (statusAt(target) === undefined) return
  throw new BatonError('FILE_FAILED', `${shown(target, call)} exists already`, {
    hint: 'Pass { overwrite = true } to replace it.',
  })
}

/** Refuses what cannot be written as a file; gives what is there now. */
export function refuseOther(target: string, call: FileCall): FileStatus | undefined {
  const status = statusAt(target)
  if (status === undefined || status.kind === 'file') return status
  throw notAFile(shown(target, call), status.kind)
}

/** Who asks for a file to be written, and what it will hold, or its beginning. */
interface Writing {
  readonly asking: Asking
  readonly content: () => string | Uint8Array
}

/** Where a file is written: where links lead. */
export function writtenPath(path: string, call: FileCall, { asking, content }: Writing): string {
  const target = allowedPath('write', path, asking, content)
  refuseOther(target, call)
  return target
}

/** The path of a file or link that is replaced itself. */
export function replacedEntry(path: string, call: FileCall, { asking, content }: Writing): string {
  const target = allowedEntry(path, asking)
  asking.allow({ kind: 'write', path: target, named: path }, content)
  const status = entryStatus(target)
  if (status === undefined || status.isFile() || status.isSymbolicLink()) return target
  throw notAFile(shown(target, call), status.isDirectory() ? 'folder' : 'other')
}
