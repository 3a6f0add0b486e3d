import { displayPath } from '../base/files.ts'
import type { RunStatus, RunSummary } from '../journal/summary.ts'
import { formatClock, formatCost, formatCount, formatDuration, oneLine } from './format.ts'
import type { Paint } from './style.ts'
import { cutMiddle, widthOf } from './width.ts'

export interface TableOptions {
  readonly paint: Paint
  /** Columns of the terminal; infinite for a pipe. */
  readonly width: number
  /** Paths below it are shown relative to it. */
  readonly workspace: string
}

const titles = ['run', 'when', 'status', 'time', 'tasks', 'tokens', 'cost', 'file'] as const

/** Runs as a table, one line each; a run that can be gone on with has the command below it (R: `baton runs`). */
export function runTable(runs: readonly RunSummary[], { paint, width, workspace }: TableOptions): string {
  const rows = runs.map((run) => cellsOf(run, workspace))
  const widths = titles.map((title, column) => Math.max(title.length, ...rows.map((row) => widthOf(row[column] ?? ''))))
  const before = widths.slice(0, -1).reduce((sum, one) => sum + one + 2, 0)
  const line = (cells: readonly string[], colour: (column: number, text: string) => string): string =>
    cells
      .map((cell, column) => {
        if (column === cells.length - 1) return colour(column, cutMiddle(cell, Math.max(8, width - before)))
        return colour(column, cell) + ' '.repeat((widths[column] ?? 0) - widthOf(cell) + 2)
      })
      .join('')
      .trimEnd()
  const lines = [line(titles, (_, text) => paint('dim', text))]
  for (const [index, run] of runs.entries()) {
    lines.push(line(rows[index] ?? [], (column, text) => (column === 2 ? paint(colourOf(run.status), text) : text)))
    if (run.status === 'interrupted') lines.push(`  ${paint('cyan', 'go on')}: baton resume ${run.id}`)
  }
  return lines.map((text) => `${text}\n`).join('')
}

function cellsOf(run: RunSummary, workspace: string): readonly string[] {
  const { id, started, status, duration_ms, tokens, cost_usd, calls, file } = run
  const count = tokens.input + tokens.output
  return [
    id,
    localTime(started),
    status,
    timeText(duration_ms),
    tasksText(run),
    count === 0 ? '' : formatCount(count),
    cost_usd === null && calls > 0 ? '?' : formatCost(cost_usd),
    oneLine(displayPath(workspace, file)),
  ]
}

/** `3`, `3/4` when one is not done. */
function tasksText({ tasks: { done, failed, skipped } }: RunSummary): string {
  const all = done + failed + skipped
  if (all === 0) return ''
  return done === all ? formatCount(all) : `${formatCount(done)}/${formatCount(all)}`
}

export function timeText(ms: number): string {
  return ms < 60_000 ? formatDuration(ms) : formatClock(ms)
}

/** `2026-11-22 05:48`, in the time zone of who looks. */
export function localTime(iso: string): string {
  const date = new Date(iso)
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}

export function colourOf(status: RunStatus): Parameters<Paint>[0] {
  switch (status) {
    case 'done':
      return 'green'
    case 'running':
      return 'cyan'
    case 'skipped':
    case 'cancelled':
    case 'interrupted':
      return 'yellow'
    case 'failed':
    case 'budget':
    case 'limit':
      return 'red'
  }
}
