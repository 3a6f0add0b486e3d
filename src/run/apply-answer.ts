import { join, resolve } from 'node:path'
import { modelText } from '../base/model-text.ts'
import { displayPath, realPath } from '../base/files.ts'
import type { Settings } from '../config/settings.ts'
import type { ModelResult } from '../event/agent.ts'
import { below, emit, narrow, type RunContext, type RunFolders, type Sender } from '../event/context.ts'
import { textMessage } from '../event/message.ts'
import type { Protection } from '../event/permission.ts'
import { item, part } from '../event/place.ts'
import { type Directive, namesNoFile } from '../tool/changes/directive.ts'
import { createTextThread } from '../tool/changes/text-thread.ts'
import { type AnswerCall, notDone, type PlannedChanges } from '../tool/changes/plan-transaction.ts'
import { applyTransaction, dryTransaction, type TransactionResult } from '../tool/changes/transaction.ts'
import { responseOf, type AnswerText, type TaskAnswer, unusableAnswer } from './answer.ts'
import { loadFiles, shownFile } from './files.ts'
import type { Conversation } from './main-agent.ts'
import type { Rejected, Reviewed } from './review-changes.ts'
import { type LoadedFile, quoteFiles, quoteLines } from './messages.ts'
import { BatonError } from '../base/error.ts'
import { type MarkdownFence, nextMarkdownFence } from '../prompt/lines.ts'
import type { FileChange } from '../event/event.ts'
import { changeFailureText } from '../event/error-info.ts'

export interface Editing {
  readonly settings: Settings
  /** SHA-256 of the files as the model saw them, by absolute path. Undefined: it may change any file. */
  readonly shown: ReadonlyMap<string, string> | undefined
}

/**
 * Applies the file changes of an answer, all or nothing. If they cannot be applied, or would replace content that the
 * model has not seen, it gets the problems and sends the changes again, at most `changes.repair` times. With `partial`,
 * the applicable ones of its last changes are applied. What the user accepts of a review is applied, whatever else is
 * rejected; the model gets the remarks, and sends those changes again.
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
  const accepted: FileChange[] = []
  const end = (outcome: Applied): TaskAnswer => {
    const last = answered(outcome, conversation, context.scope.folders)
    return accepted.length === 0 ? last : { ...last, fileChanges: [...accepted, ...last.fileChanges] }
  }
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
      return end(again ?? before)
    }
    if (outcome.kind === 'rejected' || outcome.kind === 'reviewed') {
      remarks += 1
      before = undefined
      if (outcome.kind === 'reviewed') accepted.push(...outcome.items.filter(({ success }) => success))
      const back =
        outcome.kind === 'rejected'
          ? { message: rejectedMessage(outcome.remark), editing }
          : (await import('./review-changes.ts')).afterReview(
              outcome,
              editing,
              below(context, part('repair'), item(round)),
            )
      answer = await conversation.ask([textMessage('user', back.message)])
      editing = back.editing
      continue
    }
    if (isLast || outcome.kind === 'applied' || outcome.kind === 'planned' || outcome.kind === 'rolled_back') {
      if (isEmpty(outcome) && accepted.length === 0) warnOfUnusedCode(answer.text, settings, context)
      return end(outcome)
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
    const problem = problemText(outcome, namesIn(settings.base_dir, context.scope.folders))
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

/** Of a record of an earlier version, in which a remark about one change sent all of them back. */
function rejectedMessage(remark: string): string {
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
function namesIn(baseDir: string, { workspace }: Pick<RunFolders, 'workspace'>): (path: string) => string {
  return (path) => (path === 'unknown' ? 'a change' : displayPath(workspace, resolve(baseDir, path)))
}

/** Blocks in these languages are commands or data to look at. */
const shownLanguages: ReadonlySet<string> = new Set(
  'bash console log mermaid output plaintext powershell sh shell terminal text txt zsh'.split(' '),
)

/** Warns about an answer with code that changes no file, although it may. */
export function warnOfUnusedCode(text: string, { file_content_mode: mode }: Settings, context: Sender): void {
  if (!hasCode(text)) return
  const hint = `It is only printed. File changes need the format of file_content_mode = "${mode}"; a model that does not write it may do better with tools, such as tools = ["read", "edit"].`
  emit(context, { type: 'warning', message: 'the answer has code in it, but changes no file', hint })
}

/** Whether a text has a fenced block with code. */
function hasCode(text: string): boolean {
  let fence: MarkdownFence | undefined
  return text.split('\n').some((line) => {
    const before = fence
    fence = nextMarkdownFence(fence, line)
    return before !== undefined && before === fence && line.trim() !== '' && !shownLanguages.has(before.language)
  })
}

/** Warns about changes that were not applied: rejected by the user, or left out by `partial`. */
export function warnOfSkippedChanges(
  { fileChanges }: Pick<TaskAnswer, 'fileChanges'>,
  { base_dir, changes }: Settings,
  context: Sender & Pick<RunContext, 'scope'>,
): void {
  const leftOut = fileChanges.filter(({ success, declined }) => success === false && declined !== true)
  if (leftOut.length === 0 || changes.partial_is_success) return
  const name = namesIn(base_dir, context.scope.folders)
  const paths = leftOut.map(({ file_path: path }) => name(typeof path === 'string' ? path : 'unknown'))
  emit(context, { type: 'changes.left_out', paths })
}

/** The outcome of applying the changes of `answer`. */
type Applied = (TransactionResult | PlannedChanges | Rejected | Reviewed) & {
  readonly answer: AnswerText
  readonly text: string
  readonly baseDir: string
  /** All changes in it may be meant as examples. */
  readonly isDoubtful: boolean
}

/** Applies the changes in a text; if approval is needed, only the approved ones. A dry run applies none. */
export async function applyText(
  answer: AnswerText,
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
  const call = { context: held, at: context.scope.at }
  const carryOut = async (): Promise<TransactionResult | PlannedChanges | Rejected | Reviewed> => {
    if (dry === 'changes') return dryTransaction(directives, options, call)
    const isReviewed = rights.asks === true || settings.write_mode === 'ask'
    if (!isReviewed) return applyTransaction(directives, options, call)
    const { applyReviewed } = await import('./review-changes.ts')
    return applyReviewed({ directives, explanation: text }, options, call)
  }
  const result = await carryOut()
  report(result, baseDir, context)
  const isUnnamed = (index: number): boolean =>
    result.kind === 'refused' && result.items[index]?.error_msg === namesNoFile
  const isDoubtful = directives.length > 0 && directives.every((one, index) => isShownOnly(one) || isUnnamed(index))
  return { ...result, answer, text, baseDir, isDoubtful }
}

function report(
  result: TransactionResult | PlannedChanges | Rejected | Reviewed,
  baseDir: string,
  context: AnswerCall['context'],
): void {
  const isDone = result.kind === 'applied' || result.kind === 'planned' || result.kind === 'reviewed'
  if (!isDone || result.items.length === 0) return
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
  folders: Pick<RunFolders, 'workspace'>,
): TaskAnswer {
  // without a conversation, what was accepted is applied, and the rest is declined
  const isReviewed = outcome.kind === 'reviewed' && outcome.items.some(({ success }) => success)
  if (outcome.kind === 'rejected' || (outcome.kind === 'reviewed' && !isReviewed)) {
    throw unusableAnswer(changesFailed(`they were sent back: ${outcome.remark}`, nothingApplied))
  }
  if (outcome.kind !== 'applied' && outcome.kind !== 'planned' && outcome.kind !== 'reviewed') {
    throw notApplied(outcome, namesIn(outcome.baseDir, folders))
  }
  const diff = outcome.kind === 'planned' ? diffOf(outcome) : ''
  const text = diff === '' ? outcome.text : diff
  const { reasoning } = outcome.answer
  const [spent, calls] = [conversation.spent(), conversation.calls()]
  return { text, response: responseOf({ text, reasoning, calls }, spent), fileChanges: outcome.items, spent }
}

/** Changes of an answer that were not applied. */
type Unapplied = Exclude<TransactionResult, { readonly kind: 'applied' }>

/** Problems that the model can correct. */
type Refused = Exclude<Unapplied, { readonly kind: 'rolled_back' }>

/** One thing that is wrong with the changes of an answer. */
interface Problem {
  /** Relative to the base folder; `unknown` for a change that names no file. */
  readonly path: string
  /** The text after the name of the file, for the user. */
  readonly reason: string
  /** The same for the model, if it needs different words. */
  readonly advice?: string
  readonly hunks: NonNullable<FileChange['error_hunks']>
}

function problemsOf(outcome: Refused): readonly Problem[] {
  switch (outcome.kind) {
    case 'refused':
      return outcome.items
        .filter(({ success, error_msg: error }) => !success && error !== notDone)
        .map(({ file_path: path, error_msg: reason = '', error_hunks: hunks = [] }) => ({ path, reason, hunks }))
    case 'stale': {
      const listed = (paths: readonly string[], reason: string, advice: string): readonly Problem[] =>
        paths.map((path) => ({ path, reason, advice, hunks: [] }))
      return [
        ...listed(outcome.unseen, 'would be changed, deleted, moved or copied without having been shown', unseenAdvice),
        ...listed(outcome.paths, 'changed while the model answered', modelText`it changed after you were shown it`),
        ...listed(outcome.gone ?? [], 'was deleted while the model answered', goneAdvice),
      ]
    }
  }
}

const unseenAdvice = modelText`it exists, and you were not shown its content. Leave it unchanged and in place, do not copy it, or give the new file a different name.`
const goneAdvice = modelText`it was deleted in the meantime. Create it again only if it is still needed.`

/** Shown files that were deleted since. */
function goneFiles(outcome: Refused): readonly string[] {
  return outcome.kind === 'stale' ? (outcome.gone ?? []) : []
}

/** Whether all problems are about deleted files: then no change at all is a valid answer. */
function isOnlyGone(outcome: Refused): boolean {
  return outcome.kind === 'stale' && outcome.unseen.length + outcome.paths.length === 0
}

/** Shown files whose content has changed. */
function changedFiles(outcome: Refused): readonly string[] {
  return outcome.kind === 'refused' ? outcome.changed : outcome.paths
}

/** The problems in one line, for the user. `name`: how a path is shown. */
function problemText(outcome: Refused, name: (path: string) => string): string {
  return problemsOf(outcome)
    .map(({ path, reason }) =>
      outcome.kind === 'stale'
        ? `${name(path)} ${reason}`
        : changeFailureText({ file_path: name(path), error_msg: reason }),
    )
    .join('; ')
}

/** Failed hunks shown in messages to models and users; further ones are only counted. */
const mostHunks = { model: 20, people: 3 } as const

interface Present {
  /** Files that changed since they were shown to the model, with their current content. */
  readonly present: readonly LoadedFile[]
  /** Of all other files, only the names are sent. */
  readonly wasShown: (path: string) => boolean
}

/** Asks a model to send its changes again. Quotes only files that it was shown before. */
function repairMessage(outcome: Refused, { present, wasShown }: Present): string {
  let left = mostHunks.model
  const lines = problemsOf(outcome).map(({ path, reason, advice = reason, hunks }) => {
    const shown = hunks.slice(0, left)
    left -= shown.length
    const isWhole = present.some((file) => file.path === path)
    const parts = shown.map(({ hunk_body: body, cause, nearest }) => {
      const hunk = modelText`This part does not match: ${cause}\n\n<part lines="${body.split('\n').length}">\n${body}\n</part>`
      if (nearest === undefined || isWhole || !wasShown(path)) return hunk
      return modelText`${hunk}\n\nThe nearest place in the current file:\n\n${quoteLines(path, nearest)}`
    })
    const more = hunks.length > shown.length ? [modelText`${hunks.length - shown.length} more parts do not match.`] : []
    return [`- ${path === 'unknown' ? '' : `${path}: `}${advice}`, ...parts, ...more].join('\n\n')
  })
  const now =
    present.length === 0 ? '' : modelText`\n\nThese are the current contents of the files:\n\n${quoteFiles(present)}`
  return modelText`None of your file changes was applied. The problems:

${lines.join('\n\n')}${now}

Send all changes of your last answer again, including the correct ones, based on the current files and in the format that the first message describes.`
}

/** The error of a task whose changes were not applied, with the hunks that did not match and the nearest places. */
function notApplied(outcome: Unapplied, name: (path: string) => string): BatonError {
  if (outcome.kind === 'rolled_back') {
    const back = `${outcome.error}; the files already written were restored`
    const kept = outcome.notRestored.join('; ')
    if (kept === '') return changesFailed(back, nothingApplied)
    return changesFailed(`${back}, except: ${kept}`, 'Check these files before you continue.')
  }
  const diff = misfits(outcome, name)
  return unusableAnswer(changesFailed(problemText(outcome, name), `${nothingApplied} ${cures[outcome.kind]}`, diff))
}

const cures = {
  refused: 'Run it again, or set partial = true to apply what can be applied.',
  stale:
    'Only files that the model was shown can be replaced, moved, copied, deleted or appended to: add them to context_globs.',
} as const

/** Says "of this answer", because other answers of the run may have been applied. */
const nothingApplied = 'Nothing of this answer was applied.'

function changesFailed(reason: string, hint: string, diff?: string): BatonError {
  return new BatonError('CHANGES_FAILED', `the answer's file changes were not applied: ${reason}`, { hint, diff })
}

/** The hunks that did not match, each with the content at the nearest place in the file. */
function misfits(outcome: Refused, name: (path: string) => string): string | undefined {
  const all = problemsOf(outcome).flatMap(({ path, hunks }) => hunks.map((hunk) => ({ path, ...hunk })))
  if (all.length === 0) return undefined
  const shown = all
    .slice(0, mostHunks.people)
    .flatMap(({ path, hunk_body: body, nearest }) => [
      `@@ does not match ${name(path)}`,
      ...cut(body.split('\n').filter((line) => !line.startsWith('@@'))),
      ...(nearest === undefined
        ? [`@@ no similar lines in ${name(path)}`]
        : [
            `@@ nearest place: ${name(path)}:${nearest.line}`,
            ...cut(nearest.text.split('\n').map((line) => ` ${line}`)),
          ]),
    ])
  const more = all.length - mostHunks.people
  return [...shown, ...(more > 0 ? [`@@ and ${more} more`] : [])].join('\n')
}

const mostLines = 20

function cut(lines: readonly string[]): readonly string[] {
  return lines.length <= mostLines ? lines : [...lines.slice(0, mostLines), '…']
}
