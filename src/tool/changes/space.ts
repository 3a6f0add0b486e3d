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

/** What planning knows of the files: those on disk, or those on disk after changes that are planned already. */
export interface Files {
  /** What stands at an absolute path; undefined when nothing does. */
  readonly kindAt: (path: string) => FileStatus['kind'] | undefined
  /** @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED */
  readonly textAt: (path: string) => string
  /** Of a file; 0 where there is none. */
  readonly bytesAt: (path: string) => number
}

/** Why a change that could be carried out is not to be; asked once for each, in order, with the files before it. */
export type Judge = (action: ChangeAction, files: Files) => string | undefined

type PathUse = 'read' | 'write' | 'delete'

/** Where changes are planned: the files, and the paths that may be used. */
export interface ChangeSpace {
  readonly files: Files
  /** How far the lines that patches remove may differ from the files; as in AIPack when left out. */
  readonly tolerance?: Tolerance
  readonly judge?: Judge
  /** What all changes together may write. */
  readonly maxBytes?: number | undefined
  /**
   * The absolute path of what a directive names, when it may be used so.
   * @throws BatonError OUTSIDE_WORKSPACE when it leaves the base folder or the workspace, FILE_FAILED when it is
   * protected
   */
  readonly resolve: (path: string, use: PathUse) => string
}

/** The space of files on disk below a base folder (absolute), as the permission of the context allows. */
export function diskSpace(baseDir: string, context: RunContext): ChangeSpace {
  const shown = displayPath(context.scope.folders.workspace, baseDir)
  const folder = shown === '.' ? baseDir : shown
  const leaves = (path: string): BatonError =>
    new BatonError('OUTSIDE_WORKSPACE', `${path} leads out of ${folder}`, {
      hint: `File changes reach only what is below ${baseDir}.`,
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

/** A change of files that has been worked out. Paths are absolute. */
export type ChangeAction =
  | { readonly op: 'write'; readonly path: string; readonly content: string }
  /** `content` is what the file holds afterwards, `added` what is new at its end. */
  | { readonly op: 'append'; readonly path: string; readonly content: string; readonly added: string }
  | { readonly op: 'copy' | 'move'; readonly from: string; readonly path: string }
  | { readonly op: 'delete'; readonly path: string }

/** What puts a file back as it was. Paths are absolute. */
export type UndoStep =
  | { readonly op: 'move'; readonly from: string; readonly path: string }
  | { readonly op: 'write'; readonly path: string; readonly content: Uint8Array }
  | { readonly op: 'chmod'; readonly path: string; readonly mode: number }
  | { readonly op: 'link'; readonly path: string; readonly to: string }
  | { readonly op: 'delete' | 'mkdir' | 'rmdir'; readonly path: string }

/** Carries out one change, as one file effect at the place of the call. @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED */
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

/** What an action writes, in bytes. */
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
