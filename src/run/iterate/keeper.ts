import { lstatSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { BatonError, messageOf } from '../../base/error.ts'
import { sha256 } from '../../base/hash.ts'
import { canonicalJson, defined } from '../../base/json.ts'
import type { IterateSettings } from '../../config/settings.ts'
import { below, emit, type RunContext } from '../../event/context.ts'
import { callPlace, part } from '../../event/place.ts'
import { deleteEntry, type FileCall, makeLink, saveMadeFile, setMode } from '../../tool/workspace-files.ts'
import { filesText } from './blocks.ts'
import { bestMessage, commitMessage } from './message.ts'
import type { IterationRecord } from './record.ts'
import { type CommitResult, openRepository, type Repository, type StartState } from './repository.ts'

/** The files as they are at one moment. */
export interface WorkState {
  /** Full id of the commit; undefined outside of git and before the first one. */
  readonly head?: string
  /** Names this state: equal states have equal names. */
  readonly state?: string
}

interface Kept {
  readonly changed_files: readonly string[]
  readonly commit_id?: string
  readonly state?: string
}

interface ToKeep extends Pick<IterationRecord, 'iteration' | 'changed_files'> {
  /** For the subject of the commit; undefined: there is nothing to say. */
  readonly subject: string | undefined
}

/** Knows what iterations change, and commits it where that is wanted. */
export interface Keeper {
  /** What the first iteration begins with. */
  start(at: RunContext): Promise<WorkState>
  /** What an iteration has changed; `known`: as far as the run itself knows. From the workspace, sorted. */
  changed(known: readonly string[], at: RunContext): Promise<readonly string[]>
  /** Keeps the work of an iteration. */
  keep(done: ToKeep, at: RunContext): Promise<Kept>
  /** Brings back the files of the best iteration (-1: of the start) where the last one has others, as a commit of its own. */
  restore(
    best: { readonly iteration: number; readonly score: number },
    records: readonly IterationRecord[],
    at: RunContext,
  ): Promise<void>
}

export interface KeeperOptions {
  readonly settings: IterateSettings
  /** Absolute path of the prompt file; undefined for a text. */
  readonly promptFile: string | undefined
  /** Absolute path of the folder of runs, where it is known. */
  readonly runsFolder: string | undefined
  /** Which round of the run this is. */
  readonly redoCount: number
}

/**
 * Looks at the workspace before anything is done.
 * @throws BatonError USAGE when `commits = true` and the repository is not as it has to be
 */
export async function openKeeper(options: KeeperOptions, context: RunContext): Promise<Keeper> {
  const { settings, promptFile, runsFolder, redoCount } = options
  const { scope, services } = context
  if (scope.dry !== undefined) return noKeeper
  const { workspace } = scope.folders
  const { signal, effects } = services
  let opened: Promise<Repository | undefined> | undefined
  // a replay has the record, and need not have the repository
  const open = (): Promise<Repository | undefined> =>
    (opened ??= openRepository(
      {
        workspace,
        env: services.env,
        leftOut: [promptFile, runsFolder].flatMap((path) => path ?? []),
        timeLimitMs: settings.command_timeout_ms,
      },
      signal,
    ))
  const at = [...scope.at, part('commit')]
  const found = await effects.observeAsync(at, { name: 'iterate.repository', args: [] }, async () => {
    const repository = await open()
    return repository === undefined ? null : repository.start(signal)
  })
  if (found === null) {
    if (settings.commits === true) throw noRepository(workspace)
    return createRecordKeeper()
  }
  const why = redoCount > 0 ? undefined : whyNot(found, settings)
  if (why !== undefined && settings.commits === true) throw why
  if (why !== undefined && settings.commits === 'auto') {
    emit(context, { type: 'warning', message: `iterations are not committed: ${why.message}`, hint: why.hint ?? '' })
  }
  const repository = async (): Promise<Repository> => {
    const there = await open()
    if (there === undefined) throw noRepository(workspace)
    return there
  }
  return createGitKeeper({ repository, commits: settings.commits !== false && why === undefined, redoCount })
}

function noRepository(workspace: string): BatonError {
  return new BatonError('USAGE', `[iterate] is to commit, and ${workspace} is in no git repository`, {
    hint: 'Run git init, or set commits = false.',
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

/** A dry run keeps nothing. */
const noKeeper: Keeper = {
  start: async () => ({}),
  changed: async (known) => known,
  keep: async ({ changed_files }) => ({ changed_files }),
  restore: async () => {},
}

/** Without git: what the run itself has changed. */
function createRecordKeeper(): Keeper {
  const touched = new Set<string>()
  return {
    start: async () => ({}),
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
      if (iteration === records.at(-1)?.iteration) return
      const which = iteration < 0 ? 'before the first iteration' : `after iteration ${iteration}`
      emit(context, {
        type: 'warning',
        message: `the best score was ${score}, ${which}, and the files are those of the last iteration`,
        hint: 'In a git repository the best state is brought back.',
      })
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
  readonly redoCount: number
}

function createGitKeeper({ repository, commits, redoCount }: GitParts): Keeper {
  /** What stays out of all commits: what was changed before the first iteration. */
  let excluded: readonly string[] = []
  let isStaged = false
  let startTree: string | undefined
  /** Of the iteration before. */
  let lastTree: string | undefined
  const keyOf = (iteration: number | 'best'): string =>
    redoCount === 0 ? `${iteration}` : `${iteration} of redo ${redoCount}`

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
      // it finds its own commit, so none is made twice
      repeat: 'safe',
    } as const
    return services.effects.perform<CommitResult>(scope.at, effect, async (stop) => {
      const signal = AbortSignal.any([stop, services.signal])
      try {
        return await (await repository()).commit({ run: scope.runId, key, excluded, isStaged, messageFor }, signal)
      } catch (error) {
        signal.throwIfAborted()
        return { kind: 'refused', files: [], reason: messageOf(error) }
      }
    })
  }

  return {
    async start({ scope, services }) {
      const { signal, effects } = services
      const begun = await effects.observeAsync(scope.at, { name: 'iterate.start', args: [] }, async () => {
        const git = await repository()
        const tree = commits ? await git.headTree(signal) : undefined
        return { ...(await git.start(signal)), tree: tree ?? (await git.snapshot(signal)) }
      })
      ;({ dirty: excluded, isStaged, tree: startTree } = begun)
      lastTree = startTree
      return { ...defined({ head: begun.head }), state: begun.tree }
    },

    async changed(_known, at) {
      const { scope, services } = below(at, part('changes'))
      const { signal, effects } = services
      const before = lastTree
      const found = await effects.observeAsync(scope.at, { name: 'iterate.changes', args: [] }, async () => {
        const git = await repository()
        if (commits) return { files: await git.changed(excluded, signal) }
        const tree = await git.snapshot(signal)
        return { files: before === undefined ? [] : await git.difference(before, tree, signal), tree }
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
          return { changed_files: files, ...defined({ state: lastTree }) }
        case 'committed':
          lastTree = result.tree
          return { changed_files: result.files, commit_id: result.id, state: result.tree }
        case 'refused':
          emit(at, {
            type: 'warning',
            message: `iteration ${iteration} is not committed: ${result.reason}`,
            hint: 'Its changes stay in the work tree, and the commit of the next iteration has them.',
          })
          return { changed_files: files }
      }
    },

    async restore({ iteration, score }, records, context) {
      const best = iteration < 0 ? startTree : records.find((one) => one.iteration === iteration)?.state
      const now = records.at(-1)?.state
      if (best === undefined || now === undefined || best === now) return
      const files = await bringBack(best, now, context)
      if (files.length === 0) return
      const run = context.scope.runId
      const key = keyOf('best')
      const message = (all: readonly string[]): string => bestMessage({ run, key, iteration, score }, all)
      const result = commits ? await commit(key, message, context) : undefined
      const id = result?.kind === 'committed' ? result.id : undefined
      emit(context, { type: 'iterate.restored', iteration, score, changed_files: files, ...defined({ commit_id: id }) })
      if (result?.kind !== 'refused') return
      const hint = 'The files are those of the best iteration all the same.'
      emit(context, { type: 'warning', message: `the best state is not committed: ${result.reason}`, hint })
    },
  }

  /** Each file is changed as any other that a run changes, so that it is recorded and can be undone. */
  async function bringBack(best: string, now: string, context: RunContext): Promise<readonly string[]> {
    const { scope, services } = context
    const { signal, effects } = services
    const { workspace } = scope.folders
    const others = new Set(excluded)
    const folder = mkdtempSync(join(tmpdir(), 'baton-best-'))
    let extracted = false
    async function extract(paths: readonly string[]): Promise<void> {
      if (!extracted) await (await repository()).extract(best, paths, folder, signal)
      extracted = true
    }
    try {
      const at = [...scope.at, part('changes')]
      const asked = { name: 'iterate.difference', args: [now, best] }
      const entries = await effects.observeAsync(at, asked, async () => {
        const all = await (await repository()).difference(now, best, signal)
        const paths = all.filter((path) => !others.has(path))
        await extract(paths)
        return paths.map((path) => ({ path, ...stateOf(join(folder, path)) }))
      })
      const paths = entries.map(({ path }) => path)
      // a replay does not need the contents, and may have no repository
      if (!extracted) await extract(paths).catch(() => signal.throwIfAborted())
      for (const [index, { path, ...to }] of entries.entries()) {
        signal.throwIfAborted()
        putBack(resolve(workspace, path), { ...to, source: join(folder, path) }, { context, at: callPlace(at, index) })
      }
      return paths
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

interface EntryState {
  readonly kind: 'absent' | 'link' | 'file'
  /** Of a link. */
  readonly to?: string
  /** Permission bits of a file. */
  readonly mode?: number
}

function stateOf(path: string): EntryState {
  const status = lstatSync(path, { throwIfNoEntry: false })
  if (status === undefined) return { kind: 'absent' }
  if (status.isSymbolicLink()) return { kind: 'link', to: readlinkSync(path) }
  return { kind: 'file', mode: status.mode & 0o777 }
}

function putBack(
  path: string,
  { kind, to = '', mode = 0o644, source }: EntryState & { readonly source: string },
  call: FileCall,
): void {
  const step = (name: 'after' | 'before'): FileCall => ({ ...call, at: [...call.at, part(name)] })
  switch (kind) {
    case 'absent':
      return void deleteEntry(path, call)
    case 'link':
      deleteEntry(path, step('before'))
      return makeLink(path, to, call)
    case 'file':
      saveMadeFile(path, { op: 'unpack', source, make: () => readFileSync(source) }, call)
      return setMode(path, mode, step('after'))
  }
}
