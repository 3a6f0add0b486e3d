import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import type { IterateSettings } from '../../config/settings.ts'
import { canonicalJson, defined } from '../../base/json.ts'
import { emit, type RunContext, type RunFolders, type Sender } from '../../event/context.ts'
import { part, placeText } from '../../event/place.ts'
import { filesText } from './blocks.ts'
import { createGitKeeper } from './git-keeper.ts'
import type { IterationRecord } from './records.ts'
import { type Opening, openRepository, type Repository, type StartState } from './repository.ts'
import { sha256 } from '../../base/hash.ts'

/** The state of the files at one moment. */
interface WorkState {
  /** Full id of the commit; undefined outside of git and before the first one. */
  readonly head?: string
  /** The name of this state: equal states have equal names. */
  readonly state?: string
}

interface Kept {
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
  keep(done: ToKeep, at: RunContext): Promise<Kept>
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
