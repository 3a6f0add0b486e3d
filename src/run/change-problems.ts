import { BatonError } from '../base/error.ts'
import { changeFailureText } from '../event/error-info.ts'
import type { FileChange } from '../event/event.ts'
import { notDone } from '../tool/changes/plan-transaction.ts'
import type { TransactionResult } from '../tool/changes/transaction.ts'
import { unusableAnswer } from './answer.ts'
import { type LoadedFile, quoteFiles, quoteLines } from './messages.ts'

/** Changes of an answer that were not carried out. */
export type Unapplied = Exclude<TransactionResult, { readonly kind: 'applied' }>

/** Those that a model may correct. */
export type Refused = Exclude<Unapplied, { readonly kind: 'rolled_back' }>

/** One thing that is wrong with the changes of an answer. */
interface Problem {
  /** Relative to the base folder; `unknown` for a change that names no file. */
  readonly path: string
  /** What comes behind the name of the file, for people. */
  readonly reason: string
  /** The same for the model, when it needs other words. */
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
        ...listed(outcome.paths, 'changed while the model answered', 'it changed after you were shown it'),
        ...listed(outcome.gone ?? [], 'was deleted while the model answered', goneAdvice),
      ]
    }
  }
}

const unseenAdvice =
  'it exists, and you were not shown what it holds. Leave it as it is and where it is, do not copy it, or give the new file another name.'
const goneAdvice = 'it was deleted by somebody else. Make it again only if it is still needed.'

/** Shown files that somebody has deleted since. */
export function goneFiles(outcome: Refused): readonly string[] {
  return outcome.kind === 'stale' ? (outcome.gone ?? []) : []
}

/** Whether all that is wrong is gone with the files: then no change at all is a right answer. */
export function isOnlyGone(outcome: Refused): boolean {
  return outcome.kind === 'stale' && outcome.unseen.length + outcome.paths.length === 0
}

/** Shown files that hold another text now. */
export function changedFiles(outcome: Refused): readonly string[] {
  return outcome.kind === 'refused' ? outcome.changed : outcome.paths
}

/** What is wrong in one line, for people. `name`: how a path is shown. */
export function problemText(outcome: Refused, name: (path: string) => string): string {
  return problemsOf(outcome)
    .map(({ path, reason }) =>
      outcome.kind === 'stale'
        ? `${name(path)} ${reason}`
        : changeFailureText({ file_path: name(path), error_msg: reason }),
    )
    .join('; ')
}

/** More failed hunks than this are only counted, in messages for models and for people. */
const mostHunks = { model: 20, people: 3 } as const

interface Present {
  /** Files that changed since the model was shown them, as they are now. */
  readonly present: readonly LoadedFile[]
  /** Of all other files only the name is sent. */
  readonly wasShown: (path: string) => boolean
}

/** Asks a model to send its changes again. Nothing that it was not shown before is quoted. */
export function repairMessage(outcome: Refused, { present, wasShown }: Present): string {
  let left = mostHunks.model
  const lines = problemsOf(outcome).map(({ path, reason, advice = reason, hunks }) => {
    const shown = hunks.slice(0, left)
    left -= shown.length
    const isWhole = present.some((file) => file.path === path)
    const parts = shown.map(({ hunk_body: body, cause, nearest }) => {
      const hunk = `This part does not fit: ${cause}\n\n<part lines="${body.split('\n').length}">\n${body}\n</part>`
      if (nearest === undefined || isWhole || !wasShown(path)) return hunk
      return `${hunk}\n\nThe nearest place in the file as it is now:\n\n${quoteLines(path, nearest)}`
    })
    const more = hunks.length > shown.length ? [`${hunks.length - shown.length} more parts do not fit.`] : []
    return [`- ${path === 'unknown' ? '' : `${path}: `}${advice}`, ...parts, ...more].join('\n\n')
  })
  const now = present.length === 0 ? '' : `\n\nThis is what is in the files now:\n\n${quoteFiles(present)}`
  return `None of your file changes was carried out. What is wrong:

${lines.join('\n\n')}${now}

Send all changes of your last answer again, also those that were right, made for the files as they are now and in the form that the first message describes.`
}

/** The error of a task whose changes were not carried out: with the parts that did not fit, and the places nearest to them. */
export function notApplied(outcome: Unapplied, name: (path: string) => string): BatonError {
  if (outcome.kind === 'rolled_back') {
    const back = `${outcome.error}; what was written before has been put back`
    const kept = outcome.notRestored.join('; ')
    if (kept === '') return changesFailed(back, nothingApplied)
    return changesFailed(`${back}, but for: ${kept}`, 'Check these files before you continue.')
  }
  const diff = misfits(outcome, name)
  return unusableAnswer(changesFailed(problemText(outcome, name), `${nothingApplied} ${cures[outcome.kind]}`, diff))
}

const cures = {
  refused: 'Run it again, or set partial = true to apply what can be applied.',
  stale:
    'Only files that the model was shown are replaced, moved, copied, deleted or added to: add them to context_globs.',
} as const

/** Other answers of the run may have been applied. */
export const nothingApplied = 'Nothing of this answer was applied.'

export function changesFailed(reason: string, hint: string, diff?: string): BatonError {
  return new BatonError('CHANGES_FAILED', `the answer's file changes were not applied: ${reason}`, { hint, diff })
}

/** The hunks that did not fit, each with what the file has at the nearest place. */
function misfits(outcome: Refused, name: (path: string) => string): string | undefined {
  const all = problemsOf(outcome).flatMap(({ path, hunks }) => hunks.map((hunk) => ({ path, ...hunk })))
  if (all.length === 0) return undefined
  const shown = all
    .slice(0, mostHunks.people)
    .flatMap(({ path, hunk_body: body, nearest }) => [
      `@@ does not fit ${name(path)}`,
      ...cut(body.split('\n').filter((line) => !line.startsWith('@@'))),
      ...(nearest === undefined
        ? [`@@ nothing in ${name(path)} is like it`]
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
