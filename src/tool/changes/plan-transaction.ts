import { resolve } from 'node:path'
import { isBatonError } from '../../base/error.ts'
import { displayPath, realPath } from '../../base/files.ts'
import { sha256 } from '../../base/hash.ts'
import { defined } from '../../base/json.ts'
import { part } from '../../event/place.ts'
import type { RunContext } from '../../event/context.ts'
import type { FileChange } from '../../event/event.ts'
import type { OverlayChange } from '../../event/overlay.ts'
import type { FileCall } from '../workspace-files.ts'
import { createJudge } from '../protected/answers.ts'
import { reportOf, reports } from './change-report.ts'
import { type Directive, relativeTo } from './directive.ts'
import { type ChangeStep, errorItem, planChanges } from './plan.ts'
import { type ShownChange, showSteps } from './preview.ts'
import { createSeen, type SeenFiles } from './seen.ts'
import { type ChangeSpace, diskSpace, type Files } from './space.ts'
import { type StaleFiles, staleFiles } from './stale.ts'
import { createTextThread, type TextThread } from './text-thread.ts'
import { measureSnapshot, type SnapshotSize } from './snapshot.ts'
import { whileUnchanged } from './while-unchanged.ts'

export interface PlanOptions {
  /** Absolute: changes reach only what is below. */
  readonly baseDir: string
  /** Carries out what can be carried out, single hunks too. Otherwise one fault keeps the whole set from being done. */
  readonly partial: boolean
  /**
   * Absolute paths of files that the model was shown, with the SHA-256 of their bytes as they then were. Undefined when
   * nobody can say what was seen: then every file may be replaced.
   */
  readonly shown: ReadonlyMap<string, string> | undefined
  /** Whether the run itself has made a file (real path). */
  readonly isMade?: (path: string) => boolean
  /** Globs from the workspace of files that may be changed although they decide what is run, or other programs run them. */
  readonly allow?: readonly string[]
  /** All changes together write no more. Undefined: as much as they like. */
  readonly maxBytes?: number
  /** The files that it is planned for, made of those on disk; left out: these. */
  readonly files?: (disk: Files) => Files
  /** What a person agreed to, as diffs in order: anything else is refused. */
  readonly approved?: readonly string[]
}

/** Why a set of changes is not carried out; plain JSON. Paths are as those of `TransactionResult`. */
export type RefusedPlan =
  /** Something cannot be done, so nothing was. `changed`: files among them that hold another text than was shown. */
  | { readonly kind: 'refused'; readonly items: readonly FileChange[]; readonly changed: readonly string[] }
  /**
   * Files would be replaced, deleted, moved or added to whose present content the model has not seen: `paths` are those that changed since they were
   * shown, `unseen` those that never were, `gone` those that are deleted since. Nothing was done.
   */
  | ({ readonly kind: 'stale' } & StaleFiles)

export type TransactionPlan = { readonly kind: 'ready'; readonly steps: readonly ChangeStep[] } | RefusedPlan

/** Works out what a set of changes does, and changes nothing. */
export function planTransaction(
  directives: readonly Directive[],
  options: PlanOptions,
  planning: Planning,
): Promise<TransactionPlan> {
  const { baseDir, shown, allow = [], isMade, maxBytes, files = asOnDisk } = options
  const { workspace } = planning.context.scope.folders
  const seen = shown && createSeen(shown)
  const isKnown = (path: string): boolean =>
    seen === undefined || seen.hashOf(path) !== undefined || isMade?.(realPath(path)) === true
  const judge = createJudge({ workspace, allow, isKnown })
  const disk = diskSpace(baseDir, planning.context)
  const space: ChangeSpace = { ...disk, files: files(disk.files), tolerance: 'marks', judge, maxBytes }
  return whileUnchanged(space, (present) => planIn(present, directives, { ...options, ...planning, seen }))
}

const asOnDisk = (disk: Files): Files => disk

interface Sight {
  readonly seen: SeenFiles | undefined
}

async function planIn(
  space: ChangeSpace,
  directives: readonly Directive[],
  { context, thread, baseDir, partial, approved, seen, ...others }: PlanOptions & Planning & Sight,
): Promise<TransactionPlan> {
  const steps = (await planChanges(directives, space, thread)).map(acceptUnchanged)
  const hasFailed = steps.some(({ item }) => !item.isSuccess)
  const isRefused = partial ? hasFailed && steps.every(({ action }) => action === undefined) : hasFailed
  const refused = async (failed: readonly ChangeStep[]): Promise<TransactionPlan> => {
    const items = await withNearest(reports(failed, notDone), space, thread)
    return { kind: 'refused', items, changed: changedAmong(items, { seen, baseDir }, space) }
  }
  if (isRefused) return refused(steps)

  const stale =
    seen === undefined ? undefined : staleFiles(directives, steps, { ...others, baseDir, seen, files: space.files })
  if (stale !== undefined && Object.values(stale).some((list) => list.length > 0)) return { kind: 'stale', ...stale }

  if (approved !== undefined) {
    const shown = await shownSteps(
      steps,
      { baseDir, ...(others.files && { files: others.files }) },
      { context, thread },
    )
    const diffs = shown.map(({ diff }) => diff)
    if (diffs.length !== approved.length || diffs.some((diff, index) => diff !== approved[index])) {
      return refused(steps.map(({ item: one }) => ({ item: { ...one, isSuccess: false, error: notApproved } })))
    }
  }

  const kept = measured(directives, steps)
  if (kept.some(({ item }, index) => item !== steps[index]?.item)) return refused(kept)
  return { kind: 'ready', steps }
}

const notApproved = 'it would do something else by now than what was agreed to'

/** Said of a change that has no fault of its own. */
export const notDone = 'not done, because another change of the answer failed'

/** The reports with the place of each failed hunk that it may have meant. */
async function withNearest(
  items: readonly FileChange[],
  space: ChangeSpace,
  thread: TextThread,
): Promise<readonly FileChange[]> {
  const placed: FileChange[] = []
  for (const report of items) {
    await thread.pause()
    const { file_path: path, error_hunks: hunks } = report
    const text = hunks === undefined ? undefined : presentText(path, space)
    if (hunks === undefined || text === undefined) {
      placed.push(report)
      continue
    }
    const bodies = hunks.slice(0, mostNearest).map(({ hunk_body: body }) => body)
    const places = await thread.work('nearestPlaces', text, bodies)
    const known = hunks.map((hunk, index) => ({ ...hunk, ...defined({ nearest: places[index] }) }))
    placed.push({ ...report, error_hunks: known })
  }
  return placed
}

/** Places are looked for so many failed hunks of a file: each costs as much as the file is long. */
const mostNearest = 20

/** Files of failed changes that hold another text than the model was shown. */
function changedAmong(
  items: readonly FileChange[],
  { seen, baseDir }: Pick<PlanOptions, 'baseDir'> & Sight,
  space: ChangeSpace,
): readonly string[] {
  const failed = items.filter(({ success, error_msg: error }) => !success && error !== notDone)
  return [...new Set(failed.map(({ file_path: path }) => path))].filter((path) => {
    const hash = seen?.hashOf(resolve(baseDir, path))
    const text = hash === undefined ? undefined : presentText(path, space)
    return text !== undefined && sha256(text) !== hash
  })
}

/** The text of a file that may be changed; undefined for all others. */
function presentText(path: string, { files, resolve: resolved }: ChangeSpace): string | undefined {
  try {
    const file = resolved(path, 'write')
    return files.kindAt(file) === 'file' ? files.textAt(file) : undefined
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}

/** A whole file that is there already is what was wanted; it must not keep the rest of the set from being done. */
function acceptUnchanged(step: ChangeStep): ChangeStep {
  if (step.isUnchanged !== true) return step
  const { filePath, kind } = step.item
  return { item: { filePath, kind, isSuccess: true } }
}

/** The steps, with an error for the first whose present files are too much to be kept for the way back. */
function measured(directives: readonly Directive[], steps: readonly ChangeStep[]): readonly ChangeStep[] {
  let size: SnapshotSize = { bytes: 0, entries: 0 }
  return steps.map((step, index) => {
    const directive = directives[index]
    if (step.action === undefined || directive === undefined) return step
    try {
      size = measureSnapshot(step.action.path, size)
      return step
    } catch (error) {
      return { item: errorItem(directive, error) }
    }
  })
}

/** A set of changes that could be carried out, of which nothing is done. */
export interface PlannedChanges {
  readonly kind: 'planned'
  readonly items: readonly FileChange[]
  readonly changes: readonly ShownChange[]
  /** In a run that changes no file: what the changes come to. */
  readonly overlay?: readonly OverlayChange[]
}

/** Works out what `applyTransaction` would do, and does nothing. `overlay`: what is recorded of it for later changes. */
export function previewTransaction(
  asked: readonly Directive[],
  options: PlanOptions,
  call: FileCall,
  overlay?: (steps: readonly ChangeStep[]) => readonly OverlayChange[],
): Promise<PlannedChanges | RefusedPlan> {
  const { context } = call
  const directives = relativeTo(options.baseDir, asked)
  return observedPlan(directives, call, async (thread) => {
    const plan = await planTransaction(directives, options, { context, thread })
    if (plan.kind !== 'ready') return plan
    const items = plan.steps.map(({ item: one }) => reportOf(one))
    const changes = await shownSteps(plan.steps, options, { context, thread })
    return { kind: 'planned' as const, items, changes, ...(overlay && { overlay: overlay(plan.steps) }) }
  })
}

interface Planning {
  readonly context: RunContext
  readonly thread: TextThread
}

/** What the steps of a plan do, as a person sees it. */
export function shownSteps(
  steps: readonly ChangeStep[],
  { baseDir, files = asOnDisk }: Pick<PlanOptions, 'baseDir' | 'files'>,
  { context, thread }: Planning,
): Promise<readonly ShownChange[]> {
  const name = (path: string): string => displayPath(context.scope.folders.workspace, path)
  return showSteps(steps, { files: files(diskSpace(baseDir, context).files), name }, thread)
}

/** A plan is an observation: a resume finds the same. */
export function observedPlan<T>(
  directives: readonly Directive[],
  { context, at }: FileCall,
  plan: (thread: TextThread) => Promise<T>,
): Promise<T> {
  const args = directives.map(({ kind, filePath }) => [kind, filePath])
  const { effects, signal } = context.services
  return effects.observeAsync([...at, part('plan')], { name: 'file_changes', args }, () =>
    plan(createTextThread(signal)),
  )
}
