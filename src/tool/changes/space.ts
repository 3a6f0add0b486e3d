import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { displayPath, isInside, realPath } from '../../base/files.ts'
import type { RunContext } from '../../event/context.ts'
import { allowedEntry, allowedPath, allowOf } from '../guard.ts'
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
import type { Tolerance } from './place.ts'
import { fileStatus, readText, type FileStatus } from '../workspace-reads.ts'

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
export function diskSpace(baseDir: string, context: RunContext): ChangeSpace {
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
