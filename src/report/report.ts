import { displayPath } from '../base/files.ts'
import type { ReportFailure, ReportRow, RunFindings } from '../history/report.ts'
import { harmless, harmlessName } from '../base/terminal-text.ts'
import { countOf, formatCost, formatDuration, formatUsage, oneLine } from '../render/format.ts'
import { runHeader } from '../render/runs.ts'
import type { Paint } from '../render/style.ts'
import { chartLines, scoreSummary } from './chart.ts'
import { widthOf } from '../base/width.ts'

/** What a run did, for somebody who was not there. Each format shows the same. */
export interface Report extends RunFindings {
  readonly workspace: string
  readonly changes: readonly ReportChange[]
  readonly next: readonly NextStep[]
}

/** The net change of a file. Line counts are null if it is not text. */
export interface ReportChange {
  readonly path: string
  readonly kind: 'created' | 'changed' | 'deleted' | 'moved' | 'not applied'
  readonly from?: string
  readonly added: number | null
  readonly removed: number | null
}

/** A command to type, and what it does. */
export interface NextStep {
  readonly what: string
  readonly command: string
}

/** Rows of a table that are shown; unfinished and failed ones are never left out for the sake of finished ones. */
export function shownRows(rows: readonly ReportRow[], most: number): readonly ReportRow[] {
  if (rows.length <= most) return rows
  const other = rows.filter(({ status }) => status !== 'done').slice(0, most)
  const done = rows.filter(({ status }) => status === 'done').slice(0, most - other.length)
  const kept = new Set([...other, ...done])
  return rows.filter((row) => kept.has(row))
}

export const rowTitles = ['part', 'state', 'score', 'files', 'time', 'cost'] as const

/** The cells of a row as plain text, on one line each. */
export function rowCells(row: ReportRow, change: number | undefined): readonly string[] {
  const { place, kind, label, status, duration_ms, score, files, commit, cost_usd, calls } = row
  const trend =
    change === undefined || change === 0 ? '' : ` (${change > 0 ? '+' : ''}${Number(change.toPrecision(6))})`
  return [
    oneLine(label === '' ? place : label, 80),
    status,
    score === null ? '' : `${score}${trend}`,
    kind !== 'iteration' ? '' : [String(files.length), ...(commit === null ? [] : [commit.slice(0, 9)])].join(' · '),
    duration_ms === null ? '' : formatDuration(duration_ms),
    cost_usd === null && calls > 0 ? '?' : formatCost(cost_usd),
  ]
}

/** Each shown row with its cells; the score with its difference from the one before. */
export function tableOf(
  { rows, scores }: RunFindings,
  most: number,
): readonly { readonly row: ReportRow; readonly cells: readonly string[] }[] {
  let before = scores?.before ?? undefined
  const changes = new Map<ReportRow, number>()
  for (const row of rows) {
    if (row.score === null) continue
    if (before !== undefined) changes.set(row, row.score - before)
    before = row.score
  }
  return shownRows(rows, most).map((row) => ({ row, cells: rowCells(row, changes.get(row)) }))
}

/** The columns that have something in any row. */
export function usedColumns(table: readonly { readonly cells: readonly string[] }[]): readonly number[] {
  return rowTitles.flatMap((_, column) => (table.some(({ cells }) => cells[column] !== '') ? [column] : []))
}

/** `5 of 6 iterations done, 1 failed`; empty without rows. */
export function rowsSummary(rows: readonly ReportRow[]): string {
  const own = rows.filter(({ depth }) => depth === 0)
  const [first] = own
  if (first === undefined) return ''
  const count = (wanted: string): number => own.filter(({ status }) => status === wanted).length
  const others = ['failed', 'skipped', 'suspended', 'unfinished'].flatMap((word) =>
    count(word) === 0 ? [] : [`${count(word)} ${word}`],
  )
  return [`${count('done')} of ${countOf(own.length, first.kind)} done`, ...others].join(', ')
}

/** What the whole run cost; empty if it called no model. */
export function costText({ run: { calls, cost_usd, tokens, models } }: RunFindings): string {
  if (calls === 0) return ''
  const cost = cost_usd === null ? 'price unknown' : formatCost(cost_usd)
  return [cost, countOf(calls, 'call'), formatUsage(tokens), ...models.map(harmlessName)]
    .filter((one) => one !== '')
    .join(' · ')
}

/** `2 files changed, +10 −3`; empty without changes. */
export function changesSummary(changes: readonly ReportChange[]): string {
  if (changes.length === 0) return ''
  const sum = (of: 'added' | 'removed'): number => changes.reduce((total, one) => total + (one[of] ?? 0), 0)
  return `${countOf(changes.length, 'file')}, +${sum('added')} −${sum('removed')}`
}

/** `+10 −3`, or what is known instead. */
export function changeCounts({ added, removed }: ReportChange): string {
  return added === null || removed === null ? 'binary' : `+${added} −${removed}`
}

/** The path of a change, with where it was before. */
export function changePath({ path, from }: ReportChange): string {
  return from === undefined ? path : `${from} → ${path}`
}

/** Where something failed, in words. */
export function failurePlace({ place, label }: ReportFailure): string {
  return (
    [place, label]
      .filter((one) => one !== '')
      .map((one) => oneLine(one, 120))
      .join(' · ') || 'the run'
  )
}

/** The name of a run's file, relative to the workspace. */
export function fileName({ run, workspace }: Report): string {
  return oneLine(displayPath(workspace, run.file))
}

export interface TextOptions {
  readonly paint: Paint
  /** Rows of a table. */
  readonly lines: number
}

/** A report for a terminal. Ends with a newline. */
export function textReport(report: Report, { paint, lines }: TextOptions): string {
  const { run, workspace, rows, scores, changes, failures, waiting, uncertain, next, damages } = report
  const table = tableOf(report, lines)
  const all: readonly (readonly string[])[] = [
    [runHeader(run, { paint, workspace }).trimEnd()],
    section(
      rowsSummary(rows),
      [...tableLines(table, paint), ...rest(rows.length - table.length, 'more, see --all', paint)],
      paint,
    ),
    section(scores === null ? '' : `score: ${scoreSummary(scores)}`, scores === null ? [] : chartLines(scores), paint),
    section(
      changesSummary(changes),
      [
        ...changes
          .slice(0, lines)
          .map((one) => `${changeCounts(one).padEnd(10)} ${one.kind.padEnd(8)} ${harmlessName(changePath(one))}`),
        ...rest(changes.length - lines, 'more files', paint),
      ],
      paint,
    ),
    ...failures
      .slice(0, lines)
      .map((one) => [
        '',
        `${paint(['red', 'bold'], 'failed')} ${harmlessName(failurePlace(one))}`,
        ...[one.message, ...one.last].map((line) => `  ${harmless(line)}`),
        ...(one.hint === null ? [] : [`  ${paint('cyan', 'hint')}: ${harmless(one.hint)}`]),
      ]),
    section(
      waiting.length === 0 ? '' : `waits for approval of ${countOf(waiting.length, 'call')}`,
      waiting.map(({ id, tool, input }) => `${id}  ${harmlessName(tool)} ${oneLine(JSON.stringify(input), 100)}`),
      paint,
    ),
    section(
      uncertain.length === 0 ? '' : 'not finished, or with an unknown outcome',
      uncertain.map(({ id, kind, text, place }) => `${id}  ${kind} ${oneLine(text, 80)}  ${harmlessName(place)}`),
      paint,
    ),
    damages === 0 ? [] : ['', paint('red', `${countOf(damages, 'damaged part')} of the journal not shown`)],
    next.length === 0 ? [] : ['', ...next.map(({ what, command }) => `${paint('cyan', what)}: ${harmless(command)}`)],
  ]
  return all
    .flat()
    .map((line) => `${line}\n`)
    .join('')
}

function section(title: string, lines: readonly string[], paint: Paint): readonly string[] {
  return title === '' ? [] : ['', paint('bold', title), ...lines.map((line) => `  ${line}`)]
}

function rest(count: number, what: string, paint: Paint): readonly string[] {
  return count > 0 ? [paint('dim', `… ${count} ${what}`)] : []
}

function tableLines(table: ReturnType<typeof tableOf>, paint: Paint): readonly string[] {
  const columns = usedColumns(table)
  const indented = table.map(({ row, cells }) =>
    cells.map((cell, column) => (column === 0 ? '  '.repeat(row.depth) + harmlessName(cell) : cell)),
  )
  const widths = columns.map((column) =>
    Math.max((rowTitles[column] ?? '').length, ...indented.map((cells) => widthOf(cells[column] ?? ''))),
  )
  const line = (cells: readonly string[]): string =>
    columns
      .map((column, index) => (cells[column] ?? '') + ' '.repeat((widths[index] ?? 0) - widthOf(cells[column] ?? '')))
      .join('  ')
      .trimEnd()
  return [paint('dim', line(rowTitles)), ...indented.map(line)]
}
