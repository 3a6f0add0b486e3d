import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { BatonError, isBatonError, messageOf } from '../../base/error.ts'
import type { IterateSettings } from '../../settings/strategies/iterate.ts'
import { canonicalJson, defined } from '../../base/json.ts'
import { below, emit, type RunContext, type RunFolders, type Sender } from '../../event/context.ts'
import { callPlace, part, placeText } from '../../event/place.ts'
import { filesText } from './blocks.ts'
import type { IterationRecord } from './records.ts'
import {
  bestMessage,
  commitMessage,
  type CommitResult,
  type Opening,
  openRepository,
  type Repository,
  type StartState,
} from './repository.ts'
import { sha256 } from '../../base/hash.ts'
import { shellWord } from '../../base/command.ts'
import { entryStatus } from '../../base/entries.ts'
import { makeTemporaryFolder } from '../../base/temporary-folder.ts'
import {
  deleteEntry,
  type FileCall,
  makeLink,
  removeEmptyFolder,
  saveMadeFile,
  setMode,
} from '../../tool/workspace-files.ts'

/** The state of the files at one moment. */
interface WorkState {
  /** Full id of the commit; undefined outside of git and before the first one. */
  readonly head?: string
  /** The name of this state: equal states have equal names. */
  readonly state?: string
}

interface KeptState {
  readonly changed_files: readonly string[]
  readonly commit_id?: string
  readonly state?: string
}

interface ToKeep extends Pick<IterationRecord, 'iteration' | 'changed_files'> {
  /** Text for the subject of the commit; undefined: none. */
  readonly subject: string | undefined
}

/** Tracks what iterations change, and commits it if configured. */
export interface Keeper {
  readonly commits: boolean
  /** The state before the first iteration. */
  start(at: RunContext): Promise<WorkState>
  /** To be called before each iteration; `records`: of earlier iterations, also those of an earlier process. */
  begin(records: readonly IterationRecord[], at: RunContext): Promise<void>
  /** The files that an iteration changed, relative to the workspace, sorted; `known`: those that the run recorded. */
  changed(known: readonly string[], at: RunContext): Promise<readonly string[]>
  /** Commits the work of an iteration, if configured. */
  keep(done: ToKeep, at: RunContext): Promise<KeptState>
  /**
   * Restores files of the best iteration (-1: of the start) that differ in the last one, as a separate commit. Returns
   * why they were not restored; undefined: they are as they should be. A resumed run tries it again.
   */
  restore(
    best: { readonly iteration: number; readonly score: number },
    records: readonly IterationRecord[],
    at: RunContext,
  ): Promise<BatonError | undefined>
}

interface KeeperOptions {
  readonly settings: IterateSettings
  /** Absolute path of the prompt file; undefined for a text. */
  readonly promptFile: string | undefined
  /** Absolute path of the folder of runs, if known. */
  readonly runsFolder: string | undefined
  /** The keeper of the first round, which decides for all rounds whether they commit. */
  readonly first: Keeper | undefined
}

/**
 * Checks the workspace before anything is done.
 * @throws BatonError USAGE if `commits = true` and the repository does not allow it
 */
export async function openKeeper(options: KeeperOptions, context: RunContext): Promise<Keeper> {
  const { promptFile, runsFolder, first } = options
  const settings = settingsHere(options.settings, context.scope.folders)
  const { scope, services } = context
  if (scope.dry !== undefined) return noKeeper
  const { workspace, ownFolders } = scope.folders
  const { signal, effects } = services
  let opened: Promise<Opening> | undefined
  // lazily, because a replay has the record and may have no repository
  const open = (): Promise<Opening> =>
    (opened ??= openRepository(
      {
        workspace,
        env: services.env,
        leftOut: [promptFile, runsFolder, ...(ownFolders ?? [])].flatMap((path) => path ?? []),
        timeLimitMs: settings.command_timeout_ms,
      },
      signal,
    ))
  const at = [...scope.at, part('commit')]
  const found = await effects.observeAsync(at, { name: 'iterate.repository', args: [] }, async () => {
    const found = await open()
    if (found.kind === 'none') return found
    return { kind: 'repository', ...(await found.repository.start(signal)) } as const
  })
  if (found.kind === 'none') {
    const missing = noRepository(workspace, found.reason)
    if (settings.commits === true) throw missing
    if (settings.commits === 'auto') tellWhyNot(missing, context)
    return createRecordKeeper()
  }
  const why = first === undefined ? whyNot(found, settings) : undefined
  if (why !== undefined && settings.commits === true) throw why
  if (why !== undefined && settings.commits === 'auto') tellWhyNot(why, context)
  const repository = async (): Promise<Repository> => {
    const there = await open()
    if (there.kind === 'none') throw noRepository(workspace, there.reason)
    return there.repository
  }
  const commits = first?.commits ?? (settings.commits !== false && why === undefined)
  return createGitKeeper({ repository, commits, within: placeText(scope.at) })
}

function tellWhyNot({ message, hint }: BatonError, context: Sender): void {
  emit(context, { type: 'warning', message: `iterations are not committed: ${message}`, ...defined({ hint }) })
}

function noRepository(workspace: string, reason: string | undefined): BatonError {
  if (reason !== undefined) {
    return new BatonError('USAGE', `the repository cannot be used: ${reason}`, {
      hint: 'Make git work in this folder, or set commits = false in [iterate].',
    })
  }
  return new BatonError('USAGE', `${workspace} is not in a git repository`, {
    hint: 'Run git init, or set commits = false in [iterate].',
  })
}

/** Why iterations cannot be committed. */
function whyNot(
  { dirty, unfinished }: StartState,
  { on_dirty: onDirty, commits }: IterateSettings,
): BatonError | undefined {
  if (unfinished !== undefined) {
    return new BatonError('USAGE', `the repository is in the middle of a ${unfinished}`, {
      hint: `Finish or abort the ${unfinished} first, or set commits = false in [iterate].`,
    })
  }
  if (dirty.length === 0 || (onDirty === 'allow' && commits === true)) return undefined
  return new BatonError('USAGE', `the work tree has changes: ${filesText(dirty)}`, {
    hint: 'Commit or stash them first; or set commits = true and on_dirty = "allow" in [iterate], which leaves them alone.',
  })
}

/** Nothing is committed in a work tree, because it has no branch. @throws BatonError USAGE for `commits = true` */
function settingsHere(settings: IterateSettings, { standsFor }: RunFolders): IterateSettings {
  if (standsFor === undefined) return settings
  if (settings.commits !== true) return { ...settings, commits: false }
  throw new BatonError('USAGE', 'commits = true of [iterate] and isolation = "worktree" cannot be combined', {
    hint: 'Remove commits and commit the changes after the run, or remove isolation.',
  })
}

/** For dry runs. */
const noKeeper: Keeper = {
  commits: false,
  start: async () => ({}),
  begin: async () => {},
  changed: async (known) => known,
  keep: async ({ changed_files }) => ({ changed_files }),
  restore: async () => undefined,
}

/** The keeper without git: knows only what the run itself has changed. */
function createRecordKeeper(): Keeper {
  const touched = new Set<string>()
  return {
    commits: false,
    start: async () => ({}),
    async begin(records) {
      for (const { changed_files: files } of records) for (const path of files) touched.add(path)
    },
    changed: async (known) => [...new Set(known)].toSorted(),
    async keep({ changed_files }, { scope, services }) {
      for (const path of changed_files) touched.add(path)
      const { workspace } = scope.folders
      const state = services.effects.observe([...scope.at, part('commit')], { name: 'iterate.state', args: [] }, () =>
        sha256(canonicalJson([...touched].toSorted().map((path) => [path, contentName(resolve(workspace, path))]))),
      )
      return { changed_files, state }
    },
    async restore({ iteration, score }, records, context) {
      if (iteration === records.at(-1)?.iteration) return undefined
      const which = iteration < 0 ? 'before the first iteration' : `after iteration ${iteration}`
      emit(context, {
        type: 'warning',
        message: `the best score was ${score}, ${which}, and the files are those of the last iteration`,
        hint: 'In a git repository the best state would be restored.',
      })
      return undefined
    },
  }
}

function contentName(path: string): string | null {
  try {
    const status = lstatSync(path)
    if (status.isSymbolicLink()) return `-> ${readlinkSync(path)}`
    return status.isFile() ? sha256(readFileSync(path)) : 'folder'
  } catch {
    return null
  }
}

interface GitParts {
  readonly repository: () => Promise<Repository>
  readonly commits: boolean
  /** The place of the iterated prompt in the run, which may have several. Empty for the file that is run. */
  readonly within: string
}

/** The keeper in a repository; docs/design/iterate.md describes what is committed. */
function createGitKeeper({ repository, commits, within }: GitParts): Keeper {
  /** Paths that were changed before the first iteration, which are never committed. */
  let excluded: readonly string[] = []
  let isStaged = false
  let startTree: string | undefined
  /** The tree of the previous iteration. */
  let lastTree: string | undefined
  /** HEAD at the start of the iteration, which cannot be one of its commits. */
  let headBefore: string | undefined
  const keyOf = (iteration: number | 'best'): string => (within === '' ? `${iteration}` : `${iteration} of ${within}`)

  function commit(
    key: string,
    messageFor: (files: readonly string[]) => string,
    context: RunContext,
  ): Promise<CommitResult> {
    const { scope, services } = below(context, part('commit'))
    const effect = {
      kind: 'git',
      request: { command: 'commit', iteration: key },
      action: { kind: 'command', program: 'git', caller: 'iterate' },
      // it recognizes its own commit, so none is created twice
      repeat: 'safe',
    } as const
    return services.effects.perform<CommitResult>(scope.at, effect, async (stop) => {
      const signal = AbortSignal.any([stop, services.signal])
      const result = await commitNow(signal).catch((error: unknown) => {
        signal.throwIfAborted()
        return { kind: 'refused', files: [], reason: messageOf(error) } as const
      })
      if (result.kind !== 'refused') return result
      // it may be the best state, which is restored in the end
      const tree = await repository()
        .then((git) => git.snapshot(signal))
        .catch(() => undefined)
      return { ...result, ...defined({ tree }) }
    })

    async function commitNow(signal: AbortSignal): Promise<CommitResult> {
      const git = await repository()
      return git.commit({ run: scope.runId, key, headBefore, excluded, isStaged, messageFor }, signal)
    }
  }

  return {
    commits,

    async start({ scope, services }) {
      const { signal, effects } = services
      const begun = await effects.observeAsync(scope.at, { name: 'iterate.start', args: [] }, async () => {
        const git = await repository()
        const tree = commits ? await git.headTree(signal) : undefined
        return { commits, ...(await git.start(signal)), tree: tree ?? (await git.snapshot(signal)) }
      })
      ;({ isStaged, tree: startTree } = begun)
      if (commits) excluded = begun.dirty
      lastTree = startTree
      return { ...defined({ head: begun.head }), state: begun.tree }
    },

    async begin(records, at) {
      lastTree = records.findLast(({ state }) => state !== undefined)?.state ?? startTree
      const { scope, services } = below(at, part('before'))
      const { signal, effects } = services
      const head = await effects.observeAsync(scope.at, { name: 'iterate.head', args: [] }, async () =>
        commits ? ((await (await repository()).head(signal)) ?? null) : null,
      )
      headBefore = head ?? undefined
    },

    async changed(known, at) {
      const { scope, services } = below(at, part('changes'))
      const { signal, effects } = services
      const before = lastTree
      const found = await effects.observeAsync(scope.at, { name: 'iterate.changes', args: [] }, async () => {
        const git = await repository()
        if (commits) return { files: await git.changed({ excluded, known }, signal) }
        const tree = await git.snapshot(signal)
        return { files: before === undefined ? [] : await git.difference(before, tree, excluded, signal), tree }
      })
      if (found.tree !== undefined) lastTree = found.tree
      return found.files
    },

    async keep({ iteration, changed_files: files, subject }, at) {
      if (!commits) return { changed_files: files, ...defined({ state: lastTree }) }
      const run = at.scope.runId
      const key = keyOf(iteration)
      const message = (all: readonly string[]): string => commitMessage({ run, key, iteration, files: all, subject })
      const result = await commit(key, message, at)
      switch (result.kind) {
        case 'none':
          // files that were changed before the first iteration are not part of states
          return { changed_files: files, ...defined({ state: files.length === 0 ? lastTree : undefined }) }
        case 'committed':
          lastTree = result.tree
          return { changed_files: result.files, commit_id: result.id, state: result.tree }
        case 'refused':
          emit(at, {
            type: 'warning',
            message: `iteration ${iteration} was not committed: ${result.reason}`,
            hint: 'Its changes stay in the work tree and are part of the next commit.',
          })
          return { changed_files: files, ...defined({ state: result.tree }) }
      }
    },

    async restore({ iteration, score }, records, context) {
      headBefore = records.at(-1)?.commit_id
      if (iteration === records.at(-1)?.iteration) return undefined
      const best = iteration < 0 ? startTree : records.find((one) => one.iteration === iteration)?.state
      const now = records.at(-1)?.state
      if (best === undefined || now === undefined) return notRestored({ iteration, score }, undefined, context)
      if (best === now) return undefined
      const ended = Date.parse(records.at(-1)?.timestamp ?? '')
      const { files, problem } = await bringBack({ best, now, excluded, ended }, repository, context)
      if (problem !== undefined) return notRestored({ iteration, score }, problem, context)
      if (files.length === 0) return undefined
      const run = context.scope.runId
      const key = keyOf('best')
      const message = (all: readonly string[]): string => bestMessage({ run, key, iteration, score }, all)
      const result = commits ? await commit(key, message, context) : undefined
      const id = result?.kind === 'committed' ? result.id : undefined
      emit(context, { type: 'iterate.restored', iteration, score, changed_files: files, ...defined({ commit_id: id }) })
      if (result?.kind !== 'refused') return undefined
      const hint = 'The files are those of the best iteration nevertheless.'
      emit(context, { type: 'warning', message: `the best state was not committed: ${result.reason}`, hint })
      return undefined
    },
  }
}

/** Without a problem of files: git has no state of them. */
function notRestored(
  { iteration, score }: { readonly iteration: number; readonly score: number },
  problem: BroughtBack['problem'],
  { scope }: RunContext,
): BatonError {
  const which = iteration < 0 ? 'from before the first iteration' : `of iteration ${iteration}`
  const why = problem?.why ?? 'git has no state of them'
  const message = `the files ${which}, which have the best score, ${score}, were not restored: ${why}`
  const hint =
    problem === undefined
      ? `See what the iterations changed with baton runs show ${scope.runId} --diff.`
      : `Fix that and run baton resume ${scope.runId}, or restore them yourself: ${problem.command}`
  return new BatonError('CHANGES_FAILED', message, { hint })
}

interface BringBack {
  readonly best: string
  readonly now: string
  readonly excluded: readonly string[]
  /** When the last iteration ended, in milliseconds since 1970. */
  readonly ended: number
}

interface BroughtBack {
  readonly files: readonly string[]
  /** Why not all of them were restored, and a command that does it. */
  readonly problem?: { readonly why: string; readonly command: string }
}

/**
 * Restores the files of tree `best` that differ in tree `now`, except `excluded` (paths from the top of the
 * repository). Each file is changed like any other file of a run, so the change is recorded and can be undone. Returns
 * their paths relative to the workspace. If someone has changed one of them since the last iteration, all are left alone.
 */
async function bringBack(
  { best, now, excluded, ended }: BringBack,
  repository: () => Promise<Repository>,
  context: RunContext,
): Promise<BroughtBack> {
  const { scope, services } = context
  const { signal, effects } = services
  const { workspace } = scope.folders
  const { path: folder, remove } = makeTemporaryFolder('baton-best-')
  let extracted = false
  async function extract(paths: readonly string[]): Promise<void> {
    if (!extracted) await (await repository()).extract(best, paths, folder, signal)
    extracted = true
  }
  try {
    const at = [...scope.at, part('changes')]
    const asked = { name: 'iterate.difference', args: [now, best] }
    // if it fails, a resumed run looks again
    const found = await effects.observeAsync(at, asked, async () => {
      let paths: readonly string[] = []
      try {
        const git = await repository()
        paths = await git.difference(now, best, excluded, signal)
        const present = await git.snapshot(signal)
        const [fromNow, fromBest] = await Promise.all(
          [now, best].map((tree) => git.difference(tree, present, excluded, signal)),
        )
        const isNew = (path: string): boolean => fromNow?.includes(path) === true && fromBest?.includes(path) === true
        // commands of the run may have changed files after the last commit
        const isLater = (path: string): boolean => (entryStatus(resolve(workspace, path))?.mtimeMs ?? 0) > ended
        const changed = paths.filter((path) => isNew(path) && isLater(path))
        if (changed.length > 0) throw new Error(`${changed.join(', ')} changed after the last iteration`)
        await extract(paths)
      } catch (error) {
        signal.throwIfAborted()
        if (isBatonError(error) || error instanceof TypeError) throw error
        throw new BatonError('CHANGES_FAILED', messageOf(error), { hint: commandFor(best, paths) })
      }
      return paths.map((path) => ({ path, ...stateOf(join(folder, path), resolve(workspace, path)) }))
    })
    const files = found.map(({ path }) => path)
    // a replay does not need the contents, and may have no repository
    if (!extracted) await extract(files).catch(() => signal.throwIfAborted())
    const steps = found.map((one, index) => ({ ...one, index }))
    // a file can be where a folder has to be, and the other way round
    const [removed, others] = [true, false].map((isRemoved) =>
      steps.filter(({ kind }) => (kind === 'absent') === isRemoved),
    )
    for (const { index, path, ...to } of [...(removed ?? []), ...(others ?? [])]) {
      signal.throwIfAborted()
      try {
        const call = { context, at: callPlace(at, index) }
        if (to.over === 'folder') removeFolders(path, removed ?? [], call)
        putBack(resolve(workspace, path), { ...to, source: join(folder, path) }, call)
      } catch (error) {
        if (!isBatonError(error) || (error.code !== 'FILE_FAILED' && error.code !== 'OUTSIDE_WORKSPACE')) throw error
        return { files, problem: { why: messageOf(error), command: commandFor(best, files) } }
      }
    }
    return { files }
  } catch (error) {
    if (!isBatonError(error) || error.code !== 'CHANGES_FAILED') throw error
    return { files: [], problem: { why: error.message, command: error.hint ?? '' } }
  } finally {
    remove()
  }
}

const mostNamed = 10

function commandFor(tree: string, paths: readonly string[]): string {
  const named = paths.length === 0 || paths.length > mostNamed ? ['.'] : paths.map(shellWord)
  return `git restore --source=${tree.slice(0, 12)} -- ${named.join(' ')}`
}

interface EntryState {
  readonly kind: 'absent' | 'link' | 'file'
  /** The target of a link. */
  readonly to?: string
  /** Permission bits of a file, if they have to be changed; git stores only whether it is executable. */
  readonly mode?: number
  /** What is in its place. */
  readonly over?: 'folder' | 'link'
}

function stateOf(path: string, present: string): EntryState {
  const status = entryStatus(path)
  const before = entryStatus(present)
  const state: Pick<EntryState, 'over'> =
    before?.isDirectory() === true ? { over: 'folder' } : before?.isSymbolicLink() === true ? { over: 'link' } : {}
  if (status === undefined || status.isDirectory()) return { ...state, kind: 'absent' } as const
  if (status.isSymbolicLink()) return { ...state, kind: 'link', to: readlinkSync(path) } as const
  const isSame = (((before?.mode ?? 0o644) ^ status.mode) & 0o111) === 0
  return { ...state, kind: 'file', ...(isSame ? {} : { mode: status.mode & 0o777 }) } as const
}

/** Removes a folder, and those in it that become empty when these files are removed. A folder with other files stays. */
function removeFolders(path: string, removed: readonly { readonly path: string }[], call: FileCall): void {
  const folders = new Set([path])
  for (const { path: file } of removed) {
    for (let above = dirname(file); above.startsWith(`${path}/`); above = dirname(above)) folders.add(above)
  }
  const { workspace } = call.context.scope.folders
  for (const [index, folder] of [...folders].toSorted().toReversed().entries()) {
    removeEmptyFolder(resolve(workspace, folder), { ...call, at: callPlace([...call.at, part('before')], index) })
  }
}

function putBack(
  path: string,
  { kind, to = '', mode, over, source }: EntryState & { readonly source: string },
  call: FileCall,
): void {
  const step = (name: 'after' | 'before'): FileCall => ({ ...call, at: [...call.at, part(name)] })
  switch (kind) {
    case 'absent':
      return over === 'folder' ? undefined : void deleteEntry(path, call)
    case 'link':
      if (over !== 'folder') deleteEntry(path, step('before'))
      return makeLink(path, to, call)
    case 'file':
      // otherwise the file that the link leads to would be written
      if (over === 'link') deleteEntry(path, step('before'))
      // the folder with the contents has another name in each process: a resumed run compares what is asked
      saveMadeFile(path, { op: 'unpack', source: path, make: () => readFileSync(source) }, call)
      if (mode !== undefined) setMode(path, mode, step('after'))
  }
}
