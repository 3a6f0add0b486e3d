import { describe, expect, it } from 'vitest'
import { chartOf, type RunPoint } from '../../../src/page/data/file-history.ts'

const run = (id: string, score: number | null): RunPoint => {
  return { id, started: '2026-11-29T07:00:00Z', duration_ms: 10, cost_usd: null, score }
}

describe('the chart of the runs of a file', () => {
  it('has the oldest run first, and leaves out those without the value', () => {
    const chart = chartOf([run('c', 4), run('b', null), run('a', 2)], ({ score }) => score)
    expect(chart).toMatchObject({
      least: 0,
      most: 4,
      bars: [
        { id: 'a', height: 0.5 },
        { id: 'c', height: 1 },
      ],
    })
    expect(chartOf([run('a', null)], ({ score }) => score)).toBeUndefined()
  })

  it('begins at the least value if that is below 0, and is flat if all are 0', () => {
    const chart = chartOf([run('b', -4), run('a', 4)], ({ score }) => score)
    expect(chart).toMatchObject({ least: -4, most: 4, bars: [{ height: 1 }, { height: 0 }] })
    expect(chartOf([run('a', 0)], ({ score }) => score)?.bars).toMatchObject([{ height: 0 }])
  })
})
