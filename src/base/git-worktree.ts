import { rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { entryStatus, namesIn } from './entries.ts'
import { isInside, realPath } from './files.ts'
import { readRegularFile } from './regular-file.ts'

/*
 * Work trees that git knows of are removed here without git: whoever removes the folder of a run need not have the
 * repository at hand, and runs nothing that it names.
 */

/**
 * Removes a work tree (absolute path of its top) with what its repository knows of it. What is not there is no error.
 * @throws the error of the system
 */
export function removeWorktree(top: string): void {
  const entry = entryOf(top)
  rmSync(top, { recursive: true, force: true })
  if (entry !== undefined) rmSync(entry, { recursive: true, force: true })
}

/** Removes a folder and all work trees that are directly in it. */
export function removeWorktrees(folder: string): void {
  for (const name of namesIn(folder)) removeWorktree(join(folder, name))
  rmSync(folder, { recursive: true, force: true })
}

/**
 * Removes what a repository knows of work trees below a folder (absolute, links resolved) that are gone: whoever has removed
 * them did not tell it. `common` is git's own folder, the one that all its work trees share.
 */
export function forgetLostWorktrees(common: string, folder: string): void {
  for (const name of namesIn(join(common, 'worktrees'))) {
    const entry = join(common, 'worktrees', name)
    const file = lineOf(join(entry, 'gitdir'))
    if (file === undefined) continue
    const top = dirname(resolve(entry, file))
    if (isInside(folder, top) && entryStatus(top) === undefined) rmSync(entry, { recursive: true, force: true })
  }
}

/**
 * The folder in which git keeps what it knows of a work tree. Undefined where the two do not name each other: a program may have
 * written something else into the work tree.
 */
function entryOf(top: string): string | undefined {
  const named = lineOf(join(top, '.git'))
  if (named?.startsWith('gitdir: ') !== true) return undefined
  const entry = resolve(top, named.slice('gitdir: '.length))
  const file = lineOf(join(entry, 'gitdir'))
  if (file === undefined || basename(dirname(entry)) !== 'worktrees') return undefined
  return realPath(resolve(entry, file)) === realPath(join(top, '.git')) ? entry : undefined
}

const mostBytes = 64 * 1024

/** The text of a small file without its last line break. */
function lineOf(file: string): string | undefined {
  const status = entryStatus(file)
  if (status?.isFile() !== true || status.size > mostBytes) return undefined
  return readRegularFile(file).toString('utf8').replace(/\n$/, '')
}
