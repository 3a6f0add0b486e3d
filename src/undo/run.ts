import { basename, dirname, join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { displayPath, isInside } from '../base/files.ts'
import { createBus, type Listener } from '../event/bus.ts'
import type { Events, Surroundings } from '../event/context.ts'
import { allRights } from '../event/permission.ts'
import { part } from '../event/place.ts'
import { createEffects } from '../journal/effects.ts'
import { readRunState, undoneRun } from '../journal/run-state.ts'
import { finishHistory } from '../journal/index-file.ts'
import type { RunJournal } from '../journal/journal.ts'
import { createMemoryJournal } from '../journal/memory.ts'
import { isOwnRun, refuseForeign } from '../journal/own-run.ts'
import { newRunId } from '../journal/run-id.ts'
import type { LiveMask, SecretMask } from '../journal/secrets.ts'
import type { SigningKey } from '../journal/signing.ts'
import { openRun } from '../journal/store.ts'
import { recordUndo } from '../journal/undo-mark.ts'
import { ownChangesHook } from '../tool/own-changes.ts'
import { createPermission } from '../tool/permission.ts'
import { version } from '../version.ts'
import { openChanges } from './open-changes.ts'
import { itemOf, performUndo, type UndoneItem } from './perform.ts'
import { type PathPlan, planUndo } from './plan.ts'
import { indexRun } from '../journal/run-index.ts'
import { runIds } from '../journal/find-run.ts'
import { openFileRecords } from '../journal/source.ts'
import { findUnfinishedEffects } from '../journal/uncertain.ts'
import { presentText, settleChange } from '../tool/change-state.ts'
import type { EntryState } from './changes.ts'

export interface UndoOptions {
  /** The folder of the run to undo; the record of the undo is created next to it. */
  readonly folder: string
  /** Absolute, links resolved. */
  readonly workspace: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The user's home folder. */
  readonly home: string
  readonly mask: LiveMask
  /** The key of this installation: runs that another installation recorded are not undone. */
  readonly key: SigningKey
  readonly signal: AbortSignal
  /** Absolute paths of files and folders; empty: everything that the run changed. */
  readonly files: readonly string[]
  /** The error for a path in `files` that the run did not change; undefined: the default error. */
  readonly noFile?: (file: string) => BatonError | undefined
  readonly merges: boolean
  /** Reports what would be done, and does nothing. */
  readonly dry: boolean
  readonly listener?: Listener
}

export interface UndoReport {
  readonly run: string
  /** The run that recorded the undo, and by which the undo can be undone; undefined if nothing was done. */
  readonly by: string | undefined
  readonly items: readonly UndoneItem[]
}

/**
 * Restores what a run changed, if it is still as the run left it. Everything is checked before anything is written, and
 * each file is written atomically. The undo is recorded as a separate run.
 * @throws BatonError USAGE when the run is still running, or did not change one of the files
 */
export async function undoRun(options: UndoOptions): Promise<UndoReport> {
  const { folder, workspace, env, home, mask, key, signal, files, merges, dry, listener } = options
  const run = basename(folder)
  if ((await readRunState(folder))?.isRunning === true) {
    throw new BatonError('USAGE', `run ${run} is running`, {
      hint: 'Wait until it has ended, or stop it, and then undo it.',
    })
  }
  await refuseForeign(folder, key, 'undone')
  const earlier = await earlierUndos(folder, run, key)
  if (!dry) await settleUndos(earlier, { workspace, mask, key })
  const { changes, contents } = await openChanges(folder, mask, key)
  const id = newRunId(new Date())
  const bus = createBus({ runId: id, now: () => new Date(), hide: mask.hide, begun: mask.begun })
  if (listener !== undefined) bus.subscribe(listener)
  const contextOf = (journal: RunJournal) => undoContext(journal, { workspace, env, home, signal, events: bus.send })

  const plans = await planUndo(changes, {
    workspace,
    contents,
    context: contextOf(createMemoryJournal()),
    includes: (target) => files.length === 0 || files.some((file) => isInside(file, target)),
    merges,
    leftBefore: merges ? await leftBy(earlier, mask, key) : () => [],
  })
  const unknown = files.find((file) => !plans.some(({ target }) => isInside(file, target)))
  if (unknown !== undefined) {
    const error = options.noFile?.(unknown)
    if (error !== undefined) throw error
    throw new BatonError('USAGE', `run ${run} did not change ${displayPath(workspace, unknown)}`, {
      hint: `baton runs show ${run} --diff shows what it changed.`,
    })
  }
  if (dry || !plans.some(isToDo)) return { run, by: undefined, items: plans.map(itemOf) }

  const journal = await openRun({ folder: join(dirname(folder), id), now: () => new Date(), mask, key })
  await recordUndo(folder, id)
  const items = await recorded(journal, { run, id, workspace }, () =>
    performUndo(plans, { context: contextOf(journal), at: [part('undo')] }),
  )
  const hasFailed = items.some(({ outcome }) => outcome === 'failed')
  const none = { done: 0, failed: 0, skipped: 0 }
  await finishHistory(join(dirname(folder), id), {
    id,
    target: 'undo',
    status: hasFailed ? 'failed' : 'done',
    exit: hasFailed ? 1 : 0,
    tasks: none,
    calls: 0,
    tokens: { input: 0, output: 0, cached: 0 },
    cost_usd: 0,
    models: [],
    repeated: 0,
  })
  return { run, by: id, items }
}

function isToDo({ verdict: { kind } }: PathPlan): boolean {
  return kind !== 'as_before' && kind !== 'refused'
}

/** The record of an undo has this name plus the run id instead of a file. */
const undoName = 'undo of '

interface Undoing {
  readonly run: string
  readonly id: string
  readonly workspace: string
}

async function recorded(
  journal: RunJournal,
  { run, id, workspace }: Undoing,
  work: () => readonly UndoneItem[],
): Promise<readonly UndoneItem[]> {
  try {
    const file = join(workspace, `${undoName}${run}`)
    journal.note({ k: 'run.start', run: id, file, hash: '', version, facts: { workspace, undoes: run } })
    const items = work()
    const hasFailed = items.some(({ outcome }) => outcome === 'failed')
    journal.note({ k: 'run.end', exit: hasFailed ? 1 : 0, stop: hasFailed ? 'error' : 'done' })
    return items
  } finally {
    await journal.close()
  }
}

interface Around extends Events, Pick<Surroundings, 'env' | 'signal'> {
  readonly workspace: string
  readonly home: string
}

/** An undo reads and changes files, and nothing else. */
function undoContext(journal: RunJournal, { workspace, env, home, signal, events }: Around) {
  const folders = { workspace, cwd: workspace, packRoots: [] }
  const permission = createPermission(allRights, folders)
  const hooks = [ownChangesHook(workspace, { env, home })]
  const effects = createEffects({ journal, signal, permission, onSpent: () => undefined, hooks })
  return { scope: { at: [], folders, rights: allRights }, services: { effects, permission, events, signal, env } }
}

/** An earlier undo of a run. */
interface EarlierUndo {
  readonly folder: string
  /** It was stopped before it finished. */
  readonly isUnfinished: boolean
}

/** The undos of the run in `folder`, newest first. Their own folders are siblings of it. */
async function earlierUndos(folder: string, run: string, key: SigningKey): Promise<readonly EarlierUndo[]> {
  const runs = dirname(folder)
  const ids = runIds(runs)
  const found: EarlierUndo[] = []
  for (const id of ids.slice(0, Math.max(0, ids.indexOf(run)))) {
    const seen = await readRunState(join(runs, id))
    if (seen?.start === undefined || undoneRun(seen.start) !== run) continue
    if (!(await isOwnRun(join(runs, id), key))) continue
    found.push({ folder: join(runs, id), isUnfinished: seen.end === undefined && !seen.isRunning })
  }
  return found
}

/** Removes temporary files left behind by undos that were killed before they could rename them into place. */
async function settleUndos(
  undos: readonly EarlierUndo[],
  { workspace, mask, key }: { readonly workspace: string; readonly mask: SecretMask; readonly key: SigningKey },
): Promise<void> {
  for (const { folder, isUnfinished } of undos) {
    if (!isUnfinished) continue
    const source = openFileRecords(folder, { mask, key })
    try {
      const index = await indexRun(source, { keeps: 'everything' })
      findUnfinishedEffects(index, {
        stateOf: (change, added) => settleChange(change, workspace, added),
        presentText: (change) => presentText(change, workspace),
      })
    } finally {
      source.close()
    }
  }
}

/** The states that undos left at each path, or were about to leave there. */
async function leftBy(
  undos: readonly EarlierUndo[],
  mask: SecretMask,
  key: SigningKey,
): Promise<(path: string) => readonly EntryState[]> {
  const left = new Map<string, EntryState[]>()
  for (const { folder } of undos) {
    const { changes } = await openChanges(folder, mask, key)
    for (const { path, stretches } of changes) {
      // if a change has no recorded outcome, `left` also has the state before it, which the undo did not make
      const made = stretches.flatMap((stretch) => stretch.left.slice(-1))
      left.set(path, [...(left.get(path) ?? []), ...made])
    }
  }
  return (path) => left.get(path) ?? []
}
