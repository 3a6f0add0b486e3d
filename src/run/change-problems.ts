import { modelText } from '../base/model-text.ts'
import { BatonError } from '../base/error.ts'
import { changeFailureText } from '../event/error-info.ts'
import type { FileChange } from '../event/event.ts'
import { notDone } from '../tool/changes/plan-transaction.ts'
import type { TransactionResult } from '../tool/changes/transaction.ts'
import { unusableAnswer } from './answer.ts'
import { type LoadedFile, quoteFiles, quoteLines } from './messages.ts'

/** Changes of an answer that were not applied. */
export type Unapplied = Exclude<TransactionResult, { readonly kind: 'applied' }>

/** Problems that the model can correct. */
export type Refused = Exclude<Unapplied, { readonly kind: 'rolled_back' }>

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
export function goneFiles(outcome: Refused): readonly string[] {
  return outcome.kind === 'stale' ? (outcome.gone ?? []) : []
}

/** Whether all problems are about deleted files: then no change at all is a valid answer. */
export function isOnlyGone(outcome: Refused): boolean {
  return outcome.kind === 'stale' && outcome.unseen.length + outcome.paths.length === 0
}

/** Shown files whose content has changed. */
export function changedFiles(outcome: Refused): readonly string[] {
  return outcome.kind === 'refused' ? outcome.changed : outcome.paths
}

/** The problems in one line, for the user. `name`: how a path is shown. */
export function problemText(outcome: Refused, name: (path: string) => string): string {
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
export function repairMessage(outcome: Refused, { present, wasShown }: Present): string {
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
export function notApplied(outcome: Unapplied, name: (path: string) => string): BatonError {
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
export const nothingApplied = 'Nothing of this answer was applied.'

export function changesFailed(reason: string, hint: string, diff?: string): BatonError {
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
