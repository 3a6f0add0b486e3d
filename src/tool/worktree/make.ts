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
import { basename, dirname, join, relative, resolve } from 'node:path'
import { entryStatus, namesIn } from '../../base/entries.ts'
import { BatonError } from '../../base/error.ts'
import { isInside, realPath } from '../../base/files.ts'
import { forgetLostWorktrees, removeWorktree } from '../../base/git-worktree.ts'
import { type GitCommand, gitFailed, gitFailure, repositoryFilters } from '../../base/git.ts'
import {
  attemptGit,
  type FileStore,
  type GitPlace,
  ignoreLine,
  makeStore,
  partsOf,
  printedByGit,
} from './file-store.ts'
import { createTurns } from '../../base/concurrency.ts'

export interface MakeOptions {
  /** Absolute, links resolved. */
  readonly workspace: string
  /** Absolute: the folder of the run's work trees. It is created if needed. */
  readonly folder: string
  /** The folder name of the work tree in it. */
  readonly name: string
  readonly env: GitCommand['env']
  /** Absolute paths that are never copied: folders of this Baton installation. */
  readonly leftOut: readonly string[]
}

/** A new work tree; plain JSON, because it is recorded. */
export interface MadeTree {
  /** Absolute: its top. */
  readonly top: string
  /** The path of the workspace in it, from the top; empty for the top itself. */
  readonly below: string
  /** The commit it was created from. */
  readonly head: string
  /** The object format of its repository. */
  readonly format: 'sha1' | 'sha256'
  /** The id of its initial state in its store. */
  readonly start: string
  /** Nested repositories in the workspace that are not submodules, and so are not in it. From the top. */
  readonly missing: readonly string[]
}

/** The store for the states of a work tree, beside it. */
export function storeOf({ top, format }: Pick<MadeTree, 'top' | 'format'>, env: GitCommand['env']): FileStore {
  return { folder: storeFolder(top), top, format, env }
}

export function storeFolder(top: string): string {
  return `${top}.store`
}

/**
 * Creates a git work tree of the repository around a workspace, detached at its HEAD, with the current contents of the
 * workspace: changed, staged and untracked files and submodules, but not ignored files. Leftovers of a killed process
 * are removed first. No program that the repository's config names is run.
 * @throws BatonError USAGE outside of git and without a commit, FILE_FAILED if it cannot be created
 */
export async function makeTree(options: MakeOptions, signal: AbortSignal): Promise<MadeTree> {
  const { workspace, folder, name, env } = options
  const repository = await findRepository({ cwd: workspace, env }, signal)
  const { top: from, place } = repository
  const top = join(folder, name)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    forgetLostWorktrees(repository.common, { folder: dirname(realPath(folder)), of: name })
    removeWorktree(top)
    const add = ['worktree', 'add', '--detach', '--no-checkout', '-f', top, repository.head]
    await printedByGit(place, add, signal)
    const { files, emptyFolders, repositories } = await listFiles(place, signal)
    // the workspace may itself be a work tree in one of these folders
    const leftOut = options.leftOut.filter((one) => one !== from && isInside(from, one))
    const isLeftOut = (path: string): boolean => leftOut.some((one) => isInside(one, join(from, path)))
    const wanted = files.filter((path) => !isLeftOut(path))
    const copied = await copyFiles(wanted, { from, to: top }, signal)
    for (const path of emptyFolders) mkdirSync(join(top, path), { recursive: true })
    const linked = linkPackages(copied, { from, to: top })
    await copyIndex(repository, top, signal)
    const ignored = [...leftOut.map((path) => ignoreLine(from, path)), ...linked.map((path) => ignoreLine(top, path))]
    const { common, format, head } = repository
    const start = await makeStore(storeOf({ top, format }, env), { common, ignored, files: copied }, signal)
    const missing = repositories.filter((path) => !isLeftOut(path)).map((path) => path.replace(/\/$/, ''))
    return { top: realPath(top), below: relative(from, workspace), head, format, start, missing }
  } catch (error) {
    signal.throwIfAborted()
    const why = error instanceof Error ? error.message : String(error)
    throw new BatonError('FILE_FAILED', `cannot create a git work tree of ${from}: ${why}`, {
      hint: 'Make sure that git works in this folder, or remove isolation = "worktree".',
      cause: error,
    })
  }
}

interface FoundRepository {
  readonly top: string
  /** The git folder of this work tree, and the one that all work trees share. */
  readonly own: string
  readonly common: string
  readonly format: MadeTree['format']
  readonly head: string
  /** Where and how git is called for it. */
  readonly place: GitPlace
  /** Whether the filter programs that its config names are disabled there. */
  readonly isPlain: boolean
}

async function findRepository(at: GitPlace, signal: AbortSignal): Promise<FoundRepository> {
  const { cwd: workspace, env } = at
  const asked = ['--show-toplevel', '--absolute-git-dir', '--git-common-dir', '--show-object-format']
  const found = await attemptGit(at, ['rev-parse', ...asked], signal)
  const [topText = '', own = '', commonText = '', formatText] = found.stdout.text.split('\n')
  const top = topText === '' ? '' : realPath(topText)
  if (gitFailed(found) || !isInside(top, workspace)) {
    const why = gitFailed(found) ? gitFailure(found) : 'its work tree is somewhere else'
    if (!gitFailed(found) || why.includes('not a git repository')) {
      throw refused(`${workspace} is not in a git repository`, 'Run git init and commit the files')
    }
    throw refused(`the repository cannot be used: ${why}`, 'Make sure that git works in this folder')
  }
  const head = await attemptGit(at, ['rev-parse', '--verify', '-q', 'HEAD^{commit}'], signal)
  if (gitFailed(head)) {
    throw refused(`the repository ${top} has no commit yet`, 'Commit first (git add -A, git commit)')
  }
  const filters = await repositoryFilters(
    { cwd: top, env, timeLimitMs: 60_000, maxOutputBytes: 16 * 1024 * 1024 },
    signal,
  )
  const place = { cwd: top, env, settings: filters?.settings ?? [] }
  // git prints it relative to where it was called
  const common = realPath(resolve(workspace, commonText))
  const format = formatText === 'sha256' ? 'sha256' : 'sha1'
  return { top, own, common, format, head: head.stdout.text.trim(), place, isPlain: filters !== undefined }
}

function refused(message: string, cure: string): BatonError {
  return new BatonError('USAGE', `isolation = "worktree": ${message}`, {
    hint: `${cure}, or remove isolation = "worktree".`,
  })
}

/** Copies the index, so that the work tree starts with the same staged changes. */
async function copyIndex({ own, place, isPlain }: FoundRepository, top: string, signal: AbortSignal): Promise<void> {
  const index = join(own, 'index')
  if (entryStatus(index) === undefined) return
  const tree = { ...place, cwd: top }
  const entry = (await printedByGit(tree, ['rev-parse', '--absolute-git-dir'], signal)).trim()
  const copy = join(entry, 'index')
  copyFileSync(index, copy)
  // a part of it may be in a shared index file that is found only from the original
  const isSplit = namesIn(own).some((name) => name.startsWith('sharedindex.'))
  if (isSplit) await printedByGit({ ...place, indexFile: copy }, ['update-index', '--no-split-index'], signal)
  // the index needs the times of the copies, otherwise git would compare all files each time
  if (isPlain) await attemptGit(tree, ['update-index', '-q', '--refresh'], signal)
}

/** What is copied from a work tree into another one. Paths are from its top. */
interface Listed {
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
async function listFiles(place: GitPlace, signal: AbortSignal, below = ''): Promise<Listed> {
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
async function copyFiles(
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
function linkPackages(
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
