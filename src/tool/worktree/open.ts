import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { entryStatus } from '../../base/entries.ts'
import { BatonError, isBatonError, messageOf } from '../../base/error.ts'
import { realPath } from '../../base/files.ts'
import { removeWorktree } from '../../base/git-worktree.ts'
import { sha256 } from '../../base/hash.ts'
import type { Json } from '../../base/json.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { item, part, type Place, placeText } from '../../event/place.ts'
import { performActions } from '../changes/perform-actions.ts'
import { changesOf, type TreeChange, type TreeChanges } from './changes.ts'
import { stateDiff } from './file-store.ts'
import { makeTree, type MadeTree, storeOf } from './make.ts'
import { planApply, type TreeConflict } from './plan-apply.ts'
import { treeContext } from './tree-context.ts'

export interface WorktreeOptions {
  /** Tells the work trees of one place apart. */
  readonly name: string
  /** What to do where it is gone although it is still needed, for the hint of the error. */
  readonly cure?: string
}

/** The changes of a work tree, which the workspace has now. `merged`: paths that somebody else has changed as well. */
export interface AppliedTree {
  readonly files: readonly TreeChange[]
  readonly merged: readonly string[]
}

/** A work tree that some work of a run has for itself. */
export interface Worktree {
  /** Its work tree is the workspace there. */
  readonly context: RunContext
  /** What it has changed by now. To be asked once, when the work is done. */
  readonly changes: () => Promise<TreeChanges>
  /** What it has changed by now, for people: nothing of it is recorded. Undefined: it cannot be looked at, as in a replay. */
  readonly look: () => Promise<{ readonly files: readonly string[]; readonly diff: string } | undefined>
  /**
   * Brings the changes into the workspace, all or nothing. A resumed run tries again what has failed.
   * @throws BatonError CHANGES_FAILED when somebody else has changed the same meanwhile, or a write failed
   */
  readonly apply: (changes: TreeChanges) => Promise<AppliedTree>
  /** To be called once nothing of it is needed: it is removed, and a resumed run does not look for it. */
  readonly close: () => void
  /** The same once the end of the work is recorded, which nobody does again: nothing is recorded of it. A replay removes nothing. */
  readonly remove: () => void
}

/**
 * Makes a git work tree with what the workspace holds now, at the place of the context; see `makeTree`. It stays until it is closed,
 * also when the run breaks off: a resumed run has it again. R16.
 * @throws BatonError USAGE where none can be made, FILE_FAILED for one that is gone
 */
export async function openWorktree(context: RunContext, { name, cure }: WorktreeOptions): Promise<Worktree> {
  const { scope, services } = context
  const { effects, env, signal } = services
  const at: Place = [...scope.at, part('worktree'), item(name)]
  const made = await make(context, at)
  const { top, below } = made
  const folder = join(top, below)
  const store = storeOf(made, env)
  const over = [...at, part('after')]
  // a replay and what is over need it no more
  if (!effects.answers(over) && entryStatus(join(top, '.git')) === undefined) throw isGone(context, cure)
  const { context: inside, models } = treeContext(context, folder)

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
    // what a model may have made is not executed before a person has looked at it
    services.sources.change(paths.map((path) => join(workspace, path)))
    const actions = plan.steps.map((step, index) => ({ ...step, index }))
    const nameOf = ({ path }: { readonly path: string }): string => path
    const performed = await performActions(actions, { nameOf, problem: problemOf }, { context, at: place })
    if (performed.kind === 'failed') {
      // what failed in a process that is gone may succeed now
      if (performed.left.length === 0 && effects.again(place)) return applyNow(changes)
      throw rolledBack(performed.problem, performed.notRestored)
    }
    emit(context, { type: 'isolation.applied', files: changes.files.map(({ path }) => path), merged: plan.merged })
    return { files: changes.files, merged: plan.merged }
  }

  function removeFiles(): void {
    removeWorktree(top)
    rmSync(store.folder, { recursive: true, force: true })
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
    close() {
      effects.observe(over, { name: 'worktree.closed', args: [] }, () => true)
      removeFiles()
    },
    remove() {
      if (!effects.answers(over)) removeFiles()
    },
  }
}

/** Does work in a work tree of its own, and brings what it has changed into the workspace once it is done. */
export async function inWorktree<T>(
  context: RunContext,
  options: WorktreeOptions,
  work: (inside: RunContext) => Promise<T>,
): Promise<{ readonly value: T; readonly applied: AppliedTree }> {
  const tree = await openWorktree(context, options)
  const value = await work(tree.context)
  const applied = await tree.apply(await tree.changes())
  tree.close()
  return { value, applied }
}

async function make(context: RunContext, at: Place): Promise<MadeTree> {
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
      const name = `${scope.runId.slice(-9)}-${sha256(placeText(at)).slice(0, 12)}`
      const { env } = services
      const made = await makeTree(
        { workspace: realPath(workspace), folder, name, env, leftOut: [...ownFolders] },
        signal,
      )
      if (made.missing.length > 0) {
        const message = `repositories within the workspace are not in the work tree: ${made.missing.join(', ')}`
        emit(context, { type: 'warning', message, hint: 'Add them as submodules if the work needs them.' })
      }
      return made
    },
  )
}

function notRecorded(): BatonError {
  return new BatonError('USAGE', 'isolation = "worktree" needs a run that is recorded on the disk', {
    hint: 'Set [runs] dir in your config file to a local folder that you can write to.',
  })
}

function isGone({ scope }: RunContext, cure = 'Run the file again.'): BatonError {
  const where = placeText(scope.at) || 'this run'
  return new BatonError('FILE_FAILED', `the work tree of ${where} is gone, and with it what was changed there`, {
    hint: cure,
  })
}

const mostNamed = 20

function inConflict(conflicts: readonly TreeConflict[]): BatonError {
  const named = conflicts.slice(0, mostNamed).map(({ path, why }) => `${path}: ${why}`)
  const more = conflicts.length > mostNamed ? [`${conflicts.length - mostNamed} more`] : []
  const lines = [...named, ...more].map((line) => `\n  ${line}`).join('')
  return new BatonError('CHANGES_FAILED', `the changes of a work tree do not fit, and none of them was made:${lines}`, {
    hint: 'Put these files back as they were (git stash keeps what they hold), then resume the run.',
  })
}

function rolledBack(problem: string, notRestored: readonly string[]): BatonError {
  const left = notRestored.length === 0 ? '' : `; not put back: ${notRestored.join('; ')}`
  return new BatonError('CHANGES_FAILED', `the changes of a work tree could not be made: ${problem}${left}`, {
    hint: 'None of the others was made. See to that file, then resume the run.',
  })
}

function problemOf(error: unknown): string {
  if (!isBatonError(error) || (error.code !== 'FILE_FAILED' && error.code !== 'OUTSIDE_WORKSPACE')) throw error
  return messageOf(error)
}
