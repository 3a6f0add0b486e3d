import { join, resolve } from 'node:path'
import { modelText } from '../base/model-text.ts'
import { displayPath, realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import type { Settings } from '../config/settings.ts'
import type { ModelResult } from '../event/agent.ts'
import { below, emit, narrow, type RunContext } from '../event/context.ts'
import { textMessage } from '../event/message.ts'
import type { Protection } from '../event/permission.ts'
import { item, part } from '../event/place.ts'
import { type Directive, namesNoFile } from '../tool/changes/directive.ts'
import { createTextThread } from '../tool/changes/text-thread.ts'
import { applyTransaction, dryTransaction, type TransactionResult } from '../tool/changes/transaction.ts'
import type { PlannedChanges } from '../tool/changes/plan-transaction.ts'
import { responseOf, type Said, type TaskAnswer, unusableAnswer } from './answer.ts'
import {
  changedFiles,
  changesFailed,
  goneFiles,
  isOnlyGone,
  notApplied,
  nothingApplied,
  problemText,
  type Refused,
  repairMessage,
} from './change-problems.ts'
import { applyApproved, type Rejected } from './ask-person.ts'
import { loadFiles } from './files.ts'
import type { Conversation } from './main-agent.ts'
import type { LoadedFile } from './messages.ts'

export interface Editing {
  readonly settings: Settings
  /** SHA-256 of the files as the model saw them, by absolute path. Undefined: it may change any file. */
  readonly shown: ReadonlyMap<string, string> | undefined
}

/**
 * Applies the file changes of an answer, all or nothing. If they cannot be applied, or would replace content that the
 * model has not seen, it gets the problems and sends the changes again, at most `changes.repair` times. With `partial`,
 * the applicable ones of its last changes are applied.
 * @throws BatonError CHANGES_FAILED
 */
export async function applyAnswer(
  first: ModelResult,
  { conversation, settings, shown }: Editing & { readonly conversation: Conversation },
  context: RunContext,
): Promise<TaskAnswer> {
  let answer = first
  let editing: Editing = { settings, shown }
  let before: Extract<Applied, Refused> | undefined
  let remarks = 0
  for (let round = 0; ; round += 1) {
    refuseTruncated(answer, settings)
    // the next answer would have even less room, because the conversation is longer
    const isLast = round - remarks >= settings.changes.repair || isBroken(answer)
    const at = below(context, part('changes'), ...(round === 0 ? [] : [part('repair'), item(round)]))
    const outcome = await applyText(answer, { ...editing, isPartial: settings.partial && isLast }, at)
    if (before !== undefined && isEmpty(outcome) && !before.isDoubtful && !isOnlyGone(before)) {
      // partial changes are better than none
      const { partial: isPartial } = settings
      const again = isPartial
        ? await applyText(before.answer, { ...editing, isPartial }, below(at, part('before')))
        : undefined
      return answered(again ?? before, conversation, context)
    }
    if (outcome.kind === 'rejected') {
      remarks += 1
      before = undefined
      answer = await conversation.ask([textMessage('user', remarkMessage(outcome.remark))])
      continue
    }
    if (isLast || outcome.kind === 'applied' || outcome.kind === 'planned' || outcome.kind === 'rolled_back') {
      return answered(outcome, conversation, context)
    }
    before = outcome
    const repaired = await repair(outcome, { conversation, editing }, below(context, part('repair'), item(round)))
    answer = repaired.answer
    editing = repaired.editing
  }
}

/** Asks the model to send its changes again. */
async function repair(
  outcome: Refused,
  { conversation, editing }: { readonly conversation: Conversation; readonly editing: Editing },
  context: RunContext,
): Promise<{ readonly answer: ModelResult; readonly editing: Editing }> {
  const { settings } = editing
  if (!conversation.wasAnswered()) {
    const problem = problemText(outcome, namesIn(settings.base_dir, context))
    emit(context, { type: 'warning', message: `asking the model to correct its file changes: ${problem}` })
  }
  const present = loadFiles(changedFiles(outcome), settings, context)
  const seen = new Set([...(editing.shown?.keys() ?? [])].map(realPath))
  const wasShown = (path: string): boolean => seen.has(realPath(join(settings.base_dir, path)))
  const shown = new Map([...(editing.shown ?? []), ...present.map((file) => shownFile(file, settings))])
  for (const path of goneFiles(outcome)) {
    for (const name of namesOf(join(settings.base_dir, path), shown)) shown.delete(name)
  }
  const answer = await conversation.ask([textMessage('user', repairMessage(outcome, { present, wasShown }))])
  return { answer, editing: { settings, shown } }
}

function remarkMessage(remark: string): string {
  return modelText`The user reviewed your file changes, and none of them were applied. They say:

${remark}

Send all changes again, corrected, in the form that the first message describes.`
}

/** A truncated answer may contain only part of its changes. */
function refuseTruncated(answer: ModelResult, { partial }: Settings): void {
  if (!isBroken(answer) || partial) return
  const isAtLimit = answer.end === 'max_tokens'
  const why = isAtLimit ? 'it was truncated at its output limit' : 'the model stopped before its end'
  const cure = isAtLimit ? 'Raise max_tokens' : 'Run it again'
  throw unusableAnswer(
    changesFailed(why, `${nothingApplied} ${cure}, or set partial = true to apply the changes that were received.`),
  )
}

function isBroken({ end }: ModelResult): boolean {
  return end === 'max_tokens' || end === 'incomplete'
}

function isEmpty(outcome: Applied): boolean {
  return (outcome.kind === 'applied' || outcome.kind === 'planned') && outcome.items.length === 0
}

/** The model may have seen the file under a different path of the same folder. */
function namesOf(path: string, shown: ReadonlyMap<string, string>): readonly string[] {
  const real = realPath(path)
  return [...shown.keys()].filter((name) => realPath(name) === real)
}

/** The path of an answer as messages show it: relative to the workspace. */
function namesIn(baseDir: string, { scope }: RunContext): (path: string) => string {
  return (path) => (path === 'unknown' ? 'a change' : displayPath(scope.folders.workspace, resolve(baseDir, path)))
}

/** Warns about changes that were not applied: rejected by the user, or left out by `partial`. */
export function tellLeftOut(
  { fileChanges }: Pick<TaskAnswer, 'fileChanges'>,
  { base_dir, changes }: Settings,
  context: RunContext,
): void {
  const leftOut = fileChanges.filter(({ success, declined }) => success === false && declined !== true)
  if (leftOut.length === 0 || changes.partial_is_success) return
  const name = namesIn(base_dir, context)
  const paths = leftOut.map(({ file_path: path }) => name(typeof path === 'string' ? path : 'unknown'))
  emit(context, { type: 'changes.left_out', paths })
}

/** The outcome of applying the changes of `answer`. */
type Applied = (TransactionResult | PlannedChanges | Rejected) & {
  readonly answer: Said
  /** The rest of its text. */
  readonly text: string
  readonly baseDir: string
  /** All changes in it may be meant as examples. */
  readonly isDoubtful: boolean
}

/** Hashes of files as shown to a model, by absolute path. */
export function shownFile({ path, content }: LoadedFile, { base_dir: baseDir }: Settings): readonly [string, string] {
  return [join(baseDir, path), sha256(content)]
}

/** Applies the changes in a text; if approval is needed, only the approved ones. A dry run applies none. */
export async function applyText(
  answer: Said,
  { settings, shown, isPartial = settings.partial }: Editing & { readonly isPartial?: boolean },
  context: RunContext,
): Promise<Applied> {
  const { base_dir: baseDir } = settings
  const { directives, text } = await createTextThread(context.services.signal).work('readFileChanges', answer.text)
  const { allow = [], max_bytes: maxBytes } = settings.changes
  const protect: Protection = { paths: context.services.sources.executed(), kind: 'answer', allow, whom: 'a model' }
  const held = narrow(context, { protect })
  const { made: isMade, inTurn } = context.services.sources
  const options = { baseDir, partial: isPartial, shown, isMade, allow, inTurn, maxBytes }
  const { dry, rights } = context.scope
  const carryOut =
    dry === 'changes'
      ? dryTransaction
      : rights.asks === true || settings.write_mode === 'ask'
        ? applyApproved
        : applyTransaction
  const result = await carryOut(directives, options, { context: held, at: context.scope.at })
  report(result, baseDir, context)
  const isUnnamed = (index: number): boolean =>
    result.kind === 'refused' && result.items[index]?.error_msg === namesNoFile
  const isDoubtful = directives.length > 0 && directives.every((one, index) => isShownOnly(one) || isUnnamed(index))
  return { ...result, answer, text, baseDir, isDoubtful }
}

function report(result: TransactionResult | PlannedChanges | Rejected, baseDir: string, context: RunContext): void {
  if ((result.kind !== 'applied' && result.kind !== 'planned') || result.items.length === 0) return
  const { items } = result
  const shownBase = displayPath(context.scope.folders.workspace, baseDir)
  const base = shownBase === '.' ? {} : { base_dir: shownBase }
  if (result.kind === 'planned') return emit(context, { type: 'changes.planned', items, ...base, diff: diffOf(result) })
  context.services.sources.change(items.map(({ file_path: path }) => join(baseDir, path)))
  emit(context, { type: 'changes.applied', items, ...base })
}

function diffOf({ changes }: PlannedChanges): string {
  return changes.map(({ diff }) => diff).join('')
}

/** A block that may be meant as an example; the model is asked about it. */
function isShownOnly(directive: Directive): boolean {
  return directive.kind === 'Fail' && (directive.fault === 'fenced' || directive.fault === 'lookalike')
}

/** The answer of a task after its changes; in a dry run, their diff. Throws CHANGES_FAILED if they were not applied. */
export function answered(
  outcome: Applied,
  conversation: Pick<Conversation, 'spent' | 'calls'>,
  context: RunContext,
): TaskAnswer {
  if (outcome.kind === 'rejected') {
    throw unusableAnswer(changesFailed(`they were sent back: ${outcome.remark}`, nothingApplied))
  }
  if (outcome.kind !== 'applied' && outcome.kind !== 'planned') {
    throw notApplied(outcome, namesIn(outcome.baseDir, context))
  }
  const diff = outcome.kind === 'planned' ? diffOf(outcome) : ''
  const text = diff === '' ? outcome.text : diff
  const { reasoning } = outcome.answer
  const [spent, calls] = [conversation.spent(), conversation.calls()]
  return { text, response: responseOf({ text, reasoning, calls }, spent), fileChanges: outcome.items, spent }
}
