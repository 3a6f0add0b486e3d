import { resolve } from 'node:path'
import { createTurns, type Pool } from '../../base/concurrency.ts'
import { isBatonError } from '../../base/error.ts'
import { displayPath, realPath } from '../../base/files.ts'
import { sha256 } from '../../base/hash.ts'
import { defined } from '../../base/json.ts'
import { item, part } from '../../event/place.ts'
import { emit, type RunContext } from '../../event/context.ts'
import type { FileChange } from '../../event/event.ts'
import type { FileCall } from '../workspace-files.ts'
import { type Directive, relativeTo } from './directive.ts'
import { type ChangeItem, type ChangeStep, errorItem, planChanges, planStep, warnOf } from './plan.ts'
import { type ShownChange, showSteps } from './preview.ts'
import { type ChangeSpace, diskSpace, type Files, performStep } from './space.ts'
import { createJudge } from '../protected/answers.ts'
import { type StaleFiles, staleFiles } from './stale.ts'
import { createTextThread, type TextThread } from './text-thread.ts'
import { type Before, beforeAction, type Begun, measureSnapshot, type SnapshotSize, undoAction } from './undo.ts'

/**
 * Carries out directives one after the other below a base folder (absolute), each against the files as they then are.
 * One that fails leaves the others standing. What the n-th makes of the files it finds is an observation,
 * carrying it out an effect, both below the place of the call.
 * @throws the reason of the context's signal, or what the thread throws; what was done until then stays
 */
export async function applyChanges(
  directives: readonly Directive[],
  { baseDir, thread }: { readonly baseDir: string; readonly thread: TextThread },
  { context, at }: FileCall,
): Promise<readonly ChangeItem[]> {
  const { effects, signal } = context.services
  const space = diskSpace(baseDir, context)
  const items: ChangeItem[] = []
  for (const [index, directive] of relativeTo(baseDir, directives).entries()) {
    signal.throwIfAborted()
    await thread.pause()
    const place = [...at, item(index)]
    const observation = { name: 'file_changes', args: [directive.kind, directive.filePath] }
    const step = await effects.observeAsync([...place, part('plan')], observation, () =>
      whileUnchanged(space, (present) => planStep(directive, present, thread)),
    )
    items.push(doneStep(step, directive, { context, at: place }) ?? step.item)
    if (step.action !== undefined && items.at(-1) === step.item) warnOf(step, context, baseDir)
  }
  return items
}

/** Carries out one step. What keeps it from being done, or undefined. */
function doneStep({ action }: ChangeStep, directive: Directive, call: FileCall): ChangeItem | undefined {
  try {
    if (action !== undefined) performStep(action, call)
    return undefined
  } catch (error) {
    return errorItem(directive, error)
  }
}

/** Files that change all the time are taken as they were at last. */
const mostLooks = 3

/** Works something out of files until they are still as they were read, for it may take a while. */
async function whileUnchanged<T>(space: ChangeSpace, work: (space: ChangeSpace) => Promise<T>): Promise<T> {
  for (let look = 1; ; look += 1) {
    const { files, hasChanged } = noted(space.files)
    const result = await work({ ...space, files })
    if (look === mostLooks || !hasChanged()) return result
  }
}

function noted(present: Files): { readonly files: Files; readonly hasChanged: () => boolean } {
  const read = new Map<string, string>()
  const files: Files = {
    kindAt: present.kindAt,
    bytesAt: present.bytesAt,
    textAt(path) {
      const text = present.textAt(path)
      read.set(path, text)
      return text
    },
  }
  const isAsRead = ([path, text]: readonly [string, string]): boolean => {
    try {
      return present.textAt(path) === text
    } catch {
      return false
    }
  }
  return { files, hasChanged: () => ![...read].every(isAsRead) }
}

export interface TransactionOptions {
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
  /** What a person agreed to, as diffs in order: anything else is refused. */
  readonly approved?: readonly string[]
  /** Where the sets of a run wait for each other. */
  readonly inTurn?: Pool
}

/**
 * What became of a set of changes; plain JSON. There is one item for each directive, in their order. All paths are
 * relative to the base folder, but for those that lead out of it, which stay as they are written.
 */
export type TransactionResult =
  /** All is done; with `partial`, all that could be. */
  | { readonly kind: 'applied'; readonly items: readonly FileChange[] }
  /** Something cannot be done, so nothing was. `changed`: files among them that hold another text than was shown. */
  | { readonly kind: 'refused'; readonly items: readonly FileChange[]; readonly changed: readonly string[] }
  /**
   * Files would be replaced, deleted, moved or added to whose present content the model has not seen: `paths` are those that changed since they were
   * shown, `unseen` those that never were, `gone` those that are deleted since. Nothing was done.
   */
  | ({ readonly kind: 'stale' } & StaleFiles)
  /** A write failed, and what was done before is undone; `notRestored` says in words what could not be. */
  | {
      readonly kind: 'rolled_back'
      readonly error: string
      readonly items: readonly FileChange[]
      readonly notRestored: readonly string[]
    }

/**
 * Carries out the changes of an answer as one: all of them are worked out first, then written one by one;
 * when a write fails, the files get back the content and permissions they had. A patch applies to the present content
 * of a file; only what the model was shown, or the run has made, is replaced, moved, deleted or added to. What the files were is an observation and every write
 * a file effect, those on the way back too, all below the place of the call.
 * @throws the reason of the context's signal, when that is aborted before anything is done
 */
export async function applyTransaction(
  asked: readonly Directive[],
  options: TransactionOptions,
  call: FileCall,
): Promise<TransactionResult> {
  const work = (): Promise<TransactionResult> => carryOut(asked, options, call)
  return options.inTurn === undefined ? work() : options.inTurn.run(work, call.context.services.signal)
}

async function carryOut(
  asked: readonly Directive[],
  options: TransactionOptions,
  call: FileCall,
): Promise<TransactionResult> {
  const { context, at } = call
  const { signal } = context.services
  signal.throwIfAborted()
  const directives = relativeTo(options.baseDir, asked)
  const plan = await observedPlan(directives, call, (thread) =>
    planTransaction(directives, options, { context, thread }),
  )
  if (plan.kind !== 'ready') return plan
  signal.throwIfAborted()
  const { result, left } = await perform(directives, plan.steps, call)
  if (result.kind === 'applied') for (const step of plan.steps) warnOf(step, context, options.baseDir)
  if (result.kind !== 'rolled_back') return result
  // what is still added to a file would be added once more
  if (left.some(({ action }) => action.op === 'append')) return result
  // what failed in a process that is gone may succeed now
  if (!context.services.effects.again(at)) return result
  if (result.notRestored.length > 0) {
    emit(context, {
      type: 'warning',
      message: `what an answer changed was not put back everywhere: ${result.notRestored.join('; ')}`,
      hint: 'The changes of the answer are made again, on top of what is there now.',
      urgent: true,
    })
  }
  return carryOut(asked, options, call)
}

function observedPlan<T>(
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

/** A set of changes that could be carried out, of which nothing is done. */
export interface PlannedChanges {
  readonly kind: 'planned'
  readonly items: readonly FileChange[]
  readonly changes: readonly ShownChange[]
}

/** Works out what `applyTransaction` would do, and does nothing. */
export function previewTransaction(
  asked: readonly Directive[],
  options: TransactionOptions,
  call: FileCall,
): Promise<PlannedChanges | Extract<TransactionResult, { readonly kind: 'refused' | 'stale' }>> {
  const { context } = call
  const directives = relativeTo(options.baseDir, asked)
  return observedPlan(directives, call, async (thread) => {
    const plan = await planTransaction(directives, options, { context, thread })
    if (plan.kind !== 'ready') return plan
    const items = plan.steps.map(({ item: one }) => reportOf(one))
    return { kind: 'planned' as const, items, changes: await shownSteps(plan.steps, options, { context, thread }) }
  })
}

interface Planning {
  readonly context: RunContext
  readonly thread: TextThread
}

function shownSteps(
  steps: readonly ChangeStep[],
  { baseDir }: Pick<TransactionOptions, 'baseDir'>,
  { context, thread }: Planning,
): Promise<readonly ShownChange[]> {
  const name = (path: string): string => displayPath(context.scope.folders.workspace, path)
  return showSteps(steps, { files: diskSpace(baseDir, context).files, name }, thread)
}

type TransactionPlan =
  | { readonly kind: 'ready'; readonly steps: readonly ChangeStep[] }
  | Extract<TransactionResult, { readonly kind: 'refused' | 'stale' }>

function planTransaction(
  directives: readonly Directive[],
  options: TransactionOptions,
  planning: Planning,
): Promise<TransactionPlan> {
  const { baseDir, shown, allow = [], isMade, maxBytes } = options
  const { workspace } = planning.context.scope.folders
  const known = shown === undefined ? undefined : new Set([...shown.keys()].map(realPath))
  const isKnown = (path: string): boolean =>
    known === undefined || known.has(realPath(path)) || isMade?.(realPath(path)) === true
  const judge = createJudge({ workspace, allow, isKnown })
  const space: ChangeSpace = { ...diskSpace(baseDir, planning.context), tolerance: 'marks', judge, maxBytes }
  return whileUnchanged(space, (present) => planIn(present, directives, { ...options, ...planning }))
}

async function planIn(
  space: ChangeSpace,
  directives: readonly Directive[],
  { context, thread, baseDir, partial, approved, shown, ...others }: TransactionOptions & Planning,
): Promise<TransactionPlan> {
  const steps = (await planChanges(directives, space, thread)).map(acceptUnchanged)
  const hasFailed = steps.some(({ item }) => !item.isSuccess)
  const isRefused = partial ? hasFailed && steps.every(({ action }) => action === undefined) : hasFailed
  const refused = async (failed: readonly ChangeStep[]): Promise<TransactionPlan> => {
    const items = await withNearest(reports(failed, notDone), space, thread)
    return { kind: 'refused', items, changed: changedAmong(items, { shown, baseDir }, space) }
  }
  if (isRefused) return refused(steps)

  const stale =
    shown === undefined ? undefined : staleFiles(directives, steps, { ...others, baseDir, shown, files: space.files })
  if (stale !== undefined && Object.values(stale).some((list) => list.length > 0)) return { kind: 'stale', ...stale }

  if (approved !== undefined) {
    const diffs = (await shownSteps(steps, { baseDir }, { context, thread })).map(({ diff }) => diff)
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
  { shown, baseDir }: Pick<TransactionOptions, 'shown' | 'baseDir'>,
  space: ChangeSpace,
): readonly string[] {
  const hashes = new Map([...(shown ?? [])].map(([path, hash]) => [realPath(path), hash]))
  const failed = items.filter(({ success, error_msg: error }) => !success && error !== notDone)
  return [...new Set(failed.map(({ file_path: path }) => path))].filter((path) => {
    const hash = hashes.get(realPath(resolve(baseDir, path)))
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

/** What is reported when nothing stays done. `reason` is said of changes that had no fault of their own. */
function reports(steps: readonly ChangeStep[], reason: string): readonly FileChange[] {
  return steps.map(({ item }) => reportOf(item.isSuccess ? { ...item, isSuccess: false, error: reason } : item))
}

interface Performed {
  readonly result: Extract<TransactionResult, { readonly kind: 'applied' | 'rolled_back' }>
  /** What could not be put back. */
  readonly left: readonly Begun[]
}

/** Does all of it once it has begun, signals or not: half of a set is worth nothing. */
async function perform(
  directives: readonly Directive[],
  steps: readonly ChangeStep[],
  call: FileCall,
): Promise<Performed> {
  const done: Begun[] = []
  const turns = createTurns()
  for (const [index, { action }] of steps.entries()) {
    const directive = directives[index]
    if (action === undefined || directive === undefined) continue
    await turns.pass()
    const at = [...call.at, item(index)]
    let before: Before | undefined
    try {
      const asked = { name: 'file_before', args: [action.op, directive.filePath] }
      before = call.context.services.effects.observe([...at, part('before')], asked, () => beforeAction(action))
      performStep(action, { context: call.context, at })
      done.push({ action, before, isDone: true })
    } catch (error) {
      const failure = errorItem(directive, error)
      const begun = before === undefined ? done : [...done, { action, before, isDone: false }]
      const { left, notRestored } = rollBack(begun, call)
      const failed = steps.map((step, number) => (number === index ? { item: failure } : step))
      const items = reports(failed, 'undone, because another change of the answer failed')
      return { result: { kind: 'rolled_back', error: failure.error ?? '', items, notRestored }, left }
    }
  }
  return { result: { kind: 'applied', items: steps.map(({ item: one }) => reportOf(one)) }, left: [] }
}

/** Undoes from the last to the first; the place of each is its number from the start. */
function rollBack(
  all: readonly Begun[],
  { context, at }: FileCall,
): { readonly left: readonly Begun[]; readonly notRestored: readonly string[] } {
  context.services.effects.undo(at)
  const undone = all
    .map((begun, index) => ({ begun, place: [...at, part('undo'), item(index)] }))
    .toReversed()
    .map(({ begun, place }) => ({ begun, problems: undoAction(begun, { context, at: place }) }))
  return {
    left: undone.flatMap(({ begun, problems }) => (problems.length > 0 ? [begun] : [])),
    // of several changes of one file each says the same
    notRestored: [...new Set(undone.flatMap(({ problems }) => problems))],
  }
}

/** What became of one change of an answer: with more than scripts of `aip.udiffx` get. */
function reportOf(change: ChangeItem): FileChange {
  const { fromPath, isReplaced, isSuccess } = change
  return {
    ...fileChangeReport(change),
    ...(fromPath === undefined ? {} : { from_path: fromPath }),
    ...(isReplaced === true && isSuccess ? { replaced: true } : {}),
  }
}

/** What became of one change, as JSON in the words that agents see as `file_changes`. */
export function fileChangeReport({ filePath, kind, isSuccess, error, failedHunks }: ChangeItem): FileChange {
  const hunks = failedHunks?.map(({ body, cause }) => ({ hunk_body: body, cause }))
  return {
    file_path: filePath,
    kind: kind === 'SearchReplace' ? 'Patch' : kind === 'AppendLines' ? 'Append' : kind,
    success: isSuccess,
    ...(error === undefined ? {} : { error_msg: error }),
    ...(hunks === undefined ? {} : { error_hunks: hunks }),
  }
}
