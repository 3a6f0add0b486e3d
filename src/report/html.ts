import { escapeMarkup } from '../base/markup.ts'
import { harmless } from '../base/terminal-text.ts'
import { countOf, formatDuration } from '../render/format.ts'
import { statusText } from '../render/runs.ts'
import { chartSvg, scoreSummary } from './chart.ts'
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

const mostRows = 2_000

const style = `
:root { color-scheme: light dark; --text: #1f2328; --dim: #59636e; --line: #d1d9e0; --back: #fff; --code: #f6f8fa;
  --done: #1a7f37; --failed: #d1242f; --open: #9a6700; --accent: #0969da }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --dim: #9198a1; --line: #3d444d; --back: #0d1117; --code: #161b22;
  --done: #3fb950; --failed: #f85149; --open: #d29922; --accent: #4493f8 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 3rem; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.375rem; line-height: 1.25; margin: 0 0 1rem }
h2 { font-size: 1.125rem; margin: 2rem 0 .5rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 0 }
dt, th { color: var(--dim); font-weight: normal }
dd { margin: 0 }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .375rem .75rem .375rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
td:first-child { min-width: 8rem }
td:not(:first-child), th { white-space: nowrap }
.done { color: var(--done) } .failed { color: var(--failed) } .open { color: var(--open) }
pre, code { font: .875rem/1.5 ui-monospace, monospace; background: var(--code); border-radius: .25rem }
code { padding: .125rem .25rem }
pre { padding: .75rem; margin: .5rem 0; white-space: pre-wrap }
svg { display: block; width: 100%; height: auto }
svg text { font-size: 12px; fill: var(--dim) }
svg line { stroke: var(--line) } svg path { fill: none; stroke: var(--accent); stroke-width: 2 } svg circle { fill: var(--accent) }
@media (max-width: 30rem) { svg text { font-size: 20px } dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: .5rem } }
`

/** A report as one HTML file that loads nothing and runs nothing, in light and dark. */
export function htmlReport(report: Report): string {
  const { run, rows, scores, changes, failures, waiting, uncertain, next, damages } = report
  const exit = run.exit === null ? '' : `, exit code ${run.exit}`
  const file = shown(fileName(report))
  const facts = [
    ['Run', shown(run.id)],
    [
      'Started',
      `<time datetime="${shown(run.started)}">${shown(run.started.slice(0, 16).replace('T', ' '))} UTC</time>, active for ${formatDuration(run.duration_ms)}`,
    ],
    ['Result', shown(rowsSummary(rows))],
    ['Cost', shown(costText(report))],
    ['Changes', shown(changesSummary(changes))],
  ].filter(([, text]) => text !== '')
  const table = tableOf(report, mostRows)
  const columns = usedColumns(table)
  const body = [
    `<h1>${file}: <span class="${tone(run.status)}">${shown(statusText(run).replaceAll('_', ' '))}</span>${exit}</h1>`,
    `<dl>${facts.map(([name, text]) => `<dt>${name}</dt><dd>${text}</dd>`).join('')}</dl>`,
    ...(table.length === 0
      ? []
      : [
          `<h2>Parts</h2>`,
          tableHtml(
            columns.map((column) => rowTitles[column] ?? ''),
            table.map(({ row, cells }) =>
              columns.map((column) => cell(cells[column] ?? '', { column, depth: row.depth, status: row.status })),
            ),
          ),
          ...(rows.length > table.length ? [`<p>${rows.length - table.length} more.</p>`] : []),
        ]),
    ...(scores === null ? [] : [`<h2>Score</h2><p>${shown(scoreSummary(scores))}</p>${chartSvg(scores)}`]),
    ...(changes.length === 0
      ? []
      : [
          '<h2>Changes</h2>',
          tableHtml(
            ['file', 'change', 'lines'],
            changes
              .slice(0, mostRows)
              .map((one) => [
                `<td>${shown(changePath(one))}</td>`,
                `<td>${one.kind}</td>`,
                `<td>${changeCounts(one)}</td>`,
              ]),
          ),
          ...(changes.length > mostRows ? [`<p>${changes.length - mostRows} more.</p>`] : []),
        ]),
    ...(failures.length === 0
      ? []
      : [
          '<h2>Failures</h2>',
          ...failures
            .slice(0, mostRows)
            .map(
              (one) =>
                `<p class="failed">${shown(failurePlace(one))}</p><pre>${shown([one.message, ...one.last].join('\n'))}</pre>` +
                (one.hint === null ? '' : `<p>Hint: ${shown(one.hint)}</p>`),
            ),
        ]),
    ...list(
      'Waits for approval',
      waiting.map(({ id, tool, input }) => `${id} ${tool} ${JSON.stringify(input).slice(0, 400)}`),
    ),
    ...list(
      'Not finished, or with an unknown outcome',
      uncertain.map(({ id, kind, text }) => `${id} ${kind} ${text.slice(0, 400)}`),
    ),
    ...(damages === 0 ? [] : [`<p class="failed">${countOf(damages, 'damaged part')} of the journal not shown.</p>`]),
    ...(next.length === 0
      ? []
      : [
          `<h2>Next</h2><dl>${next.map(({ what, command }) => `<dt>${shown(what)}</dt><dd><code>${shown(command)}</code></dd>`).join('')}</dl>`,
        ]),
  ]
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    `<title>${file}: ${shown(statusText(run).replaceAll('_', ' '))}</title>`,
    `<style>${style}</style>`,
    '</head>',
    '<body>',
    ...body,
    '</body>',
    '</html>',
    '',
  ].join('\n')
}

function tableHtml(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = titles.map((title) => `<th scope="col">${title}</th>`).join('')
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${rows.map((cells) => `<tr>${cells.join('')}</tr>`).join('')}</tbody></table></div>`
}

function cell(
  text: string,
  { column, depth, status }: { readonly column: number; readonly depth: number; readonly status: string },
): string {
  if (column === 0) return `<td style="padding-left:${depth}rem">${shown(text)}</td>`
  return column === 1 ? `<td class="${tone(status)}">${shown(text)}</td>` : `<td>${shown(text)}</td>`
}

function tone(status: string): 'done' | 'failed' | 'open' {
  if (status === 'done') return 'done'
  return ['failed', 'budget', 'limit', 'until_not_met'].includes(status) ? 'failed' : 'open'
}

function list(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return []
  return [`<h2>${title}</h2><ul>${lines.map((line) => `<li><code>${shown(line)}</code></li>`).join('')}</ul>`]
}

function shown(text: string): string {
  return escapeMarkup(harmless(text))
}
