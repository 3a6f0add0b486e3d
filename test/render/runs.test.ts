import { describe, expect, it } from 'vitest'
import type { RunSummary } from '../../src/journal/summary.ts'
import { runHeader, runTable } from '../../src/render/runs.ts'
import { createPaint } from '../../src/render/style.ts'

const summary: RunSummary = {
  v: 1,
  id: '20261129-160000-abc',
  file: '/work/ask.md',
  target: 'prompt',
  started: '2026-11-29T16:00:00.000Z',
  ended: '2026-11-29T16:00:01.000Z',
  duration_ms: 1000,
  status: 'done',
  exit: 0,
  tasks: { done: 1, failed: 0, skipped: 0 },
  calls: 1,
  tokens: { input: 10, output: 2, cached: 0 },
  cost_usd: 0.01,
  models: ['openai::gpt-5-mini'],
  epochs: 1,
  repeated: 0,
  error: null,
  error_place: null,
}

const options = { paint: createPaint({ env: {}, isTerminal: false }), workspace: '/work' }

/** The last columns of a run with these fields. */
function shown(fields: Partial<RunSummary>): readonly string[] {
  const [, row = ''] = runTable([{ ...summary, ...fields }], { ...options, width: Infinity }).split('\n')
  return row.split(/ {2,}/).slice(-2)
}

describe('the table of runs', () => {
  it.each([
    ['/home/me/.aipack-base/pack/installed/pro/coder/main.aip', 'pro@coder'],
    ['/work/.aipack/pack/custom/team/review/quick/check.aip', 'team@review/quick/check'],
    ['/work/.baton/packs/acme/docs/report.md', 'acme@docs/report'],
    ['/work/packs/acme/docs/report.md', 'packs/acme/docs/report.md'],
  ])('names an agent of a pack as one would write it: %s', (file, name) => {
    expect(shown({ file })[1]).toBe(name)
    expect(runHeader({ ...summary, file }, options)).toMatch(new RegExp(`file +${name}\n`))
  })

  it.each([
    [[], '$0.010'],
    [['openai::gpt-5-mini'], 'gpt-5-mini'],
    [['anthropic::claude-sonnet-5', 'openai::gpt-5-mini', 'a::b'], 'claude-sonnet-5 +2'],
    [['own::vendor/a-model-with-a-very-long-name:free'], 'vendor/a-mod…g-name:free'],
  ])('names the first model that a run used, and counts the others: %s', (models, text) => {
    expect(shown({ models })[0]).toBe(text)
  })

  it('leaves out the columns for which the terminal has no room, the models first', () => {
    const titles = (width: number): string => {
      const lines = runTable([summary], { ...options, width })
        .trimEnd()
        .split('\n')
      for (const line of lines.slice(0, 2)) expect(line.length).toBeLessThanOrEqual(width)
      return lines[0]?.replaceAll(/ +/g, ' ') ?? ''
    }
    expect(titles(100)).toBe('run when status time tasks tokens cost model file')
    expect(titles(80)).toBe('run when status time tasks cost file')
    expect(titles(60)).toBe('run status time cost file')
    expect(titles(48)).toBe('run status time file')
  })
})
