import { displayPath } from '../base/files.ts'
import type { PartStatus, PartView } from '../history/part-view.ts'
import type { PendingView } from '../history/pending.ts'
import type { DetailView } from '../history/place-detail.ts'
import type { ErrorView, RunSummary } from '../journal/summary.ts'
import { formatCost, formatCount } from './format.ts'
import { harmless } from './harmless.ts'
import { colourOf, localTime, timeText } from './run-table.ts'
import type { Paint } from './style.ts'

export interface TreeOptions {
  readonly paint: Paint
  /** Lines of one part, or of one text, that are shown. */
  readonly lines: number
  /** Paths below it are shown relative to it. */
  readonly workspace: string
}

/** What a run came to, a line for each fact that is known. */
export function runHeader(run: RunSummary, { paint, workspace }: { paint: Paint; workspace: string }): string {
  const { id, status, exit, file, started, duration_ms, calls, models, epochs, repeated, tasks } = run
  const taskTexts = [`${tasks.done} done`, plural(tasks.failed, 'failed'), plural(tasks.skipped, 'skipped')]
  const facts: readonly (readonly [string, string])[] = [
    ['file', harmless(displayPath(workspace, file))],
    [
      'started',
      `${localTime(started)}, worked on for ${timeText(duration_ms)}${epochs > 1 ? `, in ${epochs} goes` : ''}`,
    ],
    ['tasks', tasks.done + tasks.failed + tasks.skipped === 0 ? '' : joined(taskTexts, ', ')],
    [
      'models',
      calls === 0 ? '' : joined([`${formatCount(calls)} ${calls === 1 ? 'call' : 'calls'}`, paidText(run), ...models]),
    ],
    ['error', run.error === null ? '' : errorText(run, workspace)],
    ['again', repeated === 0 ? '' : `${repeated} effects that nobody knew the end of`],
  ]
  const title = `${paint('bold', id)}  ${paint(colourOf(status), status)}${exit === null ? '' : `, exit code ${exit}`}`
  const lines = facts
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `  ${paint('dim', name.padEnd(8))} ${text}`)
  return [title, ...lines, ''].join('\n')
}

function plural(count: number, word: string): string {
  return count === 0 ? '' : `${count} ${word}`
}

type PaidView = Pick<PartView, 'calls' | 'tokens' | 'cost_usd'>

function paidText({ calls, tokens, cost_usd }: PaidView): string {
  if (calls === 0) return ''
  const counted = tokens.input + tokens.output > 0
  const cost = cost_usd === null ? 'price not known' : formatCost(cost_usd)
  return joined([counted ? `${formatCount(tokens.input)} tokens in, ${formatCount(tokens.output)} out` : '', cost])
}

function joined(parts: readonly string[], separator = ' · '): string {
  return parts.filter((part) => part !== '').join(separator)
}

/** Parts as an indented tree. The name of a part goes on where that of the part around it ends. */
export function partLines(parts: readonly PartView[], around: string, options: TreeOptions): readonly string[] {
  return parts.flatMap((part) => [
    lineOf(part, around, options),
    ...[...factLines(part, options), ...partLines(part.parts, part.place, options), ...omittedLine(part, options)].map(
      (line) => `  ${line}`,
    ),
  ])
}

const marks: { readonly [status in PartStatus]: readonly [format: Parameters<Paint>[0], text: string] } = {
  done: ['green', 'done'],
  skipped: ['yellow', 'skipped'],
  failed: ['red', 'failed'],
  unfinished: ['yellow', 'not finished'],
}

function lineOf(part: PartView, around: string, { paint }: TreeOptions): string {
  const { place, kind, text, status, duration_ms } = part
  const name = around !== '' && place.startsWith(around) ? place.slice(around.length).replace(/^\//, '') : place
  const [format, word] = marks[status]
  const isOrdinary = kind === 'agent' || kind === 'section' || kind === 'task'
  const paid = paidText(part)
  return joined(
    [
      paint('bold', harmless(name)),
      isOrdinary ? '' : kind,
      oneOf(text),
      paint(format, word),
      duration_ms === null ? '' : timeText(duration_ms),
      paid === '' ? '' : paint('dim', paid),
    ],
    '  ',
  )
}

/** One line of a text of others. */
function oneOf(text: string, longest = 100): string {
  const line = harmless(text).split('\n')[0] ?? ''
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line
}

const longestError = 400

/** What went wrong, and where. */
function errorText({ error, error_place }: ErrorView, workspace: string): string {
  const { file, line, column } = error_place ?? {}
  if (file === undefined) return oneOf(error ?? '', longestError)
  const place = [displayPath(workspace, file), line, column].filter((one) => one !== undefined).join(':')
  return `${oneOf(error ?? '', longestError)} (${oneOf(place, longestError)})`
}

function factLines(part: PartView, { paint, lines, workspace }: TreeOptions): readonly string[] {
  const { shows, uses } = part
  const shown = shows.map(({ type, label, text }) => {
    if (type === 'label') return `${paint('dim', 'label')} ${oneOf(text)}`
    return `${paint('dim', type)} ${type === 'pin' ? `${oneOf(label)} ` : ''}${oneOf(text)}`
  })
  const calls = Object.entries(uses).map(([name, count]) => (count === 1 ? name : `${name} × ${formatCount(count)}`))
  return [
    ...shown.slice(0, lines),
    ...(shown.length > lines ? [paint('dim', `… ${formatCount(shown.length - lines)} more (--all)`)] : []),
    ...(calls.length === 0 ? [] : [`${paint('dim', 'calls')} ${harmless(calls.join(', '))}`]),
    ...(part.error === null ? [] : [`${paint('red', 'error')} ${errorText(part, workspace)}`]),
  ]
}

function omittedLine({ omitted }: PartView, { paint }: TreeOptions): readonly string[] {
  return omitted === 0 ? [] : [paint('dim', `… ${formatCount(omitted)} more, all done (--all)`)]
}

/** Texts of a part, each below its title. */
export function detailLines(details: readonly DetailView[], { paint, lines }: TreeOptions): readonly string[] {
  return details.flatMap(({ place, title, text }) => {
    const all = harmless(text).replace(/\n$/, '').split('\n')
    const rest = all.length - lines
    return [
      '',
      `${paint('bold', `── ${oneOf(title)}`)} ${paint('dim', harmless(place))}`,
      ...all.slice(0, lines),
      ...(rest > 0 ? [paint('dim', `… ${formatCount(rest)} more lines (--all)`)] : []),
    ]
  })
}

const resumes: { readonly [how in PendingView['resume']]: string } = {
  again: 'a resume does it again',
  files: 'a resume looks whether the file was changed',
  choice: 'a resume needs a choice',
}

/** What is not known about a run that broke off, each kind below its title. */
export function uncertainLines(uncertain: readonly PendingView[], options: TreeOptions): readonly string[] {
  const isOpen = ({ error, resume }: PendingView): boolean => error === null || resume !== 'choice'
  const groups = [
    { title: 'under way when it ended', pending: uncertain.filter(isOpen) },
    { title: 'failed, and only you can tell what it has done', pending: uncertain.filter((one) => !isOpen(one)) },
  ]
  return groups.flatMap(({ title, pending }) =>
    pending.length === 0 ? [] : ['', options.paint('bold', title), ...pendingLines(pending, options)],
  )
}

function pendingLines(pending: readonly PendingView[], { paint }: TreeOptions): readonly string[] {
  return pending.flatMap(({ id, place, kind, text, resume, error }) => {
    const choice = resume === 'choice' ? `: --uncertain ${id}=redo, =done or =fail` : ''
    const title = `${paint('yellow', id)}  ${kind} ${oneOf(text)}  ${paint('dim', harmless(place))}`
    return [
      title,
      `  ${error === null ? 'end not known' : `it ended with: ${oneOf(error, longestError)}`}; ${resumes[resume]}${choice}`,
    ]
  })
}
