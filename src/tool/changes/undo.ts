import { existsSync, lstatSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { BatonError, isBatonError } from '../../base/error.ts'
import { displayPath, realPath } from '../../base/files.ts'
import {
  deleteEntry,
  type FileCall,
  makeFolder,
  makeLink,
  moveEntry,
  removeEmptyFolder,
  saveFile,
  setMode,
} from '../workspace-files.ts'
import type { ChangeAction } from './action.ts'
import { type Snapshot, takeSnapshot } from './snapshot.ts'

/** How the files were that one action is about to change. Paths are absolute. */
export interface Before {
  /** Where the action writes, moves to or deletes. */
  readonly path: string
  readonly present: Snapshot
  /** Folders above it that are missing, the deepest first. */
  readonly missingFolders: readonly string[]
  /** Only of moves. */
  readonly movedFrom?: string
}

/**
 * Looks at what an action is about to change.
 * @throws BatonError FILE_FAILED
 */
export function beforeAction(action: ChangeAction): Before {
  const path = action.op === 'delete' ? entryPath(action.path) : realPath(action.path)
  const before = { path, present: takeSnapshot(path), missingFolders: missingAbove(path) }
  return action.op === 'move' ? { ...before, movedFrom: entryPath(action.from) } : before
}

/** The path of the entry itself, when it is a link: only the folders on the way to it are resolved. */
function entryPath(path: string): string {
  return join(realPath(dirname(path)), basename(path))
}

function missingAbove(path: string): readonly string[] {
  const folder = dirname(path)
  return existsSync(folder) || folder === path ? [] : [folder, ...missingAbove(folder)]
}

/** One step on the way back. Paths are absolute. */
type UndoStep =
  | { readonly op: 'move'; readonly from: string; readonly path: string }
  | { readonly op: 'write'; readonly path: string; readonly content: Uint8Array }
  | { readonly op: 'chmod'; readonly path: string; readonly mode: number }
  | { readonly op: 'link'; readonly path: string; readonly to: string }
  | { readonly op: 'delete' | 'mkdir' | 'rmdir'; readonly path: string }

/**
 * Makes the files what they were before one action, whether it was done, done in part or not at all. What it finds is
 * an observation, each step a file effect, both below the place of the call. Gives what could not be put back, in words.
 */
export function undoAction(before: Before, { context, at }: FileCall): readonly string[] {
  const failures: string[] = []
  const attempt = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      if (!isBatonError(error) || (error.code !== 'FILE_FAILED' && error.code !== 'OUTSIDE_WORKSPACE')) throw error
      failures.push(error.message)
    }
  }
  attempt(() => {
    const path = displayPath(context.workspace, before.path)
    const steps = context.effects.observe([...at, 'plan'], { name: 'file_undo', args: [path] }, () => undoSteps(before))
    for (const [index, step] of steps.entries()) {
      attempt(() => performStep(step, { context, at: [...at, String(index)] }))
    }
  })
  return failures
}

function undoSteps(before: Before): readonly UndoStep[] {
  const folders = before.missingFolders.filter((path) => existsSync(path))
  return [...entrySteps(before), ...folders.map((path) => ({ op: 'rmdir', path }) as const)]
}

function entrySteps({ path, present, movedFrom }: Before): readonly UndoStep[] {
  const now = takeSnapshot(path)
  if (movedFrom === undefined || equalSnapshots(now, present)) return stepsTo(path, present, now)
  if (!isThere(movedFrom)) {
    return [{ op: 'move', from: path, path: movedFrom }, ...stepsTo(path, present, { kind: 'absent' })]
  }
  throw new BatonError('FILE_FAILED', `a move stopped half-way: parts are at ${movedFrom} and at ${path}`)
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/** What turns what stands at a path now into what is wanted there. Equal parts are left alone. */
function stepsTo(path: string, wanted: Snapshot, now: Snapshot): readonly UndoStep[] {
  if (now.kind !== 'absent' && now.kind !== wanted.kind) {
    return [{ op: 'delete', path }, ...stepsTo(path, wanted, { kind: 'absent' })]
  }
  switch (wanted.kind) {
    case 'absent':
      return []
    case 'file': {
      const isSame = now.kind === 'file' && Buffer.compare(now.content, wanted.content) === 0
      const write: readonly UndoStep[] = isSame ? [] : [{ op: 'write', path, content: wanted.content }]
      return [...write, ...modeSteps(path, wanted, now)]
    }
    case 'link': {
      if (now.kind === 'link' && now.to === wanted.to) return []
      const clear: readonly UndoStep[] = now.kind === 'link' ? [{ op: 'delete', path }] : []
      return [...clear, { op: 'link', path, to: wanted.to }]
    }
    case 'folder': {
      const make: readonly UndoStep[] = now.kind === 'absent' ? [{ op: 'mkdir', path }] : []
      return [...make, ...entriesTo(path, wanted, now), ...modeSteps(path, wanted, now)]
    }
  }
}

type Folder = Extract<Snapshot, { readonly kind: 'folder' }>

function entriesTo(path: string, wanted: Folder, now: Snapshot): readonly UndoStep[] {
  const there = new Map(now.kind === 'folder' ? now.entries.map(({ name, entry }) => [name, entry]) : [])
  return wanted.entries.flatMap(({ name, entry }) =>
    stepsTo(join(path, name), entry, there.get(name) ?? { kind: 'absent' }),
  )
}

function modeSteps(path: string, { mode }: { readonly mode: number }, now: Snapshot): readonly UndoStep[] {
  return 'mode' in now && now.mode === mode ? [] : [{ op: 'chmod', path, mode }]
}

function equalSnapshots(one: Snapshot, other: Snapshot): boolean {
  return one.kind === other.kind && stepsTo('', one, other).length === 0 && stepsTo('', other, one).length === 0
}

function performStep(step: UndoStep, call: FileCall): void {
  switch (step.op) {
    case 'move':
      moveEntry({ source: step.from, destination: step.path, overwrite: true }, call)
      return
    case 'write':
      saveFile(step.path, step.content, call)
      return
    case 'chmod':
      setMode(step.path, step.mode, call)
      return
    case 'link':
      makeLink(step.path, step.to, call)
      return
    case 'mkdir':
      makeFolder(step.path, call)
      return
    case 'delete':
      deleteEntry(step.path, call)
      return
    case 'rmdir':
      removeEmptyFolder(step.path, call)
      return
  }
}
