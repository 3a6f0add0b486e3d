import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { displayPath, isInside, realPath } from '../../base/files.ts'
import type { RunContext } from '../../event/context.ts'
import { guard, guardEntry } from '../guard.ts'
import { fileStatus, readText, type FileStatus } from '../workspace-reads.ts'

/** What planning knows of the files: those on disk, or those on disk after changes that are planned already. */
export interface Files {
  /** What stands at an absolute path; undefined when nothing does. */
  readonly kindAt: (path: string) => FileStatus['kind'] | undefined
  /** @throws BatonError OUTSIDE_WORKSPACE, FILE_FAILED */
  readonly textAt: (path: string) => string
}

/** How a change uses a path. */
type PathUse = 'read' | 'write' | 'delete'

/** Where changes are planned: the files, and the paths that may be used. */
export interface ChangeSpace {
  readonly files: Files
  /**
   * The absolute path of what a directive names, when it may be used so.
   * @throws BatonError OUTSIDE_WORKSPACE when it leaves the base folder or the workspace, FILE_FAILED when it is
   * protected
   */
  readonly resolve: (path: string, use: PathUse) => string
}

/** The space of files on disk below a base folder (absolute), guarded by the policy of the context (DESIGN 9). */
export function diskSpace(baseDir: string, context: RunContext): ChangeSpace {
  const shown = displayPath(context.workspace, baseDir)
  const folder = shown === '.' ? baseDir : shown
  const leaves = (path: string): BatonError =>
    new BatonError('OUTSIDE_WORKSPACE', `${path} leads out of ${folder}`, {
      hint: `File changes reach only what is below ${baseDir}.`,
    })
  return {
    files: {
      kindAt: (path) => fileStatus(path, context)?.kind,
      textAt: (path) => readText(path, context),
    },
    resolve(path, use) {
      const absolute = resolve(baseDir, path)
      if (/^~(?:\/|$)/.test(path) || !isInside(baseDir, absolute)) throw leaves(path)
      if (absolute === baseDir) throw new BatonError('FILE_FAILED', `${path} is the base folder itself`)
      const real = use === 'delete' ? guardEntry(absolute, context) : guard(use, absolute, context)
      if (!isInside(realPath(baseDir), real)) throw leaves(path)
      return absolute
    },
  }
}
