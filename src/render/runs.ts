import type { DetailView, PartStatus, PartView } from '../history/node-view.ts'
import type { PendingView } from '../history/pending.ts'
import { runName } from '../history/run-name.ts'
import type { ErrorView, RunStatus, RunSummary } from '../journal/summary.ts'
import { harmless, harmlessName } from '../base/terminal-text.ts'
import { countOf, formatCost, formatCount, formatDuration, formatUsage, oneLine, placeText } from './format.ts'
import type { Paint } from './style.ts'
import { cutMiddle, widthOf } from '../base/width.ts'

type Format = Parameters<Paint>[0]

export interface RunsOptions {
  readonly paint: Paint
  /** Paths inside it are shown relative to it. */
  readonly workspace: string
}

export interface TreeOptions extends RunsOptions {
  /** Maximum lines per part or text. */
  readonly lines: number
}

const statusFormats: { readonly [status in RunStatus]: Format } = {
  done: 'green',
  running: 'cyan',
  waiting: 'yellow',
  skipped: 'yellow',
  cancelled: 'yellow',
  interrupted: 'yellow',
  suspended: 'yellow',
  waiting_for_approval: 'yellow',
  partial: 'yellow',
  failed: 'red',
  budget: 'red',
  limit: 'red',
  until_not_met: 'red',
}

const columns = ['run', 'when', 'status', 'time', 'tasks', 'tokens', 'cost', 'model', 'file'] as const
type Column = (typeof columns)[number]
type PerColumn<Value> = { readonly [title in Column]: Value }
const headings = perColumn((title) => title)

/** Left out where a terminal is too narrow, the first one first. */
const omitted: readonly Column[] = ['model', 'tokens', 'tasks', 'when', 'cost', 'time']
/** Columns of a terminal that the file of a run gets at least, and the model at most. */
const leastFileWidth = 12
const modelWidth = 24

/**
 * Runs as a table, one line each. An interrupted or suspended run has its resume command on the next line. `width`:
 * columns of the terminal, infinite for a pipe. Columns for which the terminal is too narrow are left out.
 */
export function runTable(
  runs: readonly RunSummary[],
  { paint, width, workspace }: RunsOptions & { readonly width: number },
): string {
  const rows = runs.map((run) => ({ run, cells: cellsOf(run, workspace) }))
  const all = [headings, ...rows.map(({ cells }) => cells)]
  const widths = perColumn((title) => Math.max(...all.map((cells) => widthOf(cells[title]))))
  const beforeFile = (titles: readonly Column[]): number =>
    titles.reduce((sum, title) => (title === 'file' ? sum : sum + widths[title] + 2), 0)
  const fits = (titles: readonly Column[]): boolean =>
    beforeFile(titles) + Math.min(widths.file, leastFileWidth) <= width
  const titles = omitted.reduce<readonly Column[]>(
    (left, title) => (fits(left) ? left : left.filter((one) => one !== title)),
    columns,
  )
  const fileWidth = Math.max(leastFileWidth, width - beforeFile(titles))
  const line = (cells: PerColumn<string>, color: (title: Column, text: string) => string): string =>
    titles
      .map((title) => {
        if (title === 'file') return color(title, cutMiddle(cells.file, fileWidth))
        return color(title, cells[title]) + ' '.repeat(widths[title] - widthOf(cells[title]) + 2)
      })
      .join('')
      .trimEnd()
  const lines = [line(headings, (_, text) => paint('dim', text))]
  for (const { run, cells } of rows) {
    const format = statusFormats[run.status]
    lines.push(line(cells, (title, text) => (title === 'status' ? paint(format, text) : text)))
    if (run.status === 'waiting_for_approval') lines.push(`  ${paint('cyan', 'calls')}: baton runs show ${run.id}`)
    if (isResumed(run) && (run.status === 'interrupted' || run.status === 'suspended'))
      lines.push(`  ${resumeLine(run.id, paint)}`)
  }
  return lines.map((text) => `${text}\n`).join('')
}

function perColumn<Value>(valueOf: (title: Column) => Value): PerColumn<Value> {
  return Object.fromEntries(columns.map((title) => [title, valueOf(title)])) as PerColumn<Value>
}

/** Whether a command can resume such a run and would have something to do. */
export function isResumed({ target, resumable }: Pick<RunSummary, 'target' | 'resumable'>): boolean {
  return resumable !== false && target !== 'conversation' && target !== 'undo' && target !== 'apply'
}

/** The command that resumes a run. */
export function resumeLine(id: string, paint: Paint): string {
  return `${paint('cyan', 'resume')}: baton resume ${id}`
}

function cellsOf(run: RunSummary, workspace: string): PerColumn<string> {
  const { id, started, duration_ms, tokens, cost_usd, calls, models, file } = run
  const count = tokens.input + tokens.output
  return {
    run: id,
    when: localTime(started),
    status: statusText(run),
    time: formatDuration(duration_ms),
    tasks: tasksText(run),
    tokens: count === 0 ? '' : `${tokens.estimated === true ? '~' : ''}${formatCount(count)}`,
    cost: cost_usd === null && calls > 0 ? '?' : formatCost(cost_usd),
    model: modelsText(models),
    file: oneLine(runName(file, workspace)),
  }
}

/** `claude-sonnet-5`, and `claude-sonnet-5 +2` if there were two others. */
function modelsText([first, ...others]: readonly string[]): string {
  if (first === undefined) return ''
  const name = cutMiddle(oneLine(first.replace(/^[^:]*::/, '')), modelWidth)
  return others.length === 0 ? name : `${name} +${others.length}`
}

/** How a run ended, or what it does. */
export function statusText({ status, begun, degraded, not_applied: isPlanned }: RunSummary): string {
  if (isPlanned === true && status === 'done') return 'not applied'
  if (begun === false) return 'never begun'
  return degraded === true ? `${status}, degraded` : status
}

/** `3`, or `3/4` if one is not done. */
function tasksText({ tasks: { done, failed, skipped } }: RunSummary): string {
  const all = done + failed + skipped
  if (all === 0) return ''
  return done === all ? formatCount(all) : `${formatCount(done)}/${formatCount(all)}`
}

/** `2026-11-22 05:48`, in the local time zone. */
function localTime(iso: string): string {
  const date = new Date(iso)
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16).replace('T', ' ')
}

/** The summary of a run, one line per known fact. */
export function runHeader(run: RunSummary, { paint, workspace }: RunsOptions): string {
  const {
    id,
    status,
    exit,
    file,
    started,
    duration_ms,
    asleep_ms: asleep = 0,
    calls,
    models,
    epochs,
    repeated,
    tasks,
  } = run
  const counts = Object.entries({ done: tasks.done, failed: tasks.failed, skipped: tasks.skipped })
  const taskTexts = counts
    .filter(([word, count]) => count > 0 || word === 'done')
    .map(([word, count]) => `${count} ${word}`)
  const facts: readonly (readonly [string, string])[] = [
    ['file', harmlessName(runName(file, workspace))],
    [
      'started',
      `${localTime(started)}, active for ${formatDuration(duration_ms)}${asleep > 0 ? `, asleep for ${formatDuration(asleep)}` : ''}${epochs > 1 ? `, in ${epochs} sessions` : ''}`,
    ],
    ['tasks', tasks.done + tasks.failed + tasks.skipped === 0 ? '' : taskTexts.join(', ')],
    ['models', calls === 0 ? '' : joined([countOf(calls, 'call'), paidText(run), ...models.map(harmlessName)])],
    ['error', run.error === null ? '' : errorText(run, workspace)],
    ['repeated', repeated === 0 ? '' : `${countOf(repeated, 'effect')} with an unknown outcome`],
  ]
  const title = `${paint('bold', id)}  ${paint(statusFormats[status], statusText(run).replaceAll('_', ' '))}${exit === null ? '' : `, exit code ${exit}`}`
  const lines = facts
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `  ${paint('dim', name.padEnd(8))} ${text}`)
  return [title, ...lines, ''].join('\n')
}

function paidText({ calls, tokens, cost_usd }: Pick<PartView, 'calls' | 'tokens' | 'cost_usd'>): string {
  if (calls === 0) return ''
  return joined([formatUsage(tokens), cost_usd === null ? 'price unknown' : formatCost(cost_usd)])
}

function joined(parts: readonly string[], separator = ' · '): string {
  return parts.filter((part) => part !== '').join(separator)
}

/** Parts as an indented tree. Names are relative to the parent part. */
export function partLines(parts: readonly PartView[], around: string, options: TreeOptions): readonly string[] {
  return parts.flatMap((part) => [
    lineOf(part, around, options),
    ...[...factLines(part, options), ...partLines(part.parts, part.place, options), ...omittedLine(part, options)].map(
      (line) => `  ${line}`,
    ),
  ])
}

const marks: { readonly [status in PartStatus]: readonly [format: Format, text: string] } = {
  done: ['green', 'done'],
  skipped: ['yellow', 'skipped'],
  failed: ['red', 'failed'],
  partial: ['yellow', 'partial'],
  suspended: ['yellow', 'suspended'],
  unfinished: ['yellow', 'unfinished'],
}

function lineOf(part: PartView, around: string, { paint }: TreeOptions): string {
  const { place, kind, text, status, duration_ms } = part
  const name = around !== '' && place.startsWith(around) ? place.slice(around.length).replace(/^\//, '') : place
  const [format, word] = marks[status]
  const isOrdinary = kind === 'agent' || kind === 'section' || kind === 'task'
  const paid = paidText(part)
  const facts = [
    paint('bold', harmlessName(name)),
    isOrdinary ? '' : kind,
    firstLine(text),
    paint(format, word),
    duration_ms === null ? '' : formatDuration(duration_ms),
    paid === '' ? '' : paint('dim', paid),
  ]
  return joined(facts, '  ')
}

function firstLine(text: string, longest = 100): string {
  const line = harmless(text).split('\n')[0] ?? ''
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line
}

const longestError = 400

function errorText({ error, error_place }: ErrorView, workspace: string): string {
  const text = firstLine(error ?? '', longestError)
  return error_place ? `${text} (${firstLine(placeText(error_place, workspace), longestError)})` : text
}

function factLines(part: PartView, { paint, lines, workspace }: TreeOptions): readonly string[] {
  const { shows, uses } = part
  const shown = shows.map(({ type, label, text }) => {
    if (type === 'left_out') return `${paint('red', 'not applied')} ${firstLine(text)}`
    if (type === 'label') return `${paint('dim', 'label')} ${firstLine(text)}`
    return `${paint('dim', type)} ${type === 'pin' ? `${firstLine(label)} ` : ''}${firstLine(text)}`
  })
  const calls = Object.entries(uses).map(([name, count]) => (count === 1 ? name : `${name} × ${formatCount(count)}`))
  return [
    ...shown.slice(0, lines),
    ...restLine(shown.length - lines, 'more', paint),
    ...(calls.length === 0 ? [] : [`${paint('dim', 'calls')} ${harmless(calls.join(', '))}`]),
    ...(part.error === null ? [] : [`${paint('red', 'error')} ${errorText(part, workspace)}`]),
  ]
}

/** The number of finished parts that are not shown, of a part or of a whole run. */
export function omittedLine({ omitted }: Pick<PartView, 'omitted'>, { paint }: RunsOptions): readonly string[] {
  return restLine(omitted, 'more, all done', paint)
}

/** The number of items that only `--all` shows; no line if it is zero. */
export function restLine(count: number, what: string, paint: Paint): readonly string[] {
  return count > 0 ? [paint('dim', `… ${formatCount(count)} ${what} (--all)`)] : []
}

/** The texts of a part, each below its title. */
export function detailLines(details: readonly DetailView[], { paint, lines }: TreeOptions): readonly string[] {
  return details.flatMap(({ place, title, text }) => {
    const all = harmless(text).replace(/\n$/, '').split('\n')
    return [
      '',
      `${paint('bold', `── ${firstLine(title)}`)} ${paint('dim', harmlessName(place))}`,
      ...all.slice(0, lines),
      ...restLine(all.length - lines, 'more lines', paint),
    ]
  })
}

const resumes: { readonly [how in PendingView['resume']]: string } = {
  again: 'resume repeats it',
  files: 'resume checks whether the file was changed',
  choice: 'resume needs your decision',
  waits: 'resume retries it',
}

/** Effects of an interrupted run that wait or have an unknown outcome, grouped below titles. */
export function uncertainLines(
  uncertain: readonly PendingView[],
  { paint }: Pick<RunsOptions, 'paint'>,
): readonly string[] {
  const [stopped, failed] = ['in progress when the run stopped', 'failed with an unknown outcome']
  const titleOf = ({ error, resume }: PendingView): string => {
    if (resume === 'waits') return 'waiting'
    return error === null || resume !== 'choice' ? stopped : failed
  }
  const groups = ['waiting', stopped, failed].map((title) => ({
    title,
    pending: uncertain.filter((one) => titleOf(one) === title),
  }))
  return groups.flatMap(({ title, pending }) =>
    pending.length === 0 ? [] : ['', paint('bold', title), ...pending.flatMap((one) => pendingLines(one, paint))],
  )
}

function pendingLines(
  { id, place, kind, text, resume, error, can_tell: canTell }: PendingView,
  paint: Paint,
): readonly string[] {
  const choice =
    resume === 'choice'
      ? `: --uncertain ${id}=redo, ${canTell === true ? '=done, =fail or =tell' : '=done or =fail'}`
      : ''
  const unknown = resume === 'waits' ? 'not started' : 'outcome unknown'
  const end = error === null ? unknown : `failed with: ${firstLine(error, longestError)}`
  return [
    `${paint('yellow', id)}  ${kind} ${firstLine(text)}  ${paint('dim', harmlessName(place))}`,
    `  ${end}; ${resumes[resume]}${choice}`,
  ]
}
