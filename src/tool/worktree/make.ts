import { copyFileSync, mkdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { entryStatus, namesIn } from '../../base/entries.ts'
import { BatonError } from '../../base/error.ts'
import { isInside, realPath } from '../../base/files.ts'
import { forgetLostWorktrees, removeWorktree } from '../../base/git-worktree.ts'
import { type GitCommand, gitFailed, gitFailure, repositoryFilters } from '../../base/git.ts'
import { copyFiles, linkPackages, listFiles } from './copy-files.ts'
import { type FileStore, ignoreLine, makeStore } from './file-store.ts'
import { attemptGit, type GitPlace, printedByGit } from './tree-git.ts'

export interface MakeOptions {
  /** Absolute, links resolved. */
  readonly workspace: string
  /** Absolute: the folder of the run's work trees. It is made. */
  readonly folder: string
  /** The name of the work tree in it. */
  readonly name: string
  readonly env: GitCommand['env']
  /** Absolute paths that are never copied: folders of this installation. */
  readonly leftOut: readonly string[]
}

/** A work tree that was made; plain JSON, because it is recorded. */
export interface MadeTree {
  /** Absolute: its top. */
  readonly top: string
  /** Where the workspace lies in it: a path from the top, empty for the top itself. */
  readonly below: string
  /** The commit it is of. */
  readonly head: string
  /** How git names contents in it. */
  readonly format: 'sha1' | 'sha256'
  /** Names the state it begins with in its store. */
  readonly start: string
  /** Repositories within the workspace that belong to no other one: they are not in it. From the top. */
  readonly missing: readonly string[]
}

/** Where states of a work tree are kept: beside it. */
export function storeOf({ top, format }: Pick<MadeTree, 'top' | 'format'>, env: GitCommand['env']): FileStore {
  return { folder: `${top}.store`, top, format, env }
}

/**
 * Makes a git work tree of the repository around a workspace, detached at its HEAD, with all that the workspace holds
 * now: changed and staged files, files that nobody has added, submodules; not what is ignored. What a killed process has
 * left of it is removed first. No program that the repository's config names is run. R16.
 * @throws BatonError USAGE outside of git and where there is no commit, FILE_FAILED when it cannot be made
 */
export async function makeTree(options: MakeOptions, signal: AbortSignal): Promise<MadeTree> {
  const { workspace, folder, name, env } = options
  const repository = await findRepository({ cwd: workspace, env }, signal)
  const { top: from, place } = repository
  const top = join(folder, name)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    forgetLostWorktrees(repository.common, dirname(realPath(folder)))
    removeWorktree(top)
    const add = ['worktree', 'add', '--detach', '--no-checkout', '-f', top, repository.head]
    await printedByGit(place, add, signal)
    const { files, emptyFolders, repositories } = await listFiles(place, signal)
    // a work tree lies in one of them itself
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
    throw new BatonError('FILE_FAILED', `no git work tree could be made of ${from}: ${why}`, {
      hint: 'Make git work in this folder, or leave out isolation = "worktree".',
      cause: error,
    })
  }
}

interface FoundRepository {
  readonly top: string
  /** Git's own folder of this work tree, and the one that all work trees share. */
  readonly own: string
  readonly common: string
  readonly format: MadeTree['format']
  readonly head: string
  /** Where git is called for it. */
  readonly place: GitPlace
  /** Whether the programs that its config names for contents are turned off there. */
  readonly isPlain: boolean
}

async function findRepository(at: GitPlace, signal: AbortSignal): Promise<FoundRepository> {
  const { cwd: workspace, env } = at
  const asked = ['--show-toplevel', '--absolute-git-dir', '--git-common-dir', '--show-object-format']
  const found = await attemptGit(at, ['rev-parse', ...asked], signal)
  const [topText = '', own = '', commonText = '', formatText] = found.stdout.text.split('\n')
  const top = topText === '' ? '' : realPath(topText)
  if (gitFailed(found) || !isInside(top, workspace)) {
    const why = gitFailed(found) ? gitFailure(found) : 'its work tree is elsewhere'
    if (!gitFailed(found) || why.includes('not a git repository')) {
      throw refused(`${workspace} is in no git repository`, 'Run git init and commit what is there')
    }
    throw refused(`the repository cannot be used: ${why}`, 'Make git work in this folder')
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
  // a relative one counts from where git was asked
  const common = realPath(resolve(workspace, commonText))
  const format = formatText === 'sha256' ? 'sha256' : 'sha1'
  return { top, own, common, format, head: head.stdout.text.trim(), place, isPlain: filters !== undefined }
}

function refused(message: string, cure: string): BatonError {
  return new BatonError('USAGE', `isolation = "worktree": ${message}`, {
    hint: `${cure}, or leave out isolation = "worktree".`,
  })
}

/** The work tree begins with what is staged, too. */
async function copyIndex({ own, place, isPlain }: FoundRepository, top: string, signal: AbortSignal): Promise<void> {
  const index = join(own, 'index')
  if (entryStatus(index) === undefined) return
  const tree = { ...place, cwd: top }
  const entry = (await printedByGit(tree, ['rev-parse', '--absolute-git-dir'], signal)).trim()
  const copy = join(entry, 'index')
  copyFileSync(index, copy)
  // a part of it may be in a file that is found only from there
  const isSplit = namesIn(own).some((name) => name.startsWith('sharedindex.'))
  if (isSplit) await printedByGit({ ...place, indexFile: copy }, ['update-index', '--no-split-index'], signal)
  // without the times of the copies git would compare all files each time
  if (isPlain) await attemptGit(tree, ['update-index', '-q', '--refresh'], signal)
}
