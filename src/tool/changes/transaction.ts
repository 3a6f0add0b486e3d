import type { FileCall } from '../workspace-files.ts'
import type { Pool } from '../../base/concurrency.ts'
import { emit } from '../../event/context.ts'
import type { FileChange } from '../../event/event.ts'
import { type ChangeItem, type ChangeStep, errorItem, reportOf, reports, warnOf } from './plan.ts'
import { type Directive, relativeTo } from './directive.ts'
import { type StartedAction, performActions } from './perform-actions.ts'
import {
  type AnswerCall,
  observedPlan,
  type PlannedChanges,
  type PlanOptions,
  planTransaction,
  previewTransaction,
  type RefusedPlan,
} from './plan-transaction.ts'
import { sha256 } from '../../base/hash.ts'
import { sizeText } from '../../base/size.ts'
import type { OverlayChange } from '../../event/overlay.ts'
import { type Files, filesAfter, mostPlanned, notePlanned, overlaid } from './change-space.ts'
import { isBatonError } from '../../base/error.ts'

export interface TransactionOptions extends PlanOptions {
  /** The queue in which the sets of a run wait for each other. */
  readonly inTurn?: Pool
}

/**
 * The outcome of a set of changes; plain JSON. There is one item per directive, in order. All paths are relative to the
 * base folder, except those that lead out of it, which stay as written.
 */
export type TransactionResult =
  /** All changes were applied; with `partial`, all that could be. */
  | { readonly kind: 'applied'; readonly items: readonly FileChange[] }
  | RefusedPlan
  /** A write failed, and what was done before was undone; `notRestored` describes what could not be. */
  | {
      readonly kind: 'rolled_back'
      readonly error: string
      readonly items: readonly FileChange[]
      readonly notRestored: readonly string[]
    }

/**
 * Applies the changes of an answer as one set: all of them are planned first, then written one by one; if a write
 * fails, the files get their previous content and permissions back. A patch applies to the present content of a file;
 * only files that the model was shown, or the run has created, are replaced, moved, deleted or appended to. The
 * previous state of the files is an observation and every write a file effect, including those of the rollback, all
 * below the place of the call.
 * @throws the reason of the context's signal, if it is aborted before anything is done
 */
export async function applyTransaction(
  asked: readonly Directive[],
  options: TransactionOptions,
  call: AnswerCall,
): Promise<TransactionResult> {
  const work = (): Promise<TransactionResult> => carryOut(asked, options, call)
  return options.inTurn === undefined ? work() : options.inTurn.run(work, call.context.services.signal)
}

async function carryOut(
  asked: readonly Directive[],
  options: TransactionOptions,
  call: AnswerCall,
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
  // an append that could not be undone would be appended again
  if (left.some(({ action }) => action.op === 'append')) return result
  // what failed in an earlier process may succeed now
  if (!context.services.effects.again(at)) return result
  if (result.notRestored.length > 0) {
    emit(context, {
      type: 'warning',
      message: `the changes of an answer were not completely undone: ${result.notRestored.join('; ')}`,
      hint: 'The changes of the answer are applied again, on top of the present files.',
      urgent: true,
    })
  }
  return carryOut(asked, options, call)
}

interface Performed {
  readonly result: Extract<TransactionResult, { readonly kind: 'applied' | 'rolled_back' }>
  /** What could not be restored. */
  readonly left: readonly StartedAction[]
}

async function perform(
  directives: readonly Directive[],
  steps: readonly ChangeStep[],
  call: FileCall,
): Promise<Performed> {
  const actions = steps.flatMap(({ action }, index) => {
    const directive = directives[index]
    if (action === undefined || directive === undefined) return []
    // the name that was a guess is settled in the plan
    return [{ action, index, named: { ...directive, filePath: steps[index]?.item.filePath ?? directive.filePath } }]
  })
  const problem = (error: unknown, { named }: { readonly named: Directive }): ChangeItem => errorItem(named, error)
  const nameOf = ({ named }: { readonly named: Directive }): string => named.filePath
  const performed = await performActions(actions, { nameOf, problem }, call)
  if (performed.kind === 'done') {
    return { result: { kind: 'applied', items: steps.map(({ item: one }) => reportOf(one)) }, left: [] }
  }
  const { failed, problem: failure, left, notRestored } = performed
  const items = reports(
    steps.map((step, number) => (number === failed.index ? { item: failure } : step)),
    'undone, because another change of the answer failed',
  )
  return { result: { kind: 'rolled_back', error: failure.error ?? '', items, notRestored }, left }
}

/**
 * What a set of changes would do in a run that changes no files: planned against the files as earlier changes would
 * have left them; later ones see its result. Recorded as one observation, so that a resumed run knows it.
 */
export async function dryTransaction(
  asked: readonly Directive[],
  { inTurn, ...options }: TransactionOptions,
  call: AnswerCall,
): Promise<PlannedChanges | RefusedPlan> {
  const { services } = call.context
  const work = async (): Promise<PlannedChanges | RefusedPlan> => {
    const texts = new Map<string, string>()
    let isNew = false
    const overlayOf = (steps: readonly ChangeStep[], present: Files): readonly OverlayChange[] => {
      isNew = true
      let files = present
      const changes = steps.flatMap(({ action }) => {
        if (action === undefined) return []
        const over = hashAt('from' in action ? action.from : action.path, files)
        files = filesAfter(files, action)
        return [{ ...changeOf(action, texts), ...(over !== undefined && { over }) }]
      })
      for (const text of texts.values()) services.texts?.keep(text)
      return changes
    }
    const files = (disk: Parameters<typeof overlaid>[1]): typeof disk => overlaid(services.planned, disk)
    const result = await previewTransaction(asked, { ...options, files }, call, overlayOf)
    // what an earlier process has planned is noted at the start of a resume
    if (result.kind !== 'planned' || !isNew || notePlanned(result.overlay ?? [], texts, services)) return result
    emit(call.context, {
      type: 'warning',
      message: `a dry run keeps at most ${sizeText(mostPlanned)} of planned file content: later parts of the run do not see these changes`,
    })
    return result
  }
  return inTurn === undefined ? work() : inTurn.run(work, services.signal)
}

/** Null if there is no file; undefined for what is no text. */
function hashAt(path: string, files: Files): string | null | undefined {
  const kind = files.kindAt(path)
  if (kind === undefined) return null
  try {
    return kind === 'file' ? sha256(files.textAt(path)) : undefined
  } catch (error) {
    if (isBatonError(error) && error.code === 'FILE_FAILED') return undefined
    throw error
  }
}

function changeOf(action: NonNullable<ChangeStep['action']>, texts: Map<string, string>): OverlayChange {
  if (action.op !== 'write' && action.op !== 'append') return action
  const hash = sha256(action.content)
  texts.set(hash, action.content)
  return { op: 'write', path: action.path, hash }
}
