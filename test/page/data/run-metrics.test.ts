import { expect, it } from 'vitest'
import { metricsOf } from '../../../src/page/data/run-metrics.ts'
import type { Comparison } from '../../../src/page/live/wire.ts'

const run = (more: object) =>
  ({
    cost_usd: null,
    tokens: { input: 100, output: 20, cached: 0 },
    calls: 1,
    duration_ms: 1_000,
    ...more,
  }) as Comparison['before']

it('figures of two runs stand side by side with what has changed, and whether that is better', () => {
  const before = run({ cost_usd: 0.02 })
  const after = run({ cost_usd: 0.01, duration_ms: 1_500, calls: 1 })
  expect(metricsOf({ before, after, scores: { before: 2, after: 3 } })).toEqual([
    { name: 'Cost', before: '$0.02', after: '$0.01', change: '−$0.01 (−50%)', isBetter: true },
    { name: 'Tokens', before: '120', after: '120', change: '', isBetter: undefined },
    { name: 'Model calls', before: '1', after: '1', change: '', isBetter: undefined },
    { name: 'Time', before: '1.0 s', after: '1.5 s', change: '+500 ms (+50%)', isBetter: false },
    { name: 'Best score', before: '2', after: '3', change: '+1 (+50%)', isBetter: true },
  ])
  expect(metricsOf({ before: run({}), after, scores: { before: null, after: null } })[0]).toEqual({
    name: 'Cost',
    before: '–',
    after: '$0.01',
    change: '',
    isBetter: undefined,
  })
})
