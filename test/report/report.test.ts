import { describe, expect, it } from 'vitest'
import { chartLines, chartSvg } from '../../src/report/chart.ts'
import { htmlReport } from '../../src/report/html.ts'
import { markdownReport } from '../../src/report/markdown.ts'
import { type Report, textReport } from '../../src/report/report.ts'
import type { ReportRow } from '../../src/history/report.ts'

const evil =
  'a | b <img src=x onerror=alert(1)> @octocat #12 `x` \\| ``` www.x.example https://x.example [l](y)\u001b[2J'

function row(fields: Partial<ReportRow> & Pick<ReportRow, 'place'>): ReportRow {
  const usual = {
    depth: 0,
    kind: 'task',
    label: '',
    status: 'done',
    duration_ms: 1_000,
    calls: 1,
    cost_usd: 0.5,
  } as const
  return { ...usual, score: null, files: [], commit: null, ...fields }
}

const report: Report = {
  run: {
    v: 1,
    id: '20261122-054821-6780e1',
    file: '/w/night.md',
    target: 'prompt',
    started: '2026-11-22T05:48:21.000Z',
    ended: '2026-11-22T07:48:21.000Z',
    duration_ms: 7_200_000,
    status: 'failed',
    exit: 1,
    tasks: { done: 1, failed: 1, skipped: 0 },
    calls: 3,
    tokens: { input: 1_200, output: 40, cached: 0 },
    cost_usd: 1.5,
    models: ['openai::gpt-5'],
    epochs: 1,
    repeated: 0,
    error: evil,
    error_place: null,
  },
  workspace: '/w',
  rows: [row({ place: 'task/0', label: evil, status: 'failed' }), row({ place: 'task/1', label: 'second' })],
  scores: null,
  failures: [{ place: 'task/0', label: evil, message: evil, last: ['', `</pre><script>${evil}</script>`], hint: evil }],
  waiting: [
    { id: '1', tool: 'write', input: { path: evil }, place: 'task/1/changes/0', asked: '2026-11-22T05:48:21.000Z' },
  ],
  uncertain: [],
  damages: 1,
  changes: [{ path: `src/${evil}`, kind: 'changed', added: 3, removed: 1 }],
  next: [{ what: 'resume', command: 'baton resume 20261122-054821-6780e1' }],
}

describe('a report in Markdown', () => {
  const text = markdownReport(report)

  it('has nothing of anyone else that is markup: no tags, mentions, links, issues or cells', () => {
    expect(text).not.toMatch(/@octocat|<img|<script|(?<!&)#12|https:|www\./)
    expect(text).not.toContain('\u001b')
    expect(
      [...text.matchAll(/<\/?(\w+)/g)].map(([, tag]) => tag).filter((tag) => tag !== 'code' && tag !== 'pre'),
    ).toEqual([])
    expect(text.match(/<\/pre>/g)).toHaveLength(1)
  })

  it('has tables with the same number of cells in each line', () => {
    const tables = text.split('\n').filter((line) => line.startsWith('|'))
    const cells = tables.map((line) => line.split('|').length)
    expect(tables).toHaveLength(4 + 3)
    expect(new Set(cells.slice(0, 4)).size).toBe(1)
    expect(new Set(cells.slice(4)).size).toBe(1)
  })

  it('says what it is about, what it cost, what failed and what to type next', () => {
    expect(text).toContain('## <code>night.md</code>: failed, exit code 1')
    expect(text).toContain('- result: 1 of 2 tasks done, 1 failed')
    expect(text).toContain('<code>$1.50'.replace('$', '&#36;'))
    expect(text).toContain('1 damaged part of the journal not shown.')
    expect(text).toContain('- resume: <code>baton resume 20261122-054821-6780e1</code>')
  })
})

describe('a report in HTML', () => {
  const text = htmlReport({
    ...report,
    scores: {
      before: 2,
      points: [
        { place: 'iteration/0', score: 4 },
        { place: 'iteration/1', score: null },
      ],
    },
  })

  it('is one file that runs and loads nothing, whatever the texts in it say', () => {
    expect(text).not.toMatch(/<script|<img|<link|<a\b|\bsrc="|href=|url\(|@import/)
    expect(text).not.toContain('\u001b')
    expect(text).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`)
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(text.match(/<\/pre>/g)).toHaveLength(1)
  })

  it('fits narrow and dark screens', () => {
    expect(text).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">')
    expect(text).toContain('@media (prefers-color-scheme: dark)')
    expect(text).toContain('@media (max-width: 30rem)')
  })

  it('draws the scores as a line that has a gap where there is none', () => {
    expect(text).toMatch(/<path d="M[\d. ]+L[\d. ]+"\/>/)
    const svg = chartSvg({
      before: null,
      points: [1, null, 2].map((score, index) => ({ place: `iteration/${index}`, score })),
    })
    expect(svg.match(/[ML]/g)?.join('')).toMatch(/^MM/)
    expect(svg).toContain('<title>2: 2</title>')
  })
})

describe('a report in text', () => {
  it('keeps unfinished parts when it shortens the table, and says how many are missing', () => {
    const rows = Array.from({ length: 30 }, (_, index) =>
      row({ place: `task/${index}`, status: index === 29 ? 'failed' : 'done' }),
    )
    const text = textReport({ ...report, rows }, { paint: (_, plain) => plain, lines: 3 })
    expect(text).toMatch(/task\/0 .*\n.*task\/1 .*\n.*task\/29 +failed/)
    expect(text).toContain('… 27 more, see --all')
  })

  it('draws the scores as bars from the lowest to the highest', () => {
    const points = [30, null, 10].map((score, index) => ({ place: `iteration/${index}`, score }))
    expect(chartLines({ before: 20, points })).toEqual(['30 │  █', '   │  █', '   │▅ █', '   │█ █', '10 │█ █   ▁'])
    expect(chartLines({ before: 5, points: [] })).toHaveLength(5)
    expect(
      Math.max(
        ...chartLines({
          before: null,
          points: Array.from({ length: 1_000 }, (_, index) => ({ place: `iteration/${index}`, score: index })),
        }).map((line) => line.length),
      ),
    ).toBeLessThan(70)
  })
})
