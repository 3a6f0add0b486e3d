import { copyFileSync, existsSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { isInside, realPath } from '../../base/files.ts'
import { type GitCommand, gitFailed, gitFailure, repositoryFilters, runGit } from '../../base/git.ts'
import type { ProcessResult } from '../../base/process.ts'
import { makeTemporaryFolder } from '../../base/temporary-folder.ts'
import { filesText } from './blocks.ts'

interface RepositoryOptions {
  /** Absolute, links resolved. Only files below it are considered and committed. */
  readonly workspace: string
  readonly env: GitCommand['env']
  /** Absolute paths of ignored files and folders: the prompt file, folders of runs. */
  readonly leftOut: readonly string[]
  /** Limit of a commit with its hooks; other calls have a shorter one. */
  readonly timeLimitMs: number
}

/** The repository before the first iteration. Plain JSON, because it is recorded. */
export interface StartState {
  /** Full id; undefined before the first commit. */
  readonly head?: string
  /** Paths from the top that already have changes; they are never committed. */
  readonly dirty: readonly string[]
  /** Something is staged. */
  readonly isStaged: boolean
  /** The operation that git has not finished, for example `merge`. */
  readonly unfinished?: string
}

interface CommitRequest extends TrailerFacts {
  /** Paths from the top that are not committed. */
  readonly excluded: readonly string[]
  /** Other changes are staged, so the commit must be limited to its own paths. */
  readonly isStaged: boolean
  /** HEAD before the work; it is never adopted, regardless of its trailers. */
  readonly headBefore: string | undefined
  readonly messageFor: (files: readonly string[]) => string
}

/** The result of a commit. Plain JSON, because it is recorded. `files` are relative to the workspace, sorted. */
export type CommitResult =
  | { readonly kind: 'none' }
  | { readonly kind: 'committed'; readonly id: string; readonly files: readonly string[]; readonly tree: string }
  /** `tree`: of the current state. Runs of older versions do not have it. */
  | { readonly kind: 'refused'; readonly files: readonly string[]; readonly reason: string; readonly tree?: string }

/** The git repository around a workspace. Only commits run programs that its config names. */
export interface Repository {
  start(signal: AbortSignal): Promise<StartState>
  /** Full id; undefined before the first commit. */
  head(signal: AbortSignal): Promise<string | undefined>
  /** The tree of HEAD; undefined before the first commit. */
  headTree(signal: AbortSignal): Promise<string | undefined>
  /**
   * Changed files, relative to the workspace, sorted. Of the excluded paths (from the top) only those that are `known`
   * (from the workspace) are included.
   */
  changed(
    paths: { readonly excluded: readonly string[]; readonly known: readonly string[] },
    signal: AbortSignal,
  ): Promise<readonly string[]>
  /** The id of a tree with the current state of everything below the workspace. */
  snapshot(signal: AbortSignal): Promise<string>
  /** Commits changes like `git add` and `git commit` of the user; adopts a commit with the same trailers at HEAD. */
  commit(request: CommitRequest, signal: AbortSignal): Promise<CommitResult>
  /** Paths that differ between two trees, relative to the workspace, sorted; `excluded` is relative to the top. */
  difference(from: string, to: string, excluded: readonly string[], signal: AbortSignal): Promise<readonly string[]>
  /** Writes files of a tree into an empty folder; paths there are the same as in the workspace. */
  extract(tree: string, paths: readonly string[], folder: string, signal: AbortSignal): Promise<void>
}

/** `reason`: the message of git, unless it is only that there is no repository. */
export type Opening =
  | { readonly kind: 'repository'; readonly repository: Repository }
  | { readonly kind: 'none'; readonly reason?: string }

/** Finds the repository of the workspace. */
export async function openRepository(options: RepositoryOptions, signal: AbortSignal): Promise<Opening> {
  const { workspace, env } = options
  const place = { cwd: workspace, env, timeLimitMs: quickMs, maxOutputBytes }
  const found = await runGit({ ...place, args: ['rev-parse', '--show-toplevel', '--absolute-git-dir'] }, signal)
  if (gitFailed(found)) {
    const reason = gitFailure(found)
    return reason.includes('not a git repository') ? { kind: 'none' } : { kind: 'none', reason }
  }
  const [topText = '', folder = ''] = found.stdout.text.split('\n')
  const top = realPath(topText)
  // `core.worktree` of a config could name any folder
  if (!isInside(top, workspace)) return { kind: 'none' }
  const filters = await repositoryFilters(place, signal)
  const repository = createRepository({ ...options, top, folder, settings: filters?.settings ?? [] })
  return { kind: 'repository', repository }
}

const quickMs = 5 * 60_000
const maxOutputBytes = 64 * 1024 * 1024
/** Limited, because command lines are. */
const pathsAtOnce = 500
/** How long to wait for another git to release the index. */
const lockMs = 30_000

interface Located extends RepositoryOptions {
  /** Absolute path of the work tree. */
  readonly top: string
  /** Absolute path of git's own folder. */
  readonly folder: string
  /** Disable the programs that the config of the repository names. */
  readonly settings: NonNullable<GitCommand['settings']>
}

function createRepository(located: Located): Repository {
  const { workspace, top, folder, env, settings, timeLimitMs } = located
  const below = relative(top, workspace)
  const scope = below === '' ? '.' : below
  const leftOut = located.leftOut.filter((path) => isInside(top, path)).map((path) => relative(top, path))

  const isLeftOut = (path: string): boolean => leftOut.some((one) => isBelow(path, one))

  async function attempt(args: readonly string[], signal: AbortSignal, more: Partial<GitCommand> = {}) {
    const own = more.asUser === true ? {} : { settings }
    return runGit({ cwd: top, env, timeLimitMs: quickMs, maxOutputBytes, ...own, ...more, args }, signal)
  }

  async function run(args: readonly string[], signal: AbortSignal, more: Partial<GitCommand> = {}): Promise<string> {
    const result = await attempt(args, signal, more)
    const { end, stdout } = result
    if (end.kind === 'exited' && end.code === 0 && stdout.lost === 0) return stdout.text
    throw new Error(`git ${args[0]}: ${gitFailure(result)}`)
  }

  async function status(signal: AbortSignal): Promise<readonly StatusEntry[]> {
    const args = ['status', '--porcelain=v1', '-z', '--untracked-files=all', '--ignore-submodules=dirty', '--', scope]
    // a path that ends with / is a nested repository that was not added
    return parseStatus(await run(args, signal)).filter(({ path }) => !path.endsWith('/') && !isLeftOut(path))
  }

  async function unexcluded(excluded: readonly string[], signal: AbortSignal): Promise<readonly StatusEntry[]> {
    const others = new Set(excluded)
    return (await status(signal)).filter((entry) => !pathsOf(entry).some((path) => others.has(path)))
  }

  const shown = (paths: readonly string[]): readonly string[] =>
    [...new Set(paths)].map((path) => relative(workspace, resolve(top, path))).toSorted()

  async function head(signal: AbortSignal): Promise<string | undefined> {
    const { end, stdout } = await attempt(['rev-parse', '--verify', '-q', 'HEAD^{commit}'], signal)
    return end.kind === 'exited' && end.code === 0 ? stdout.text.trim() : undefined
  }

  async function treeOf(commit: string, signal: AbortSignal): Promise<string> {
    return (await run(['rev-parse', `${commit}^{tree}`], signal)).trim()
  }

  async function adopted(
    id: string | undefined,
    request: CommitRequest,
    signal: AbortSignal,
  ): Promise<CommitResult | undefined> {
    if (id === undefined || id === request.headBefore) return undefined
    const message = await run(['log', '-1', '--format=%B', id], signal)
    if (!isOwnCommit(message, request)) return undefined
    const list = await run(['diff-tree', '--root', '-r', '--no-commit-id', '--name-only', '-z', id], signal)
    return { kind: 'committed', id, files: shown(list.split('\0').filter(Boolean)), tree: await treeOf(id, signal) }
  }

  return {
    head,

    async headTree(signal) {
      const id = await head(signal)
      return id === undefined ? undefined : treeOf(id, signal)
    },

    async start(signal) {
      const [id, entries] = [await head(signal), await status(signal)]
      const staged = await attempt(['diff', '--cached', '--quiet', '--ignore-submodules', '--no-ext-diff'], signal)
      const unfinished = unfinishedIn(folder)
      return {
        ...(id === undefined ? {} : { head: id }),
        dirty: entries.flatMap(pathsOf),
        isStaged: staged.end.kind === 'exited' && staged.end.code !== 0,
        ...(unfinished === undefined ? {} : { unfinished }),
      }
    },

    async changed({ excluded, known }, signal) {
      const others = new Set(excluded)
      const own = new Set(known.map((path) => relative(top, resolve(workspace, path))))
      const entries = (await status(signal)).filter(
        (entry) => own.has(entry.path) || !pathsOf(entry).some((path) => others.has(path)),
      )
      return shown(entries.map(({ path }) => path))
    },

    snapshot: (signal) =>
      withTemporary(async (temporary) => {
        const indexFile = join(temporary, 'index')
        const own = join(folder, 'index')
        // with the file times of this index, git need not read all files
        if (existsSync(own)) copyFileSync(own, indexFile)
        const unstaged = unstagedOf(await status(signal))
        const paths = pathList(temporary, 'unstaged', unstaged)
        if (unstaged.length > 0) await run(['add', '-A', ...paths], signal, { indexFile })
        return (await run(['write-tree'], signal, { indexFile })).trim()
      }),

    commit: (request, signal) => inTurn(folder, () => commitNow(request, signal)),

    async difference(from, to, excluded, signal) {
      const list = await run(['diff-tree', '-r', '--no-renames', '--name-only', '-z', from, to, '--', scope], signal)
      const others = new Set(excluded)
      return shown(list.split('\0').filter((path) => path !== '' && !others.has(path) && !isLeftOut(path)))
    },

    extract: (tree, paths, target, signal) =>
      withTemporary(async (temporary) => {
        const fromTop = paths.map((path) => relative(top, resolve(workspace, path)))
        const indexFile = join(temporary, 'index')
        const prefix = `--prefix=${join(target, relative(workspace, top))}/`
        await run(['read-tree', tree], signal, { indexFile })
        for (let from = 0; from < fromTop.length; from += pathsAtOnce) {
          const some = fromTop.slice(from, from + pathsAtOnce)
          const there = (await run(['ls-files', '-z', '--', ...some], signal, { indexFile }))
            .split('\0')
            .filter(Boolean)
          if (there.length > 0) await run(['checkout-index', '-q', prefix, '--', ...there], signal, { indexFile })
        }
      }),
  }

  async function commitNow(request: CommitRequest, signal: AbortSignal): Promise<CommitResult> {
    // a git process left by a killed run may still be active
    await unlocked(join(folder, 'index.lock'), Math.min(lockMs, timeLimitMs), signal)
    const before = await head(signal)
    const own = await adopted(before, request, signal)
    if (own !== undefined) return own
    const entries = await unexcluded(request.excluded, signal)
    if (entries.length === 0) return { kind: 'none' }
    const files = shown(entries.map(({ path }) => path))
    return withTemporary(async (temporary) => {
      const message = join(temporary, 'message')
      writeFileSync(message, request.messageFor(files))
      const paths = pathList(temporary, 'paths', entries.flatMap(pathsOf))
      const asUser = { asUser: true, timeLimitMs, settings: neverQuestions } as const
      const unstaged = unstagedOf(entries)
      const toAdd = pathList(temporary, 'unstaged', unstaged)
      const added = unstaged.length === 0 ? undefined : await attempt(['add', '-A', ...toAdd], signal, asUser)
      if (added !== undefined && gitFailed(added)) return { kind: 'refused', files, reason: gitFailure(added) }
      const only = request.isStaged ? ['--only', ...paths] : []
      const done = await attempt(['commit', '-q', '-F', message, ...only], signal, asUser)
      if (gitFailed(done)) {
        // the commit may exist: of a killed process, or with a later hook that timed out
        const made = await adopted(await head(signal), request, signal)
        if (made !== undefined) return made
        await unstage(before, paths, signal)
        // for example, git may have normalized the changed line ends away
        if (isNothing(done)) return { kind: 'none' }
        return { kind: 'refused', files, reason: gitFailure(done) }
      }
      const [id = '', tree = ''] = (await run(['rev-parse', 'HEAD', 'HEAD^{tree}'], signal)).split('\n')
      return { kind: 'committed', id, files, tree }
    })
  }

  /** Restores the index after a hook refused the commit: none of these paths was staged before. */
  async function unstage(before: string | undefined, paths: readonly string[], signal: AbortSignal): Promise<void> {
    const args =
      before === undefined ? ['rm', '-q', '-r', '--cached', '--ignore-unmatch', ...paths] : ['reset', '-q', ...paths]
    await attempt(args, signal)
  }
}

const neverQuestions: NonNullable<GitCommand['settings']> = [
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['submodule.recurse', 'false'],
]

/** Passes paths in a file, because command lines are limited. */
function pathList(folder: string, name: string, paths: readonly string[]): readonly string[] {
  const list = join(folder, name)
  writeFileSync(list, paths.join('\0'))
  return [`--pathspec-from-file=${list}`, '--pathspec-file-nul']
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

function unfinishedIn(folder: string): string | undefined {
  const marks = {
    MERGE_HEAD: 'merge',
    CHERRY_PICK_HEAD: 'cherry-pick',
    REVERT_HEAD: 'revert',
    'rebase-merge': 'rebase',
    'rebase-apply': 'rebase',
  }
  return Object.entries(marks).find(([name]) => existsSync(join(folder, name)))?.[1]
}

async function unlocked(lock: string, limitMs: number, signal: AbortSignal): Promise<void> {
  for (let waited = 0; existsSync(lock) && waited < limitMs; waited += 100) await wait(100, undefined, { signal })
}

/** Whether the added files equal HEAD. */
function isNothing({ end, stdout }: ProcessResult): boolean {
  return end.kind === 'exited' && end.code === 1 && /^(?:nothing|no changes) (?:added )?to commit/m.test(stdout.text)
}

async function withTemporary<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const { path, remove } = makeTemporaryFolder('baton-git-')
  try {
    return await work(path)
  } finally {
    remove()
  }
}

/** The last commit that was started in each repository, by git's own folder. */
const lastCommits = new Map<string, Promise<unknown>>()

/**
 * Does work on a repository after all earlier work of this process on it has ended; otherwise prompt files that iterate
 * at the same time would run into each other's lock. `folder`: git's own.
 */
async function inTurn<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const before = lastCommits.get(folder)
  const own = before === undefined ? work() : before.then(work)
  const ended = own.catch(() => {})
  lastCommits.set(folder, ended)
  try {
    return await own
  } finally {
    if (lastCommits.get(folder) === ended) lastCommits.delete(folder)
  }
}

/** One line of `git status --porcelain=v1 -z`. Paths are from the top of the repository. */
interface StatusEntry {
  readonly path: string
  /** The old name of a renamed file. */
  readonly from?: string
  /** The file differs from the index. */
  readonly isUnstaged: boolean
}

/** Parses the NUL-separated form, in which names are never quoted or truncated. */
export function parseStatus(text: string): readonly StatusEntry[] {
  const entries: StatusEntry[] = []
  const fields = text.split('\0')
  for (let index = 0; index < fields.length; index += 1) {
    const field = fields[index] ?? ''
    if (field.length < 4) continue
    const [state, path] = [field.slice(0, 2), field.slice(3)]
    const isMoved = /[RC]/.test(state)
    if (isMoved) index += 1
    const from = isMoved && state.includes('R') ? fields[index] : undefined
    entries.push({ path, isUnstaged: state[1] !== ' ', ...(from === undefined ? {} : { from }) })
  }
  return entries
}

/** Every path of an entry. */
export function pathsOf({ path, from }: StatusEntry): readonly string[] {
  return from === undefined ? [path] : [path, from]
}

/** Paths for `git add`, which fails for a path that is neither in the index nor on disk. */
export function unstagedOf(entries: readonly StatusEntry[]): readonly string[] {
  return entries.flatMap(({ path, isUnstaged }) => (isUnstaged ? [path] : []))
}

interface CommitFacts {
  readonly run: string
  /** Its name in trailers; the `[iter-N]` of the subject has the plain number. */
  readonly key: string
  readonly iteration: number
  readonly files: readonly string[]
  /** One line about the work; undefined: none. */
  readonly subject: string | undefined
}

const subjectLength = 72

/**
 * The message of an iteration's commit: a subject `[iter-N] …`, the changed files, and trailers by which a
 * resumed run recognizes its own commit.
 */
export function commitMessage({ run, key, iteration, files, subject }: CommitFacts): string {
  return `${subjectOf(iteration, subject)}\n\nModified files: ${filesText(files.map(withoutBreaks))}\n\n${trailers({ run, key })}\n`
}

/** `[iter-N]` and a description, from which a leading `[iter-N]` is removed. */
export function subjectOf(iteration: number, summary: string | undefined): string {
  const text = withoutBreaks(summary ?? '')
    .replace(/^\s*\[iter-[^\]]*\]\s*/, '')
    .trim()
  const subject = `[iter-${iteration}] ${text === '' ? `Iteration ${iteration} changes` : text}`
  const characters = Array.from(subject)
  return characters.length <= subjectLength ? subject : `${characters.slice(0, subjectLength - 1).join('')}…`
}

/** The message of the commit that restores the best state. */
export function bestMessage(
  best: { readonly run: string; readonly key: string; readonly iteration: number; readonly score: number },
  files: readonly string[],
): string {
  const state = best.iteration < 0 ? 'the state before the first iteration' : `the state of iteration ${best.iteration}`
  const subject = `[iter-best] Restore ${state} (score ${best.score})`
  return `${subject}\n\nModified files: ${filesText(files.map(withoutBreaks))}\n\n${trailers(best)}\n`
}

interface TrailerFacts {
  readonly run: string
  readonly key: string
}

function trailers({ run, key }: TrailerFacts): string {
  return `Baton-Run: ${run}\nBaton-Iteration: ${withoutBreaks(key)}`
}

/** Whether the message has the trailers of these facts. */
export function isOwnCommit(message: string, { run, key }: TrailerFacts): boolean {
  const lines = new Set(message.split('\n').map((line) => line.trim()))
  return lines.has(`Baton-Run: ${run}`) && lines.has(`Baton-Iteration: ${withoutBreaks(key)}`)
}

function withoutBreaks(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
}
