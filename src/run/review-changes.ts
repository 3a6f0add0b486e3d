import { join } from 'node:path'
import { mapSiblings } from '../base/concurrency.ts'
import { cutText } from '../base/cut-text.ts'
import { isBatonError } from '../base/error.ts'
import { displayPath, realPath } from '../base/files.ts'
import { defined, isObject } from '../base/json.ts'
import { modelText } from '../base/model-text.ts'
import type { RunContext } from '../event/context.ts'
import type { FileChange } from '../event/event.ts'
import type { Action, PartialDecision, ReviewPlace } from '../event/permission.ts'
import { item, part } from '../event/place.ts'
import { type Hunk, readDiff } from '../event/hunks.ts'
import { editedText, hunkNames, rejectedText } from '../event/review.ts'
import type { Directive } from '../tool/changes/directive.ts'
import { notDone, type PlannedChanges, previewTransaction, type ShownChange } from '../tool/changes/plan-transaction.ts'
import { applyTransaction, type TransactionOptions, type TransactionResult } from '../tool/changes/transaction.ts'
import { requireApproval } from '../tool/permission.ts'
import { permitWhileWorking } from '../tool/permit.ts'
import type { FileCall } from '../tool/workspace-files.ts'
import type { Editing } from './apply-answer.ts'
import { loadFiles, shownFile } from './files.ts'
import { type LoadedFile, quoteFiles } from './messages.ts'

/** As earlier versions recorded it: the user wants different changes and described them. Nothing was applied. */
export interface Rejected {
  readonly kind: 'rejected'
  readonly remark: string
}

/** The user wants some changes different. What was accepted is applied. */
export interface Reviewed {
  readonly kind: 'reviewed'
  readonly items: readonly FileChange[]
  readonly reviewed: readonly ReviewedChange[]
  /** All remarks. */
  readonly remark: string
}

/** A change, and what was decided about it. */
interface ReviewedChange {
  /** Relative to the workspace. */
  readonly path: string
  readonly decision: ReviewDecision
  readonly hunks: readonly Hunk[]
  /** Why it was not applied although it was accepted. */
  readonly problem?: string
}

type ReviewDecision = 'allow' | 'deny' | PartialDecision

/** Limit on the explanation that a question shows. */
const mostExplanation = 4_000

/**
 * Shows each change of a set to the user and applies what is accepted: whole changes, or hunks of them. Each question is
 * an approval below the place of the call, recorded with the diff that was shown; a change whose diff has become a
 * different one is refused.
 * @throws BatonError NEEDS_INPUT if nobody can be asked, WAITING_FOR_APPROVAL if the answer is to be given later
 */
export async function applyReviewed(
  { directives, explanation }: { readonly directives: readonly Directive[]; readonly explanation: string },
  options: TransactionOptions,
  call: FileCall<RunContext>,
): Promise<TransactionResult | Rejected | Reviewed> {
  const planned = await previewTransaction(directives, options, call)
  if (planned.kind !== 'planned') return planned
  const decided = await decideAll(planned.changes, cutText(explanation.trim(), mostExplanation), call)
  if ('remark' in decided) return { kind: 'rejected', remark: decided.remark }
  const { decisions, dependent } = withoutDependents(planned, decided)
  const asked = new Map(planned.changes.map((change, number) => [change.index, decisions[number] ?? 'deny']))
  const approved = planned.changes.flatMap(({ diff }, number) => {
    const decision = decisions[number] ?? 'deny'
    if (!isMade(decision)) return []
    const isPart = typeof decision === 'object' && !isWhole(decision, diff)
    return [{ diff, ...(isPart && { hunks: decision.hunks, ...defined({ edits: decision.edits }) }) }]
  })
  const result = await applyTransaction(
    directives.filter((_, index) => isMade(asked.get(index) ?? 'allow')),
    { ...options, approved },
    { context: call.context, at: [...call.at, part('approval')] },
  )
  const hasRemarks = decisions.some((decision) => typeof decision === 'object' && decision.remarks !== undefined)
  if (result.kind !== 'applied' && !hasRemarks) return result
  const done = result.kind === 'applied' ? [...result.items] : []
  const items = planned.items.map((report, index): FileChange => {
    const decision = asked.get(index) ?? 'allow'
    if (!isMade(decision)) {
      const why = dependent.has(index) ? onRejected : 'declined'
      return { ...report, success: false, declined: true, error_msg: why }
    }
    if (result.kind !== 'applied') return { ...report, success: false, error_msg: problemOf(result, report) }
    const left = leftOf(decision, planned.changes.find((change) => change.index === index)?.diff)
    return { ...(done.shift() ?? report), ...(left.length > 0 && { declined_hunks: left }) }
  })
  if (!hasRemarks) return { kind: 'applied', items }
  const { workspace } = call.context.scope.folders
  const reviewed = planned.changes.map(({ index, path, diff }, number): ReviewedChange => {
    const decision = decisions[number] ?? 'deny'
    const isFailed = items[index]?.success === false && (isMade(decision) || dependent.has(index))
    const problem = isFailed ? items[index]?.error_msg : undefined
    return { path: displayPath(workspace, path), decision, hunks: readDiff(diff).hunks, ...defined({ problem }) }
  })
  const remark = decisions
    .flatMap((decision) => (typeof decision === 'object' ? (decision.remarks ?? []) : []))
    .map(({ text }) => text)
    .join('; ')
  return { kind: 'reviewed', items, reviewed, remark }
}

function problemOf(
  result: Exclude<TransactionResult, { readonly kind: 'applied' }>,
  { file_path: path }: FileChange,
): string {
  switch (result.kind) {
    case 'rolled_back':
      return result.error
    case 'refused':
      return result.items.find((report) => report.file_path === path)?.error_msg ?? notDone
    case 'stale':
      return 'a file has changed while the user looked at it'
  }
}

function isMade(decision: ReviewDecision): boolean {
  return decision === 'allow' || (typeof decision === 'object' && decision.hunks.length > 0)
}

/** The rejected hunks of a change of which others are made. */
function leftOf(decision: ReviewDecision, diff: string | undefined): readonly number[] {
  if (typeof decision === 'string' || diff === undefined) return []
  const numbers = readDiff(diff).hunks.map(({ number }) => number)
  return numbers.filter((number) => !decision.hunks.includes(number))
}

/** Whether a change is made as it was shown. */
function isWhole(decision: ReviewDecision, diff: string): boolean {
  if (typeof decision === 'string') return decision === 'allow'
  return isMade(decision) && leftOf(decision, diff).length === 0 && decision.edits === undefined
}

/** Why a change is not made that was accepted. */
const onRejected = 'it builds on a change that was rejected'

/**
 * A change of a file that an earlier one of the set has changed cannot be made without that one. `dependent`: the
 * indexes of those that were accepted.
 */
function withoutDependents(
  { changes, items }: PlannedChanges,
  decided: readonly ReviewDecision[],
): { readonly decisions: readonly ReviewDecision[]; readonly dependent: ReadonlySet<number> } {
  const rejected = new Set<string>()
  const dependent = new Set<number>()
  const decisions = changes.map(({ index, path, diff }, number): ReviewDecision => {
    const decision = decided[number] ?? 'deny'
    const from = items[index]?.from_path
    const own = [path, ...(from === undefined ? [] : [from])]
    const builds = own.some((one) => rejected.has(one))
    if (builds || !isWhole(decision, diff)) rejected.add(path)
    if (!builds || !isMade(decision)) return decision
    dependent.add(index)
    return 'deny'
  })
  return { decisions, dependent }
}

/**
 * Asks about each change. All questions are open at the same time, except those that the record answers. A remark in a
 * record of an earlier version ends the review.
 */
async function decideAll(
  changes: readonly ShownChange[],
  explanation: string,
  call: FileCall<RunContext>,
): Promise<readonly ReviewDecision[] | { readonly remark: string }> {
  const { effects, signal } = call.context.services
  const review = (index: number): ReviewPlace => ({
    number: index + 1,
    count: changes.length,
    ...(explanation !== '' && { explanation }),
  })
  const decided: ReviewDecision[] = []
  for (const [index, change] of changes.entries()) {
    const isRecorded =
      effects.lacks !== undefined || effects.answers([...call.at, item(change.index), part('approval')])
    if (!isRecorded) break
    const decision = await decide(change, review(index), call)
    if (typeof decision === 'object' && 'remark' in decision) return decision
    decided.push(decision)
  }
  const open = changes.slice(decided.length)
  const answers = await mapSiblings(open, { limit: Math.max(1, open.length), signal }, (change, index) =>
    decide(change, review(decided.length + index), call),
  )
  return [...decided, ...answers.map((one) => (typeof one === 'object' && 'remark' in one ? ('deny' as const) : one))]
}

async function decide(
  { path, isDeletion, diff, index }: ShownChange,
  review: ReviewPlace,
  { context, at }: FileCall<RunContext>,
): Promise<ReviewDecision | { readonly remark: string }> {
  const { effects, permission } = context.services
  const shown = displayPath(context.scope.folders.workspace, path)
  const kind = isDeletion ? 'delete' : 'write'
  const action: Action = { kind, path, named: path, shown, diff, about: { review } }
  try {
    const { part: made } = await permitWhileWorking(context, {
      effects: effects.under(requireApproval(permission)),
      at: [...at, item(index)],
      action,
    })
    return made ?? 'allow'
  } catch (error) {
    if (!isBatonError(error) || error.code !== 'UNTRUSTED') throw error
    const { cause } = error
    if (!isObject(cause)) return 'deny'
    if (Array.isArray(cause['hunks'])) return cause as unknown as PartialDecision
    return typeof cause['remark'] === 'string' ? { remark: cause['remark'] } : 'deny'
  }
}

/** What the model gets of a review, and what it has seen after it. */
export function afterReview(
  { items, reviewed, baseDir }: Reviewed & { readonly baseDir: string },
  { settings, shown: before }: Editing,
  context: RunContext,
): { readonly message: string; readonly editing: Editing } {
  const seen = new Set([...(before?.keys() ?? [])].map(realPath))
  const isSeen = ({ file_path: path, success }: FileChange): boolean =>
    success && seen.has(realPath(join(baseDir, path)))
  const paths = items.filter(isSeen).map(({ file_path: path }) => path)
  const present = loadFiles([...new Set(paths)], settings, context)
  const partly = new Set(items.filter(({ declined_hunks: left }) => left !== undefined).map((one) => one.file_path))
  const shown = before && new Map([...before, ...present.map((file) => shownFile(file, settings))])
  const message = reviewMessage(
    reviewed,
    present.filter(({ path }) => partly.has(path)),
  )
  return { message, editing: { settings, shown } }
}

/** What was decided about each change, with the remarks and the lines that they are about. */
function reviewMessage(reviewed: readonly ReviewedChange[], present: readonly LoadedFile[]): string {
  const decided = reviewed.map(reviewedText).join('\n\n')
  const now =
    present.length === 0 ? '' : modelText`\n\nThese are the current contents of the files:\n\n${quoteFiles(present)}`
  return modelText`The user reviewed your file changes:

${decided}${now}

Send only the changes that they want different, corrected, in the form that the first message describes. What was applied is already in the files: do not send it again.`
}

function reviewedText({ path, decision, hunks, problem }: ReviewedChange): string {
  if (problem !== undefined) return modelText`- ${path}: accepted, but not applied: ${problem}`
  if (decision === 'allow') return modelText`- ${path}: applied.`
  if (decision === 'deny') return modelText`- ${path}: rejected, without a remark. Leave it as it is.`
  const { hunks: made } = decision
  const some = hunkNames(made)
  const head =
    made.length === hunks.length && made.length > 0
      ? modelText`- ${path}: applied.`
      : made.length === 0
        ? modelText`- ${path}: rejected.`
        : modelText`- ${path}: ${some} of ${hunks.length} applied, the rest rejected.`
  const parts = [editedText(path, hunks, decision), rejectedText(path, hunks, decision)]
  return [head, ...parts.filter((text) => text !== '')].join('\n\n')
}
