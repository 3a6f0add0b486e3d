import { harmless } from '../base/terminal-text.ts'
import { countOf, formatDuration, oneLine } from '../render/format.ts'
import { statusText } from '../render/runs.ts'
import { chartLines, scoreSummary } from './chart.ts'
import {
  changeCounts,
  changePath,
  changesSummary,
  costText,
  failurePlace,
  fileName,
  type Report,
  rowsSummary,
  rowTitles,
  tableOf,
  usedColumns,
} from './report.ts'

/** A page that shows a comment or a summary of a step cuts or refuses what is too long. */
const mostRows = 200
const mostFailures = 20

/** A report in Markdown, for a comment, a mail or the summary of a step. Ends with a newline. */
export function markdownReport(report: Report): string {
  const { run, rows, scores, changes, failures, waiting, uncertain, next, damages } = report
  const cost = costText(report)
  const exit = run.exit === null ? '' : `, exit code ${run.exit}`
  const facts = [
    ['run', quoted(run.id)],
    ['started', `${run.started.slice(0, 16).replace('T', ' ')} UTC, active for ${formatDuration(run.duration_ms)}`],
    ['result', rowsSummary(rows)],
    ['cost', cost === '' ? '' : quoted(cost)],
    ['changes', changesSummary(changes)],
  ].filter(([, text]) => text !== '')
  const table = tableOf(report, mostRows)
  const columns = usedColumns(table)
  const blocks = [
    `## ${quoted(fileName(report))}: ${statusText(run).replaceAll('_', ' ')}${exit}`,
    facts.map(([name, text]) => `- ${name}: ${text}`).join('\n'),
    ...(table.length === 0
      ? []
      : [
          tableText(
            columns.map((column) => rowTitles[column] ?? ''),
            table.map(({ row, cells }) =>
              columns.map(
                (column) =>
                  (column === 0 ? '&emsp;'.repeat(row.depth) : '') +
                  (column === 0 ? quoted(cells[column] ?? '') : (cells[column] ?? '')),
              ),
            ),
          ),
        ]),
    ...(rows.length > table.length ? [`${rows.length - table.length} more.`] : []),
    ...(scores === null ? [] : [`### Score`, `${scoreSummary(scores)}.`, block(chartLines(scores).join('\n'))]),
    ...(changes.length === 0
      ? []
      : [
          '### Changes',
          tableText(
            ['file', 'change', 'lines'],
            changes.slice(0, mostRows).map((one) => [quoted(changePath(one)), one.kind, changeCounts(one)]),
          ),
          ...(changes.length > mostRows ? [`${changes.length - mostRows} more.`] : []),
        ]),
    ...(failures.length === 0
      ? []
      : [
          '### Failures',
          ...failures
            .slice(0, mostFailures)
            .flatMap((one) => [
              `**${quoted(failurePlace(one))}**`,
              block([one.message, ...one.last].join('\n')),
              ...(one.hint === null ? [] : [`Hint: ${quoted(one.hint)}`]),
            ]),
          ...(failures.length > mostFailures ? [`${failures.length - mostFailures} more.`] : []),
        ]),
    ...(waiting.length === 0
      ? []
      : [
          '### Waits for approval',
          waiting
            .map(({ id, tool, input }) => `- ${id}: ${quoted(`${tool} ${JSON.stringify(input).slice(0, 200)}`)}`)
            .join('\n'),
        ]),
    ...(uncertain.length === 0
      ? []
      : [
          '### Not finished, or with an unknown outcome',
          uncertain.map(({ id, kind, text }) => `- ${id}: ${quoted(`${kind} ${text.slice(0, 200)}`)}`).join('\n'),
        ]),
    ...(damages === 0 ? [] : [`${countOf(damages, 'damaged part')} of the journal not shown.`]),
    ...(next.length === 0
      ? []
      : ['### Next', next.map(({ what, command }) => `- ${what}: ${quoted(command)}`).join('\n')]),
  ]
  return `${blocks.join('\n\n')}\n`
}

function tableText(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line)].join('\n')
}

/**
 * Text of anyone as a piece of code on one line. It is nothing but text: all its punctuation is written as entities,
 * which begin no markup, end no cell, name nobody and link nowhere.
 */
function quoted(text: string): string {
  const line = oneLine(text).trim()
  return line === '' ? '' : `<code>${inert(line)}</code>`
}

/** The same for several lines. Without an empty line, which would end the block for some readers. */
function block(text: string): string {
  const lines = harmless(text)
    .split('\n')
    .map((line) => inert(line) || '&nbsp;')
  return `<pre>${lines.join('\n')}</pre>`
}

function inert(text: string): string {
  return text.replaceAll(/[&<>"'\\`*_[\]{}()#+!|~$@:^=]|(?<=\bwww)\./gi, (one) => `&#${one.codePointAt(0)};`)
}
