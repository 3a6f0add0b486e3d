import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { displayPath, isInside } from '../base/files.ts'
import type { FileChangeRecord } from '../event/effects.ts'
import type { ScratchFiles } from '../journal/replayed-effects.ts'
import { entryHash } from '../tool/file-hash.ts'
import { isFolder } from '../watch/prints.ts'
import { createAppendedFiles } from './appended-files.ts'

export interface Scratch extends ScratchFiles {
  /** Where the files are: below it those of the workspace, in `outside` all others. Undefined where there are none. */
  readonly folder: () => string | undefined
  /** Leaves the folder to the user, if there is something to look at. Until then it is removed when the process exits. */
  readonly leave: () => void
  readonly discard: () => void
  /** The files that were changed, as they are shown: relative to the workspace when inside. Sorted. */
  readonly files: () => readonly string[]
  /**
   * The files that are not, or not all, what the recorded run has made: a record does not hold what was added to, copied,
   * moved or packed, and the workspace has it no more. As they are shown, sorted.
   */
  readonly unlike: () => readonly string[]
}

/**
 * A folder in which a replayed run changes files in place of the workspace (absolute). What it changes and only the
 * workspace has is copied first, as it was before the recorded run as far as that can be known. Nobody but the user can
 * enter the folder. The caller ends it by `leave` or `discard`.
 */
export function createScratch(workspace: string): Scratch {
  let root: string | undefined
  /** Paths that are as the run left them, whatever the workspace has there. */
  const touched = new Set<string>()
  const changed = new Set<string>()
  const unlike = new Set<string>()
  const appended = createAppendedFiles()

  function make(): string {
    // also when a second Ctrl-C ends the process at once
    process.once('exit', discard)
    return realpathSync(mkdtempSync(join(tmpdir(), 'baton-replay-')))
  }

  function discard(): void {
    process.off('exit', discard)
    if (root !== undefined) rmSync(root, { recursive: true, force: true })
    root = undefined
  }

  function disk(path: string): string {
    root ??= make()
    return isInside(workspace, path)
      ? join(root, relative(workspace, path))
      : join(root, 'outside', relative('/', path))
  }

  function shown(paths: readonly string[]): readonly string[] {
    return [...new Set(paths)].map((path) => displayPath(workspace, path)).toSorted()
  }

  /** Makes what stands at a path what it would be by now. True when that is what the workspace has. */
  function bring(path: string): boolean {
    const isOwn = [...touched].some((one) => isInside(one, path))
    if (isOwn || isThere(disk(path))) return false
    copyHere(path)
    return true
  }

  function copyHere(path: string): void {
    // a link would lead out of here again
    if (kindOf(path) !== 'entry') return
    mkdirSync(dirname(disk(path)), { recursive: true })
    rmSync(disk(path), { recursive: true, force: true })
    cpSync(path, disk(path), { recursive: true, verbatimSymlinks: true })
  }

  /** False for a path that leads out of here. */
  function apply(record: FileChangeRecord, path: string, write: Parameters<ScratchFiles['change']>[1]): boolean {
    const { op, from, mode } = record
    mkdirSync(dirname(disk(path)), { recursive: true })
    if (!isInside(disk(workspace), realpathSync(dirname(disk(path))))) return false
    if (kindOf(disk(path)) === 'link') rmSync(disk(path))
    switch (op) {
      case 'delete':
        rmSync(disk(path), { recursive: true, force: true })
        return true
      case 'mkdir':
        mkdirSync(disk(path), { recursive: true })
        return true
      case 'chmod':
        if (typeof mode === 'number' && existsSync(disk(path))) chmodSync(disk(path), mode)
        return true
      case 'copy':
      case 'move': {
        const source = typeof from === 'string' ? disk(resolve(workspace, from)) : undefined
        if (source !== undefined && isThere(source)) transfer(op, source, disk(path))
        else clear(record, path)
        return true
      }
      default:
        if (write === undefined) clear(record, path)
        else write(disk)
        return true
    }
  }

  /** What is there, and is not what would have to be made, is of another time. */
  function clear(record: FileChangeRecord, path: string): void {
    if (!isAsRecorded(disk(path), record)) rmSync(disk(path), { recursive: true, force: true })
  }

  /** Whether a path holds what the recorded run has made there, if need be as the workspace has it since. */
  function isLike(record: FileChangeRecord, path: string): boolean {
    if (isAsRecorded(disk(path), record)) return true
    if (record.after === null || kindOf(path) !== 'entry' || !isAsRecorded(path, record)) return false
    copyHere(path)
    return true
  }

  /** Keeps which files are not what they were then. */
  function noteResult(record: FileChangeRecord, path: string, isDone: boolean): void {
    const source =
      record.op === 'move' && typeof record['from'] === 'string' ? resolve(workspace, record['from']) : path
    const moved = source === path ? [] : unlikeBelow(source)
    // these two leave the content as it is
    if (record.op !== 'mkdir' && record.op !== 'chmod') for (const one of [path, source]) forget(one)
    for (const one of moved) if (one !== source) unlike.add(join(path, relative(source, one)))
    if (!isDone || !isLike(record, path)) unlike.add(path)
  }

  function files(): readonly string[] {
    return shown([...changed].filter((path) => isThere(disk(path))))
  }

  function unlikeBelow(path: string): readonly string[] {
    return [...[...unlike].filter((one) => isInside(path, one)), ...appended.unlikeBelow(path)]
  }

  function forget(path: string): void {
    appended.forget(path)
    for (const one of unlikeBelow(path)) unlike.delete(one)
  }

  return {
    change(record, write) {
      const path = resolve(workspace, record.path)
      const involved = typeof record['from'] === 'string' ? [path, resolve(workspace, record['from'])] : [path]
      const [isLeft = false] = involved.map((one) => bring(one))
      if (record.op === 'append' && write !== undefined) {
        const add = (): void => appended.add(path, record, { disk: disk(path), isLeft, write: () => write(disk) })
        if (!apply(record, path, add)) unlike.add(path)
      } else noteResult(record, path, apply(record, path, write))
      for (const one of record.op === 'copy' ? [path] : involved) touched.add(one)
      changed.add(path)
    },
    folder: () => root,
    files,
    unlike: () => shown(unlikeBelow('/')),
    leave() {
      if (files().length === 0 && unlikeBelow('/').length === 0) discard()
      else process.off('exit', discard)
    },
    discard,
  }
}

function transfer(op: 'copy' | 'move', from: string, to: string): void {
  if (from === to) return
  rmSync(to, { recursive: true, force: true })
  if (op === 'move') renameSync(from, to)
  else cpSync(from, to, { recursive: true, verbatimSymlinks: true })
}

function kindOf(path: string): 'link' | 'entry' | 'nothing' {
  const status = lstatSync(path, { throwIfNoEntry: false })
  if (status === undefined) return 'nothing'
  return status.isSymbolicLink() ? 'link' : 'entry'
}

function isThere(path: string): boolean {
  return kindOf(path) !== 'nothing'
}

/** Whether what stands at a path (absolute) is what a recorded change has made there. Not for `append`. */
function isAsRecorded(path: string, { op, after }: FileChangeRecord): boolean {
  // which files stand in a folder is a matter of other changes
  if (op === 'mkdir' || (op === 'chmod' && isFolder(path))) return isFolder(path)
  try {
    return entryHash(path) === after
  } catch {
    return false
  }
}
