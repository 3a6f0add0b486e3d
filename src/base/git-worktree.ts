import { rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { entryStatus, namesIn } from './entries.ts'
import { isInside, realPath } from './files.ts'
import { readRegularFile } from './regular-file.ts'

/*
 * Removes work trees without running git: the repository may be missing when the folder of a run is removed, and no
 * program that it names is run.
 */

/**
 * Removes a work tree (absolute path of its top) and its repository's record of it. Does nothing if it does not exist.
 * @throws the system's error
 */
export function removeWorktree(top: string): void {
  const entry = entryOf(top)
  rmSync(top, { recursive: true, force: true })
  if (entry !== undefined) rmSync(entry, { recursive: true, force: true })
}

/** Removes a folder and all work trees directly in it. */
export function removeWorktrees(folder: string): void {
  for (const name of namesIn(folder)) removeWorktree(join(folder, name))
  rmSync(folder, { recursive: true, force: true })
}

/**
 * Removes a repository's records of work trees below a folder (absolute, links resolved) that no longer exist. `common`
 * is git's own folder, which all its work trees share.
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
 * The folder in which git keeps its record of a work tree. Undefined if the two do not name each other: a program may
 * have written something else into the work tree.
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
