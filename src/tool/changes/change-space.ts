import { dirname, resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { displayPath, entryPath, isInside, realPath } from '../../base/files.ts'
import { allowedEntry, allowedPath, allowOf, type ReadContext } from '../guard.ts'
import {
  appendToFile,
  copyFile,
  deleteEntry,
  type FileCall,
  makeFolder,
  makeLink,
  moveEntry,
  removeEmptyFolder,
  saveFile,
  setMode,
} from '../workspace-files.ts'
import type { Tolerance } from './match-lines.ts'
import { fileStatus, type FileStatus, readText, statusAt } from '../workspace-reads.ts'
import type { Overlay, OverlayChange, OverlayEntry } from '../../event/overlay.ts'
import type { RunStore } from '../../event/context.ts'

/** The files that planning sees: those on disk, or those on disk after changes that are already planned. */
export interface Files {
  /** The kind of entry at an absolute path; undefined if it does not exist. */
  readonly kindAt: (path: string) => FileStatus['kind'] | undefined
  /** @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED */
  readonly textAt: (path: string) => string
  /** The size of a file; 0 if there is none. */
  readonly bytesAt: (path: string) => number
}

/** Why a change that could be applied is refused; called once per change, in order, with the files before it. */
export type Judge = (action: ChangeAction, files: Files) => string | undefined

type PathUse = 'read' | 'write' | 'delete'

/** Where changes are planned: the files, and the paths that may be used. */
export interface ChangeSpace {
  readonly files: Files
  /** How far the lines that patches remove may differ from the files; default: as in AIPack. */
  readonly tolerance?: Tolerance
  readonly judge?: Judge
  /** Limit of bytes that all changes together may write. */
  readonly maxBytes?: number | undefined
  /**
   * The absolute path of what a directive names, if it may be used this way.
   * @throws BatonError OUTSIDE_WORKSPACE if it leaves the base folder or the workspace, FILE_FAILED if it is protected
   */
  readonly resolve: (path: string, use: PathUse) => string
}

/** The files on disk below a base folder (absolute), as far as the permission of the context allows. */
export function diskSpace(baseDir: string, context: ReadContext): ChangeSpace {
  const shown = displayPath(context.scope.folders.workspace, baseDir)
  const folder = shown === '.' ? baseDir : shown
  const leaves = (path: string): BatonError =>
    new BatonError('OUTSIDE_WORKSPACE', `${path} leads out of ${folder}`, {
      hint: `Files can be changed only in ${baseDir}.`,
    })
  return {
    files: {
      kindAt: (path) => fileStatus(path, context)?.kind,
      textAt: (path) => readText(path, context),
      bytesAt: (path) => fileStatus(path, context)?.size ?? 0,
    },
    resolve(path, use) {
      const absolute = resolve(baseDir, path)
      if (/^~(?:\/|$)/.test(path) || !isInside(baseDir, absolute)) throw leaves(path)
      if (absolute === baseDir) throw new BatonError('FILE_FAILED', `${path} is the base folder itself`)
      const asking = { context, allow: allowOf(context) }
      const real = use === 'delete' ? allowedEntry(absolute, asking) : allowedPath(use, absolute, asking)
      if (!isInside(realPath(baseDir), real)) throw leaves(path)
      return absolute
    },
  }
}

/** A planned change of files. Paths are absolute. */
export type ChangeAction =
  | { readonly op: 'write'; readonly path: string; readonly content: string }
  /** `content` is the complete new content, `added` the new part at its end. */
  | { readonly op: 'append'; readonly path: string; readonly content: string; readonly added: string }
  | { readonly op: 'copy' | 'move'; readonly from: string; readonly path: string }
  | { readonly op: 'delete'; readonly path: string }

/** A step that restores an earlier state of a file. Paths are absolute. */
export type UndoStep =
  | { readonly op: 'move'; readonly from: string; readonly path: string }
  | { readonly op: 'write'; readonly path: string; readonly content: Uint8Array }
  | { readonly op: 'chmod'; readonly path: string; readonly mode: number }
  | { readonly op: 'link'; readonly path: string; readonly to: string }
  | { readonly op: 'delete' | 'mkdir' | 'rmdir'; readonly path: string }

/**
 * Performs one change, as one file effect at the place of the call.
 * @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED
 */
export function performStep(step: ChangeAction | UndoStep, call: FileCall): void {
  const { op, path } = step
  switch (op) {
    case 'write':
      return saveFile(path, step.content, call)
    case 'append':
      return appendToFile(path, step.added, call)
    case 'copy':
      return copyFile({ source: step.from, destination: path, overwrite: true }, call)
    case 'move':
      return moveEntry({ source: step.from, destination: path, overwrite: true }, call)
    case 'chmod':
      return setMode(path, step.mode, call)
    case 'link':
      return makeLink(path, step.to, call)
    case 'delete':
      return void deleteEntry(path, call)
    case 'mkdir':
      return void makeFolder(path, call)
    case 'rmdir':
      return void removeEmptyFolder(path, call)
  }
}

/** The number of bytes that an action writes. */
export function bytesWritten(action: ChangeAction, files: Files): number {
  switch (action.op) {
    case 'write':
      return Buffer.byteLength(action.content)
    case 'append':
      return Buffer.byteLength(action.added)
    case 'copy':
      return files.bytesAt(action.from)
    case 'move':
    case 'delete':
      return 0
  }
}

/** The files as they will be after the action, without changing any. */
export function filesAfter(files: Files, action: ChangeAction): Files {
  return (files instanceof PlannedFiles && files.isLatest ? files : new PlannedFiles(files, new Map(), 0)).after(action)
}

/** What a planned change leaves at a path. */
type Left =
  | { readonly kind: 'file'; readonly text: string }
  /** Created because something is written below it. */
  | { readonly kind: 'folder' | 'nothing' }
  /** The file that the base has at another path. */
  | { readonly kind: 'below'; readonly path: string }
  /** What was at another path before, with everything in it. */
  | { readonly kind: 'from'; readonly path: string }

interface Change {
  readonly count: number
  readonly left: Left
}

/**
 * Files after a number of planned changes, which are shared with later states. The cost of a lookup is the depth of the
 * path.
 */
class PlannedFiles implements Files {
  readonly #base: Files
  /** The changes of each path, the latest last. */
  readonly #changes: Map<string, Change[]>
  readonly #count: number
  #isLatest = true

  constructor(base: Files, changes: Map<string, Change[]>, count: number) {
    this.#base = base
    this.#changes = changes
    this.#count = count
  }

  get isLatest(): boolean {
    return this.#isLatest
  }

  readonly kindAt = (path: string): FileStatus['kind'] | undefined => {
    const found = this.#find(path)
    if (found.left === undefined) return this.#base.kindAt(found.path)
    if (found.left.kind === 'nothing' || found.at !== found.path) return undefined
    return found.left.kind
  }

  readonly textAt = (path: string): string => {
    const found = this.#find(path)
    return found.left?.kind === 'file' && found.at === found.path ? found.left.text : this.#base.textAt(found.path)
  }

  readonly bytesAt = (path: string): number => {
    const found = this.#find(path)
    if (found.left === undefined) return this.#base.bytesAt(found.path)
    return found.left.kind === 'file' && found.at === found.path ? Buffer.byteLength(found.left.text) : 0
  }

  /** The entry at a path: a planned one, or what the base has there or at another path. */
  entryAt(path: string): OverlayEntry {
    const found = this.#find(path)
    if (found.left === undefined) return { kind: 'disk', path: found.path }
    return found.at === found.path ? found.left : { kind: 'nothing' }
  }

  /** `replaces`: the previous text of a file is not needed any more, and is released. */
  after(action: ChangeAction, replaces = false): PlannedFiles {
    this.#isLatest = false
    const count = this.#count + 1
    const { path } = action
    const leave = (at: string, left: Left): void => {
      const changes = this.#changes.get(at)
      if (changes === undefined) this.#changes.set(at, [{ count, left }])
      else if (replaces && changes.at(-1)?.left.kind === 'file') changes.splice(-1, 1, { count, left })
      else changes.push({ count, left })
    }
    if (action.op === 'delete') leave(path, { kind: 'nothing' })
    else {
      for (const folder of foldersAbove(path)) {
        if (this.kindAt(folder) !== undefined) break
        leave(folder, { kind: 'folder' })
      }
      if (action.op === 'move') leave(action.from, { kind: 'nothing' })
      leave(path, 'from' in action ? this.#origin(action.from) : { kind: 'file', text: action.content })
    }
    return new PlannedFiles(this.#base, this.#changes, count)
  }

  #origin(path: string): Left {
    const { left, at, path: below } = this.#find(path)
    if (this.kindAt(path) !== 'file') return { kind: 'from', path }
    return left?.kind === 'file' && at === below ? left : { kind: 'below', path: below }
  }

  /** The last change that determines the entry at a path, followed through moves; if none, the path in the base. */
  #find(asked: string): {
    readonly path: string
    readonly at?: string
    readonly left?: Exclude<Left, { kind: 'from' | 'below' }>
  } {
    let path = asked
    let before = this.#count + 1
    for (;;) {
      const found = this.#last(path, before)
      if (found === undefined) return { path }
      const { at, change } = found
      if (change.left.kind === 'below' && at === path) return { path: change.left.path }
      if (change.left.kind === 'below') return { path, at, left: { kind: 'nothing' } }
      if (change.left.kind !== 'from') return { path, at, left: change.left }
      path = change.left.path + path.slice(at.length)
      before = change.count
    }
  }

  #last(path: string, before: number): { readonly at: string; readonly change: Change } | undefined {
    let last: { readonly at: string; readonly change: Change } | undefined
    for (const at of [path, ...foldersAbove(path)]) {
      const change = this.#changes.get(at)?.findLast((one) => one.count < before)
      // the creation of a folder says nothing about its content
      if (change === undefined || (change.left.kind === 'folder' && at !== path)) continue
      if (last === undefined || change.count > last.change.count) last = { at, change }
    }
    return last
  }
}

function foldersAbove(path: string): readonly string[] {
  const folders: string[] = []
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) folders.push(folder)
  return folders
}

/** After this many attempts, the last state of files that keep changing is used. */
const mostLooks = 3

/** Repeats a computation on files until they are unchanged afterwards, because it may take a while. */
export async function whileUnchanged<T>(space: ChangeSpace, work: (space: ChangeSpace) => Promise<T>): Promise<T> {
  for (let look = 1; ; look += 1) {
    const { files, hasChanged } = noted(space.files)
    const result = await work({ ...space, files })
    if (look === mostLooks || !hasChanged()) return result
  }
}

function noted(present: Files): { readonly files: Files; readonly hasChanged: () => boolean } {
  const read = new Map<string, string>()
  const files: Files = {
    kindAt: present.kindAt,
    bytesAt: present.bytesAt,
    textAt(path) {
      const text = present.textAt(path)
      read.set(path, text)
      return text
    },
  }
  const isAsRead = ([path, text]: readonly [string, string]): boolean => {
    try {
      return present.textAt(path) === text
    } catch {
      return false
    }
  }
  return { files, hasChanged: () => ![...read].every(isAsRead) }
}

/** Total characters of all files. */
export const mostPlanned = 64 * 1024 * 1024

/** An overlay without planned changes. */
export function createOverlay(most = mostPlanned): Overlay {
  let files = new PlannedFiles(onDisk, new Map(), 0)
  let size = 0
  let hasMoved = false

  function at(path: string): OverlayEntry {
    const entry = entryPath(path)
    const found = files.entryAt(entry)
    if (found.kind !== 'disk' || found.path !== entry) return found
    const real = realPath(path)
    const target = real === entry ? found : files.entryAt(real)
    return target.kind === 'disk' && target.path === real ? { kind: 'disk', path } : target
  }

  return {
    at,
    add(change, text = '') {
      if (change.op !== 'write') {
        const from = 'from' in change ? { op: change.op, from: entryPath(change.from) } : { op: change.op }
        files = files.after({ ...from, path: entryPath(change.path) } as Parameters<PlannedFiles['after']>[0])
        hasMoved ||= change.op !== 'delete'
        return true
      }
      // a write through a link goes to its target
      const path =
        files.entryAt(entryPath(change.path)).kind === 'disk' ? realPath(change.path) : entryPath(change.path)
      const before = files.entryAt(path)
      const isReplaced = !hasMoved && before.kind === 'file'
      const after = size + text.length - (isReplaced ? before.text.length : 0)
      if (after > most) return false
      size = after
      files = files.after({ op: 'write', path, content: text }, !hasMoved)
      return true
    },
  }
}

/** Used only to find out which folders exist. */
const onDisk: Files = {
  kindAt: (path) => statusAt(path)?.kind,
  textAt: () => '',
  bytesAt: () => 0,
}

/** The files with the overlay applied; the given ones if there is none. */
export function overlaid(overlay: Overlay | undefined, disk: Files): Files {
  if (overlay === undefined) return disk
  return {
    kindAt(path) {
      const entry = overlay.at(path)
      if (entry.kind === 'disk') return disk.kindAt(entry.path)
      return entry.kind === 'nothing' ? undefined : entry.kind
    },
    textAt(path) {
      const entry = overlay.at(path)
      return entry.kind === 'file' ? entry.text : disk.textAt(entry.kind === 'disk' ? entry.path : path)
    },
    bytesAt(path) {
      const entry = overlay.at(path)
      if (entry.kind === 'disk') return disk.bytesAt(entry.path)
      return entry.kind === 'file' ? Buffer.byteLength(entry.text) : 0
    },
  }
}

/**
 * Notes what part of a run that changes no files has planned. `texts`: file contents by hash; missing ones are looked
 * up in what is stored with the run. Returns false if the overlay is full, so that part of it is not noted.
 */
export function notePlanned(
  changes: readonly OverlayChange[],
  texts: ReadonlyMap<string, string>,
  { planned, texts: kept, sources }: RunStore,
): boolean {
  if (planned === undefined) return true
  let isAll = true
  for (const change of changes) {
    const text = change.op === 'write' ? (texts.get(change.hash) ?? kept?.find(change.hash)) : ''
    // a replay answers everything from its record, and may not have this text
    if (text === undefined) continue
    const there = planned.at(change.path)
    const isNew = there.kind === 'disk' ? statusAt(there.path) === undefined : there.kind === 'nothing'
    if (isNew && change.op !== 'delete') sources.make(realPath(change.path))
    isAll = planned.add(change, text) && isAll
  }
  return isAll
}
