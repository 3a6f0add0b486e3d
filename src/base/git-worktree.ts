import { rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { entryStatus, namesIn } from './entries.ts'
import { isInside, realPath } from './files.ts'
import { readRegularFile } from './regular-file.ts'
import { repositoryAt } from './repository.ts'

/*
 * Removes work trees without running git: the repository may be missing when the folder of a run is removed, and no
 * program that it names is run. Each function can be interrupted anywhere and called again.
 */

/**
 * Removes a work tree (absolute path of its top) and its repository's record of it. Does nothing if it does not exist.
 * @throws the system's error
 */
export function removeWorktree(top: string): void {
  const entry = entryOf(top)
  // first, because the work tree says where it is
  if (entry !== undefined) removeEntry(entry)
  rmSync(top, { recursive: true, force: true })
}

/** Removes what git knows of a work tree; last the file by which it is recognized. */
function removeEntry(entry: string): void {
  for (const name of namesIn(entry)) if (name !== 'gitdir') rmSync(join(entry, name), { recursive: true, force: true })
  // a run that ends can do the same for another one at this moment
  rmSync(join(entry, 'gitdir'), { force: true })
  rmSync(entry, { recursive: true, force: true })
}

/**
 * Removes a folder and all work trees directly in it, and what the repository around a workspace (absolute) still knows
 * of others in it.
 */
export function removeWorktrees(
  folder: string,
  { of, workspace }: Pick<LostIn, 'of'> & { readonly workspace?: string },
): void {
  for (const name of namesIn(folder)) removeWorktree(join(folder, name))
  const common = workspace === undefined ? undefined : commonFolder(workspace)
  if (common !== undefined) forgetLostWorktrees(common, { folder: realPath(folder), of })
  rmSync(folder, { recursive: true, force: true })
}

/** The folder of git that all work trees of the repository around a folder share. */
function commonFolder(within: string): string | undefined {
  for (let at = within; ; at = dirname(at)) {
    const own = repositoryAt(join(at, '.git'))
    if (own !== undefined) return resolve(own, lineOf(join(own, 'commondir')) ?? '.')
    if (at === dirname(at)) return undefined
  }
}

/** The tops (absolute) of work trees that no longer exist, but are known to the repository around a folder (absolute). */
export function lostWorktrees(within: string): readonly string[] {
  const common = commonFolder(within)
  if (common === undefined) return []
  const entries = join(common, 'worktrees')
  return namesIn(entries).flatMap((name) => {
    const top = topOf(join(entries, name))
    return top === undefined || entryStatus(top) !== undefined ? [] : [top]
  })
}

/** The top of the work tree that an entry of git is for. */
function topOf(entry: string): string | undefined {
  const file = lineOf(join(entry, 'gitdir'))
  return file === undefined ? undefined : dirname(resolve(entry, file))
}

interface LostIn {
  /** Absolute, links resolved: the folder of the work trees. */
  readonly folder: string
  /** What the names of these work trees start with. */
  readonly of: string
}

/**
 * Removes a repository's records of work trees that no longer exist. `common` is git's own folder, which all its work
 * trees share.
 */
export function forgetLostWorktrees(common: string, { folder, of }: LostIn): void {
  const entries = join(common, 'worktrees')
  for (const name of namesIn(entries)) {
    const entry = join(entries, name)
    const top = topOf(entry)
    // git, or its removal, was killed before it said where the work tree is
    const isHalf = top === undefined && name.startsWith(of)
    const isLost = top !== undefined && isInside(folder, top) && entryStatus(top) === undefined
    if (isHalf || isLost) rmSync(entry, { recursive: true, force: true })
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
