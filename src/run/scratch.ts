import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { displayPath, isInside } from '../base/files.ts'
import type { FileChangeRecord } from '../event/effects.ts'
import type { ScratchFiles } from '../journal/replayed-effects.ts'
import { entryHash } from '../tool/file-hash.ts'
import { isFolder, statusAt } from '../watch/prints.ts'
import { sha256 } from '../base/hash.ts'

export interface Scratch extends ScratchFiles {
  /** The folder of the files: those of the workspace below it, all others in `outside`. Undefined if there are none. */
  readonly folder: () => string | undefined
  /** Keeps the folder for the user, if it contains anything. Before that, it is removed when the process exits. */
  readonly leave: () => void
  readonly discard: () => void
  /** Display names of the changed files: relative to the workspace if inside. Sorted. */
  readonly files: () => readonly string[]
  /**
   * Display names, sorted, of the files that differ from those of the recorded run: a record does not contain the
   * original content of files that were appended to, copied, moved or packed, and the workspace no longer has it.
   */
  readonly unlike: () => readonly string[]
}

/**
 * A folder in which a replayed run changes files instead of in the workspace (absolute). Files that it changes are
 * first copied from the workspace if only that has them, as far as possible in their state before the recorded run.
 * Only the user can access the folder. The caller ends it with `leave` or `discard`.
 */
export function createScratch(workspace: string): Scratch {
  let root: string | undefined
  /** Paths whose state is that of the run, regardless of the workspace. */
  const touched = new Set<string>()
  const changed = new Set<string>()
  const unlike = new Set<string>()
  const appended = createAppendedFiles()

  function make(): string {
    // also if a second Ctrl-C ends the process immediately
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

  /** Copies a path from the workspace unless the run already changed it. True if the content is the workspace's. */
  function bring(path: string): boolean {
    const isOwn = [...touched].some((one) => isInside(one, path))
    if (isOwn || isThere(disk(path))) return false
    copyHere(path)
    return true
  }

  function copyHere(path: string): void {
    // a link would lead out of the folder
    if (kindOf(path) !== 'entry') return
    mkdirSync(dirname(disk(path)), { recursive: true })
    rmSync(disk(path), { recursive: true, force: true })
    cpSync(path, disk(path), { recursive: true, verbatimSymlinks: true })
  }

  /** False for a path that leads out of the folder. */
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

  /** Removes content that is not the recorded one, because it is from a different time. */
  function clear(record: FileChangeRecord, path: string): void {
    if (!isAsRecorded(disk(path), record)) rmSync(disk(path), { recursive: true, force: true })
  }

  /** Whether a path has the content of the recorded run, which is copied from the workspace if that still has it. */
  function isLike(record: FileChangeRecord, path: string): boolean {
    if (isAsRecorded(disk(path), record)) return true
    if (record.after === null || kindOf(path) !== 'entry' || !isAsRecorded(path, record)) return false
    copyHere(path)
    return true
  }

  /** Tracks the files that differ from the recorded ones. */
  function noteResult(record: FileChangeRecord, path: string, isDone: boolean): void {
    const source =
      record.op === 'move' && typeof record['from'] === 'string' ? resolve(workspace, record['from']) : path
    const moved = source === path ? [] : unlikeBelow(source)
    // these two do not change the content
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

/** Whether a path (absolute) has the state after a recorded change. Not for `append`. */
function isAsRecorded(path: string, { op, after }: FileChangeRecord): boolean {
  // the contents of a folder are subject to other changes
  if (op === 'mkdir' || (op === 'chmod' && isFolder(path))) return isFolder(path)
  try {
    return entryHash(path) === after
  } catch {
    return false
  }
}

/** Files to which recorded `append`s are applied again. Paths are absolute and used only as keys. */
interface AppendedFiles {
  /** Adds a text at its recorded offset, in whatever order the appends arrive now. */
  readonly add: (path: string, record: FileChangeRecord, file: AppendedFile) => void
  /** The files at or below a path whose content lacks some of the recorded text or differs from it. */
  readonly unlikeBelow: (path: string) => readonly string[]
  /** Stops tracking files whose content is going to change. */
  readonly forget: (path: string) => void
}

interface AppendedFile {
  readonly disk: string
  /** Whether the content before the first `add` may be the final one of the recorded run, with all its appends. */
  readonly isLeft: boolean
  readonly write: () => void
}

interface Piece {
  /** The size of the file before the append, in bytes. */
  readonly offset: number
  readonly bytes: number
}

interface State {
  /** The size of the original content, in bytes. */
  base: number
  readonly isLeft: boolean
  /** The appended pieces in their recorded order. */
  readonly pieces: Piece[]
}

function createAppendedFiles(): AppendedFiles {
  const states = new Map<string, State>()

  return {
    add(path, record, { disk, isLeft, write }) {
      const { offset, bytes, after } = record
      if (typeof offset !== 'number' || typeof bytes !== 'number') return write()
      const piece = { offset, bytes }
      const state = states.get(path) ?? { base: sizeOf(disk), isLeft, pieces: [] }
      states.set(path, state)
      if (state.isLeft && holds(disk, { base: state.base, piece, after })) {
        cut(disk, { from: offset, to: state.base, isEnd: state.pieces.length === 0 })
        state.base = offset
      }
      write()
      const index = state.pieces.findIndex((one) => one.offset > offset)
      if (index === -1) return void state.pieces.push(piece)
      moveEnd(disk, { bytes, to: endOf(state.base, state.pieces.slice(0, index)) })
      state.pieces.splice(index, 0, piece)
    },
    unlikeBelow: (path) => [...states].flatMap(([one, state]) => (isInside(path, one) && !isWhole(state) ? [one] : [])),
    forget(path) {
      for (const one of states.keys()) if (isInside(path, one)) states.delete(one)
    },
  }
}

function isWhole({ base, pieces }: State): boolean {
  let end = base
  for (const { offset, bytes } of pieces) {
    if (offset !== end) return false
    end += bytes
  }
  return true
}

function endOf(base: number, pieces: readonly Piece[]): number {
  return pieces.reduce((end, { bytes }) => end + bytes, base)
}

function sizeOf(disk: string): number {
  const status = statusAt(disk)
  return status?.isFile() === true ? Number(status.size) : 0
}

function holds(
  disk: string,
  { base, piece, after }: { readonly base: number; readonly piece: Piece; readonly after: string | null },
): boolean {
  const end = piece.offset + piece.bytes
  return end <= base && sha256(readFileSync(disk).subarray(piece.offset, end)) === after
}

function cut(
  disk: string,
  { from, to, isEnd }: { readonly from: number; readonly to: number; readonly isEnd: boolean },
): void {
  if (isEnd) return truncateSync(disk, from)
  const content = readFileSync(disk)
  writeFileSync(disk, Buffer.concat([content.subarray(0, from), content.subarray(to)]))
}

function moveEnd(disk: string, { bytes, to }: { readonly bytes: number; readonly to: number }): void {
  const content = readFileSync(disk)
  const end = content.length - bytes
  const parts = [content.subarray(0, to), content.subarray(end), content.subarray(to, end)]
  writeFileSync(disk, Buffer.concat(parts))
}
