import { rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { entryStatus } from '../../base/entries.ts'
import { BatonError, isBatonError, messageOf } from '../../base/error.ts'
import { isInside, realPath } from '../../base/files.ts'
import { removeWorktree } from '../../base/git-worktree.ts'
import { sha256 } from '../../base/hash.ts'
import type { Json } from '../../base/json.ts'
import {
  type ContextWith,
  emit,
  type Events,
  type Gate,
  type RunContext,
  type RunFolders,
  type RunServices,
  type Surroundings,
} from '../../event/context.ts'
import { item, part, type Place, placeText } from '../../event/place.ts'
import { noteWorktrees, worktreePrefix } from '../../journal/worktrees.ts'
import { performActions } from '../changes/perform-actions.ts'
import { changesOf, type TreeChange, type TreeChanges } from './changes.ts'
import { stateDiff } from './file-store.ts'
import { type MadeTree, makeTree, storeFolder, storeOf } from './make.ts'
import { planApply, type TreeConflict } from './plan-apply.ts'
import { createPool } from '../../base/concurrency.ts'
import { listFiles } from '../../base/glob.ts'
import type { ReadLog } from '../../base/reads.ts'
import type { EventBody } from '../../event/event.ts'
import type { Permission, Rights } from '../../event/permission.ts'
import type { RunSources } from '../../event/sources.ts'
import { createPermission } from '../permission.ts'
import { pathHere, recordedPath } from './tree-paths.ts'
import {
  type ChangeRequest,
  checkedBefore,
  decorate,
  type Effects,
  type ChangeSnapshot,
  type PathState,
  type PlannedChange,
} from '../../event/effects.ts'

export interface WorktreeOptions {
  /** Distinguishes the work trees of one place. */
  readonly name: string
  /** Hint of the error if it is gone although it is still needed. */
  readonly cure?: string
  /** Its work has ended, so that it may be gone. */
  readonly isEnded?: boolean
}

/** The changes of a work tree, now in the workspace. `merged`: paths that were also changed in the workspace. */
export interface AppliedTree {
  readonly files: readonly TreeChange[]
  readonly merged: readonly string[]
}

/** A work tree for one piece of work in a run. */
export interface Worktree {
  /** A context whose workspace is in the work tree. */
  readonly context: RunContext
  /** The changes so far, recorded. Call it once, when the work is done. */
  readonly changes: () => Promise<TreeChanges>
  /** The changes so far, for display only: not recorded. Undefined if they cannot be determined, as in a replay. */
  readonly look: () => Promise<{ readonly files: readonly string[]; readonly diff: string } | undefined>
  /**
   * Applies the changes to the workspace, all or nothing. A resumed run retries this if it failed.
   * @throws BatonError CHANGES_FAILED on a conflict with changes in the workspace, or if a write failed
   */
  readonly apply: (changes: TreeChanges) => Promise<AppliedTree>
  /**
   * Call it when the work tree is no longer needed: it is removed, and a resumed run does not look for it. A replay
   * removes nothing.
   */
  readonly close: () => Promise<void>
  /** Like `close`, but records nothing: for work whose end is recorded, so that it is never repeated. */
  readonly remove: () => Promise<void>
}

/**
 * Creates a git work tree with the current contents of the workspace, at the place of the context; see `makeTree`. It
 * is kept until it is closed, even if the run is interrupted: a resumed run uses it again.
 * @throws BatonError USAGE if none can be created, FILE_FAILED if it is gone
 */
export async function openWorktree(
  context: RunContext,
  { name, cure, isEnded = false }: WorktreeOptions,
): Promise<Worktree> {
  const { scope, services } = context
  const { effects, env, signal } = services
  const at = worktreePlace(name, scope.at)
  const made = await make(context, at)
  const { top, below } = made
  const folder = join(top, below)
  const store = storeOf(made, env)
  const over = [...at, part('after')]
  const isLost = effects.isReplay !== true && entryStatus(join(top, '.git')) === undefined
  const refuse = (): never => {
    throw isGone(scope.at, cure)
  }
  // finished work does not need it any more: it may have been removed before that was recorded
  if (isLost && !isEnded && !effects.answers(over) && !hasChanges(name, context)) refuse()
  const { context: inside, models } = treeContext(context, folder, isLost ? refuse : () => {})

  async function applyNow(changes: TreeChanges): Promise<AppliedTree> {
    const place = [...at, part('apply')]
    const workspace = realPath(scope.folders.workspace)
    const asked = { name: 'worktree.plan', args: [changes.state] }
    const plan = await effects.observeAsync([...place, part('plan')], asked, async () => {
      const planned = await planApply(changes, { workspace, folder, store }, { env, signal })
      if (planned.kind === 'conflict') throw inConflict(planned.conflicts)
      return planned as typeof planned & Json
    })
    signal.throwIfAborted()
    const paths = changes.files.map(({ path }) => path).filter((path) => models.has(join(folder, path)))
    // files that a model may have written are not executed before the user has reviewed them
    services.sources.change(paths.map((path) => join(workspace, path)))
    const actions = plan.steps.map((step, index) => ({ ...step, index }))
    const nameOf = ({ path }: { readonly path: string }): string => path
    const performed = await performActions(actions, { nameOf, problem: problemOf }, { context, at: place })
    if (performed.kind === 'failed') {
      if (isLost) refuse()
      // if it failed in an earlier process, it may succeed now
      if (performed.left.length === 0 && effects.again(place)) return applyNow(changes)
      throw rolledBack(performed.problem, performed.notRestored)
    }
    emit(context, { type: 'isolation.applied', files: changes.files.map(({ path }) => path), merged: plan.merged })
    return { files: changes.files, merged: plan.merged }
  }

  async function removeFiles(): Promise<void> {
    if (effects.isReplay === true) return
    await effects.flush()
    removeFilesOf(top, store.folder)
  }

  return {
    context: inside,
    changes: () =>
      effects.observeAsync(
        [...at, part('changes')],
        { name: 'worktree.changes', args: [made.start] },
        async () => (await changesOf(made, store, signal)) as TreeChanges & Json,
      ),
    async look() {
      try {
        const { files, state } = await changesOf(made, store, signal)
        const diff = await stateDiff(store, [made.start, state], below, signal)
        return { files: files.map(({ path }) => path), diff }
      } catch {
        return undefined
      }
    },
    apply: (changes) => services.sources.inTurn.run(() => applyNow(changes), signal),
    async close() {
      effects.observe(over, { name: 'worktree.closed', args: [] }, () => true)
      await removeFiles()
    },
    remove: removeFiles,
  }
}

function worktreePlace(name: string, at: Place): Place {
  return [...at, part('worktree'), item(name)]
}

/** Whether an earlier process has recorded the changes of a work tree, for which all work in it had ended. */
export function hasChanges(name: string, { scope, services }: ContextWith<'at', Gate>): boolean {
  return services.effects.answers([...worktreePlace(name, scope.at), part('changes')])
}

/** Removes the work tree of work whose end an earlier process has recorded, if it was killed before it removed it. */
export function removeStaleWorktree(
  name: string,
  { scope, services }: ContextWith<'at' | 'folders' | 'runId', Gate>,
): void {
  const { worktrees } = scope.folders
  if (services.effects.isReplay === true || worktrees === undefined) return
  const top = join(worktrees, nameAt(worktreePlace(name, scope.at), scope.runId))
  removeFilesOf(top, storeFolder(top))
}

function removeFilesOf(top: string, store: string): void {
  removeWorktree(top)
  rmSync(store, { recursive: true, force: true })
}

/** The name of the folder of a work tree: the same in each process of a run. */
function nameAt(at: Place, runId: string): string {
  return `${worktreePrefix(runId)}${sha256(placeText(at)).slice(0, 12)}`
}

/** Does work in its own work tree, and applies its changes to the workspace when it is done. */
export async function inWorktree<T>(
  context: RunContext,
  options: WorktreeOptions,
  work: (inside: RunContext) => Promise<T>,
): Promise<{ readonly value: T; readonly applied: AppliedTree }> {
  const tree = await openWorktree(context, options)
  const value = await work(tree.context)
  const applied = await tree.apply(await tree.changes())
  await tree.close()
  return { value, applied }
}

async function make(
  context: ContextWith<'at' | 'folders' | 'runId', Gate & Events & Surroundings>,
  at: Place,
): Promise<MadeTree> {
  const { scope, services } = context
  const { workspace, worktrees: folder, ownFolders = [] } = scope.folders
  const request = { command: 'worktree add' }
  const action = { kind: 'command', program: 'git', caller: 'isolation' } as const
  return services.effects.perform<MadeTree>(
    [...at, part('before')],
    { kind: 'git', request, action, repeat: 'safe' },
    async (stop) => {
      if (folder === undefined) throw notRecorded()
      const signal = AbortSignal.any([stop, services.signal])
      const name = nameAt(at, scope.runId)
      const { env } = services
      noteWorktrees(dirname(folder))
      const made = await makeTree(
        { workspace: realPath(workspace), folder, name, env, leftOut: [...ownFolders] },
        signal,
      )
      if (made.missing.length > 0) {
        const message = `nested repositories are not copied into the work tree: ${made.missing.join(', ')}`
        emit(context, { type: 'warning', message, hint: 'Add them as submodules if the work needs them.' })
      }
      return made
    },
  )
}

function notRecorded(): BatonError {
  return new BatonError('USAGE', 'isolation = "worktree" needs a run that is recorded on disk', {
    hint: 'Set [runs] dir in your config file to a local folder that you can write to.',
  })
}

function isGone(at: Place, cure = 'Run the file again.'): BatonError {
  const where = placeText(at) || 'this run'
  return new BatonError('FILE_FAILED', `the work tree of ${where} is gone, and with it the changes made there`, {
    hint: cure,
  })
}

const mostNamed = 20

function inConflict(conflicts: readonly TreeConflict[]): BatonError {
  const named = conflicts.slice(0, mostNamed).map(({ path, why }) => `${path}: ${why}`)
  const more = conflicts.length > mostNamed ? [`${conflicts.length - mostNamed} more`] : []
  const lines = [...named, ...more].map((line) => `\n  ${line}`).join('')
  return new BatonError(
    'CHANGES_FAILED',
    `the changes of the work tree conflict with the workspace, and none of them were applied:${lines}`,
    {
      hint: 'Restore these files (git stash saves your changes), then resume the run.',
    },
  )
}

function rolledBack(problem: string, notRestored: readonly string[]): BatonError {
  const left = notRestored.length === 0 ? '' : `; not restored: ${notRestored.join('; ')}`
  return new BatonError('CHANGES_FAILED', `the changes of the work tree could not be applied: ${problem}${left}`, {
    hint: 'None of the other changes were applied. Fix the problem with that file, then resume the run.',
  })
}

function problemOf(error: unknown): string {
  if (!isBatonError(error) || (error.code !== 'FILE_FAILED' && error.code !== 'OUTSIDE_WORKSPACE')) throw error
  return messageOf(error)
}

/**
 * The same context with a folder (absolute, links resolved) in a work tree as workspace: files, programs, answers and
 * agents work there. What is protected in the workspace is protected in the work tree too. Agents and settings are
 * still read from the workspace. `models` says which of its files models have changed. `assertThere` is called before
 * an effect in it is done, and throws if the work tree is gone.
 */
function treeContext(
  outer: RunContext,
  workspace: string,
  assertThere: () => void,
): { readonly context: RunContext; readonly models: ModelChanges } {
  const { scope, services } = outer
  const { folders: around } = scope
  const folders: RunFolders = {
    ...around,
    workspace,
    standsFor: [around.workspace, ...(around.standsFor ?? [])],
    cwd: isInside(around.workspace, around.cwd)
      ? join(workspace, relative(around.workspace, around.cwd))
      : pathHere(around, around.cwd),
  }
  const copiesOf = (paths: readonly string[]): readonly string[] => [
    ...new Set([...paths, ...paths.map((path) => pathHere(folders, path))]),
  ]
  const permissionOf = (rights: Rights): Permission => createPermission(rights, folders)
  const rights = rightsIn(scope.rights, copiesOf)
  const permission = permissionOf(rights)
  const { sources, models } = treeSources(services.sources, { workspace, outside: around.workspace, copiesOf })
  const { earlier: _, reads, ...others } = services
  const own: RunServices = {
    ...others,
    permission,
    permissionOf,
    effects: treeEffects(services.effects, folders, assertThere).under(permission),
    events: (at, event) => services.events(at, isOfFiles(event) ? { ...event, isolated: true } : event),
    sources,
    ...(reads === undefined ? {} : { reads: readsOutside(reads, { workspace, outside: around.workspace }) }),
  }
  return { context: { scope: { ...scope, rights, folders }, services: own }, models }
}

function isOfFiles(event: EventBody): event is Extract<EventBody, { readonly isolated?: true }> {
  return event.type === 'file.changed' || event.type === 'changes.applied'
}

/** Paths that are protected in the workspace are also protected in the work tree. */
function rightsIn(rights: Rights, copiesOf: (paths: readonly string[]) => readonly string[]): Rights {
  return {
    ...rights,
    packs: rights.packs.map((pack) => ({
      ...pack,
      executed: copiesOf(pack.executed),
      ownFolders: copiesOf(pack.ownFolders),
      keptFolders: copiesOf(pack.keptFolders),
    })),
    protections: rights.protections.map((protection) => ({ ...protection, paths: copiesOf(protection.paths) })),
  }
}

/**
 * The files of a work tree that models have changed: those changed by answers, and all files once programs run by
 * models could write.
 */
interface ModelChanges {
  readonly has: (path: string) => boolean
}

interface Sides {
  readonly workspace: string
  /** The workspace that the work tree was made for. */
  readonly outside: string
}

function treeSources(
  outer: RunSources,
  { copiesOf }: Sides & { readonly copiesOf: (paths: readonly string[]) => readonly string[] },
): { readonly sources: RunSources; readonly models: ModelChanges } {
  const changed = new Set<string>()
  let hasPrograms = false
  const sources: RunSources = {
    ...outer,
    change(files) {
      for (const file of files) changed.add(file)
      outer.change(files)
    },
    writing(folder) {
      hasPrograms = true
      return outer.writing(folder)
    },
    inTurn: createPool(1),
    executed: () => copiesOf(outer.executed()),
  }
  return { sources, models: { has: (path) => hasPrograms || changed.has(path) } }
}

/**
 * Reads in a work tree are logged as reads of the same path in the workspace, because watch mode watches the user's
 * files in their current state.
 */
function readsOutside(outer: ReadLog, { workspace, outside }: Sides): ReadLog {
  const moved = (path: string): string => (isInside(workspace, path) ? join(outside, relative(workspace, path)) : path)
  const isHere = (path: string): boolean => isInside(workspace, path)
  return {
    ...outer,
    file: (path, text) => (isHere(path) ? outer.file(moved(path)) : outer.file(path, text)),
    prompt: (path, text) => (isHere(path) ? outer.prompt(moved(path)) : outer.prompt(path, text)),
    data: (path, text) => (isHere(path) ? outer.data?.(moved(path)) : outer.data?.(path, text)),
    list(list) {
      if (!isHere(list.baseDir)) return outer.list(list)
      const there = { ...list, baseDir: moved(list.baseDir), root: moved(list.root) }
      outer.list({ ...there, found: listFiles(list.globs, there).map(({ absolute }) => absolute) })
    },
  }
}

type TreeFolders = Pick<RunFolders, 'workspace' | 'standsFor'>

/**
 * The effects of work in a work tree. File changes are recorded with their real path, as seen from the workspace of the
 * run, so that readers of the record find the files and do not mistake them for changes of the workspace. They are not
 * undone.
 */
function treeEffects(effects: Effects, folders: TreeFolders, assertThere: () => void): Effects {
  return decorate(checkedBefore(effects, assertThere), (inner) => ({
    changeFile(at, asked, plan, permit) {
      const planned: typeof plan = (allow) => {
        const change = plan(allow)
        return change && inTree(change, folders)
      }
      return inner.changeFile(at, renamed<ChangeRequest>(asked, folders), planned, permit)
    },
  }))
}

function inTree({ record, act, keep }: PlannedChange, folders: TreeFolders): PlannedChange {
  const keepHere = (isFirst: (path: string) => boolean): ChangeSnapshot => {
    const { before, after, contents } = (keep as NonNullable<typeof keep>)(isFirst)
    const states = (all: readonly PathState[]): readonly PathState[] => all.map((state) => renamed(state, folders))
    return { before: states(before), after: states(after), contents, worktree: folders.workspace }
  }
  return { record: renamed(record, folders), act, ...(keep === undefined ? {} : { keep: keepHere }) }
}

const pathKeys = ['path', 'from', 'source'] as const

function renamed<T extends object>(given: T, folders: TreeFolders): T {
  const paths = pathKeys.flatMap((key) => {
    const value: unknown = Reflect.get(given, key)
    return typeof value === 'string' ? [[key, recordedPath(folders, value)] as const] : []
  })
  return { ...given, ...Object.fromEntries(paths) }
}
