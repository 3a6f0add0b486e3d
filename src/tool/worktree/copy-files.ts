import {
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  type Stats,
  symlinkSync,
  utimesSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createTurns } from '../../base/concurrency.ts'
import { entryStatus } from '../../base/entries.ts'
import { type GitPlace, partsOf, printedByGit } from './tree-git.ts'

/** What is copied from a work tree into another one. Paths are from its top. */
export interface Listed {
  /** Files and links: tracked ones, including those of submodules, and untracked ones that are not ignored. */
  readonly files: readonly string[]
  /** Folders of submodules that are not initialized. */
  readonly emptyFolders: readonly string[]
  /** Nested repositories that are not submodules; they are not copied. */
  readonly repositories: readonly string[]
}

/**
 * Lists the contents of a work tree (`place.cwd` is its top) and its submodules, without ignored and deleted files.
 */
export async function listFiles(place: GitPlace, signal: AbortSignal, below = ''): Promise<Listed> {
  const tracked = partsOf(await printedByGit(place, ['ls-files', '-z', '--stage'], signal)).map(readStaged)
  const others = partsOf(
    await printedByGit(place, ['ls-files', '-z', '--others', '--exclude-standard', '--full-name'], signal),
  )
  const named = (path: string): string => join(below, path)
  const listed = {
    files: [
      ...new Set([
        ...tracked.filter(({ isModule }) => !isModule).map(({ path }) => named(path)),
        ...others.filter((path) => !path.endsWith('/')).map(named),
      ]),
    ],
    emptyFolders: [] as string[],
    repositories: others.filter((path) => path.endsWith('/')).map(named),
  }
  for (const { path } of tracked.filter(({ isModule }) => isModule)) {
    const top = join(place.cwd, path)
    if (entryStatus(join(top, '.git')) === undefined) {
      listed.emptyFolders.push(named(path))
      continue
    }
    const inner = await listFiles({ ...place, cwd: top }, signal, named(path))
    listed.files.push(...inner.files)
    listed.emptyFolders.push(...inner.emptyFolders)
    listed.repositories.push(...inner.repositories)
  }
  return listed
}

/** A line of `git ls-files --stage`: mode, id and stage, a tab, and the path. */
function readStaged(line: string): { readonly path: string; readonly isModule: boolean } {
  return { path: line.slice(line.indexOf('\t') + 1), isModule: line.startsWith('160000 ') }
}

/**
 * Copies files and links from one folder to another (both absolute), unchanged, with mode and times. Returns the paths
 * that were copied: files that are gone by now, or whose path leads through a link, are skipped.
 */
export async function copyFiles(
  paths: readonly string[],
  { from, to }: { readonly from: string; readonly to: string },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const folders = new Map<string, boolean>([['.', true]])
  const turns = createTurns()
  const copied: string[] = []

  /** Whether the path is a real folder; if so, it is created in the copy. */
  function folder(path: string): boolean {
    const known = folders.get(path)
    if (known !== undefined) return known
    const isThere = folder(dirname(path)) && entryStatus(join(from, path))?.isDirectory() === true
    if (isThere) mkdirSync(join(to, path), { recursive: true })
    folders.set(path, isThere)
    return isThere
  }

  for (const path of paths) {
    await turns.pass(signal)
    const status = folder(dirname(path)) ? entryStatus(join(from, path)) : undefined
    if (status !== undefined && copyEntry(join(from, path), join(to, path), status)) copied.push(path)
  }
  return copied
}

function copyEntry(from: string, to: string, status: Stats): boolean {
  if (status.isSymbolicLink()) {
    symlinkSync(readlinkSync(from), to)
    return true
  }
  if (!status.isFile()) return false
  copyFileSync(from, to, constants.COPYFILE_FICLONE)
  // so that tools that compare times see no change
  utimesSync(to, status.atime, status.mtime)
  return lstatSync(to).isFile()
}

/**
 * Links the `node_modules` of each Node package in a copy to that of the original: it is usually ignored by git, so not
 * copied, and without it no test would run. Returns the links, absolute.
 */
export function linkPackages(
  copied: readonly string[],
  { from, to }: { readonly from: string; readonly to: string },
): readonly string[] {
  const packages = copied.filter((path) => basename(path) === 'package.json').map((path) => dirname(path))
  return packages.flatMap((folder) => {
    const [installed, link] = [join(from, folder, 'node_modules'), join(to, folder, 'node_modules')]
    if (entryStatus(installed)?.isDirectory() !== true || entryStatus(link) !== undefined) return []
    symlinkSync(installed, link)
    return [link]
  })
}
