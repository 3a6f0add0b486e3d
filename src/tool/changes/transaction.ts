import { item, part } from '../../event/place.ts'
import type { RunContext } from '../../event/context.ts'
import type { FileChange } from '../../event/event.ts'
import type { FileCall } from '../workspace-files.ts'
import { type Directive, relativeTo } from './directive.ts'
import { type ChangeItem, type ChangeStep, errorItem, planChanges, planStep, warnOf } from './plan.ts'
import { diskSpace, performStep } from './space.ts'
import { type StaleFiles, staleFiles } from './stale.ts'
import { type Before, beforeAction, measureSnapshot, type SnapshotSize, undoAction } from './undo.ts'

/**
 * Carries out directives one after the other below a base folder (absolute), each against the files as they then are.
 * One that fails leaves the others standing. What the n-th makes of the files it finds is an observation,
 * carrying it out an effect, both below the place of the call.
 * @throws the reason of the context's signal; what was done until then stays
 */
export function applyChanges(
  directives: readonly Directive[],
  baseDir: string,
  { context, at }: FileCall,
): readonly ChangeItem[] {
  const space = diskSpace(baseDir, context)
  return relativeTo(baseDir, directives).map((directive, index) => {
    context.services.signal.throwIfAborted()
    const place = [...at, item(index)]
    const observation = { name: 'file_changes', args: [directive.kind, directive.filePath] }
    const step = context.services.effects.observe([...place, part('plan')], observation, () =>
      planStep(directive, space),
    )
    const { item: planned, action } = step
    if (action === undefined) return planned
    try {
      performStep(action, { context, at: place })
      warnOf(step, context)
      return planned
    } catch (error) {
      return errorItem(directive, error)
    }
  })
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
}

/**
 * What became of a set of changes; plain JSON. There is one item for each directive, in their order. All paths are
 * relative to the base folder, but for those that lead out of it, which stay as they are written.
 */
export type TransactionResult =
  /** All is done; with `partial`, all that could be. */
  | { readonly kind: 'applied'; readonly items: readonly FileChange[] }
  /** Something cannot be done, so nothing was. */
  | { readonly kind: 'refused'; readonly items: readonly FileChange[] }
  /**
   * Files would be replaced whose present content the model has not seen: `paths` are those that changed since they were
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
 * of a file; a whole file, a copy and a renamed file only replace what the model was shown. What the files were is an observation and every write
 * a file effect, those on the way back too, all below the place of the call.
 * @throws the reason of the context's signal, when that is aborted before anything is done
 */
export function applyTransaction(
  asked: readonly Directive[],
  options: TransactionOptions,
  call: FileCall,
): TransactionResult {
  const { context, at } = call
  context.services.signal.throwIfAborted()
  const directives = relativeTo(options.baseDir, asked)
  const args = directives.map(({ kind, filePath }) => [kind, filePath])
  const plan = context.services.effects.observe([...at, part('plan')], { name: 'file_changes', args }, () =>
    planTransaction(directives, options, context),
  )
  return plan.kind === 'ready' ? perform(directives, plan.steps, call) : plan
}

type TransactionPlan =
  | { readonly kind: 'ready'; readonly steps: readonly ChangeStep[] }
  | Extract<TransactionResult, { readonly kind: 'refused' | 'stale' }>

function planTransaction(
  directives: readonly Directive[],
  { baseDir, partial, shown }: TransactionOptions,
  context: RunContext,
): TransactionPlan {
  const space = diskSpace(baseDir, context)
  const steps = planChanges(directives, space).map(acceptUnchanged)
  const hasFailed = steps.some(({ item }) => !item.isSuccess)
  const isRefused = partial ? hasFailed && steps.every(({ action }) => action === undefined) : hasFailed
  if (isRefused)
    return { kind: 'refused', items: reports(steps, 'not done, because another change of the answer failed') }

  const stale = shown === undefined ? undefined : staleFiles(directives, steps, { baseDir, shown, files: space.files })
  if (stale !== undefined && Object.values(stale).some((list) => list.length > 0)) return { kind: 'stale', ...stale }

  const kept = measured(directives, steps)
  if (kept.some(({ item }, index) => item !== steps[index]?.item)) {
    return { kind: 'refused', items: reports(kept, 'not done, because another change of the answer failed') }
  }
  return { kind: 'ready', steps }
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
  return steps.map(({ item }) => fileChangeReport(item.isSuccess ? { ...item, isSuccess: false, error: reason } : item))
}

function perform(directives: readonly Directive[], steps: readonly ChangeStep[], call: FileCall): TransactionResult {
  const done: Before[] = []
  for (const [index, { action }] of steps.entries()) {
    const directive = directives[index]
    if (action === undefined || directive === undefined) continue
    try {
      const at = [...call.at, item(index)]
      const asked = { name: 'file_before', args: [action.op, directive.filePath] }
      done.push(call.context.services.effects.observe([...at, part('before')], asked, () => beforeAction(action)))
      performStep(action, { context: call.context, at })
    } catch (error) {
      const failure = errorItem(directive, error)
      const notRestored = rollBack(done, call)
      const failed = steps.map((step, number) => (number === index ? { item: failure } : step))
      const items = reports(failed, 'undone, because another change of the answer failed')
      return { kind: 'rolled_back', error: failure.error ?? '', items, notRestored }
    }
  }
  for (const step of steps) warnOf(step, call.context)
  return { kind: 'applied', items: steps.map(({ item: one }) => fileChangeReport(one)) }
}

/** Undoes from the last to the first; the place of each is its number from the start. */
function rollBack(done: readonly Before[], { context, at }: FileCall): readonly string[] {
  return done
    .map((before, index) => ({ before, place: [...at, part('undo'), item(index)] }))
    .toReversed()
    .flatMap(({ before, place }) => undoAction(before, { context, at: place }))
}

/** What became of one change, as JSON in the words that agents see as `file_changes`. */
export function fileChangeReport({ filePath, kind, isSuccess, error, failedHunks }: ChangeItem): FileChange {
  const hunks = failedHunks?.map(({ body, cause }) => ({ hunk_body: body, cause }))
  return {
    file_path: filePath,
    kind: kind === 'SearchReplace' ? 'Patch' : kind,
    success: isSuccess,
    ...(error === undefined ? {} : { error_msg: error }),
    ...(hunks === undefined ? {} : { error_hunks: hunks }),
  }
}
