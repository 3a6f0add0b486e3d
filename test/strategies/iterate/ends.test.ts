import { describe, expect, it } from 'vitest'
import type { IterateSettings } from '../../../src/settings/strategies/iterate.ts'
import {
  bestOf,
  endOf,
  endRules,
  type EndRules,
  type IterationRecord,
  plannedCount,
} from '../../../src/strategies/iterate/records.ts'
import { scoreIn } from '../../../src/base/score.ts'
import { iterateSettings, madeRecord } from '../../helpers/iteration.ts'

const count = (given: number) => ({ condition: { kind: 'count', count: given } }) as const
const seconds = (given: number) => ({ condition: { kind: 'duration', seconds: given } }) as const

/** Why it ended and after how many iterations, if these records are added one after the other. */
function endWith(settings: Partial<IterateSettings>, records: readonly Partial<IterationRecord>[]): string {
  const rules = endRules(iterateSettings(settings))
  const done: IterationRecord[] = []
  for (const record of records) {
    const why = endOf(done, 'start', rules)
    if (why !== undefined) return `${why} after ${done.length}`
    done.push(madeRecord(done.length, record))
  }
  return `${endOf(done, 'start', rules) ?? 'goes on'} after ${done.length}`
}

const changed = (state: string, more: Partial<IterationRecord> = {}): Partial<IterationRecord> => ({
  state,
  changed_files: ['a'],
  ...more,
})
const unchanged = (state: string): Partial<IterationRecord> => ({ state, changed_files: [] })

describe('iterating ends', () => {
  it('without counting for a stall, or as failures in a row, what was done before it was allowed more', () => {
    const before = [{ done: 3, condition: '2h' }]
    const idle = [1, 2, 3, 4, 5, 6, 7].map(() => unchanged('start'))
    expect(endWith({ ...seconds(1000), before }, idle)).toBe('stalled after 6')
    const failing = idle.map(() => ({ success: false, error: 'refused' }))
    expect(endWith({ ...seconds(1000), before: [{ done: 2 }] }, failing)).toBe('failing after 7')
  })

  it('after a count, whether anything changes or not', () => {
    expect(endWith(count(3), [{}, {}, {}, {}, {}])).toBe('completed after 3')
    expect(endWith(count(1), [{}, {}])).toBe('completed after 1')
    expect(endWith(count(4), [changed('x'), changed('start'), changed('x'), changed('start')])).toBe(
      'completed after 4',
    )
  })

  it('between iterations when the time is up', () => {
    const long = Array.from({ length: 5 }, (_, index) => changed(`s${index}`, { elapsed_ms: 40_000 }))
    expect(endWith(seconds(100), long)).toBe('duration_elapsed after 3')
    expect(endWith(seconds(80), long)).toBe('duration_elapsed after 2')
    expect(endWith(seconds(10), long)).toBe('duration_elapsed after 1')
  })

  it('when the command exits with 0, before any other reason', () => {
    const met = [changed('a', { until_met: false }), changed('b', { until_met: true, score: 9 })]
    expect(endWith({ until: 'npm test' }, met)).toBe('until_met after 2')
    expect(endWith({ ...count(2), until: 'npm test', score_goal: 9 }, met)).toBe('until_met after 2')
    expect(endWith({ ...count(1), until: 'npm test' }, met)).toBe('completed after 1')
  })

  it('when the score has reached its target', () => {
    const scored = [3, 7, undefined, 10, 12].map((score, index) =>
      changed(`s${index}`, score === undefined ? {} : { score }),
    )
    expect(endWith({ score_goal: 10 }, scored)).toBe('score_reached after 4')
    expect(endWith({ score_goal: 11 }, scored)).toBe('score_reached after 5')
    expect(endWith({ score_goal: 7, score_best: 'lowest' }, scored)).toBe('score_reached after 1')
    expect(endWith({ score_goal: 2, score_best: 'lowest' }, scored)).toBe('goes on after 5')
  })

  it('after the given number of consecutive iterations without a change', () => {
    const quiet = [unchanged('start'), unchanged('start'), changed('a'), ...Array(4).fill(unchanged('a'))]
    expect(endWith(seconds(1000), quiet)).toBe('stalled after 6')
    expect(endWith({ ...seconds(1000), stall: 2 }, quiet)).toBe('stalled after 2')
    expect(endWith({ ...seconds(1000), stall: 0 }, quiet)).toBe('goes on after 7')
    expect(endWith({ ...count(100), stall: 4 }, quiet)).toBe('stalled after 7')
  })

  it('not after failures that changed nothing, because they do not count as unchanged', () => {
    const failed = { success: false, error: 'no network' }
    expect(endWith(seconds(1000), [failed, failed, failed, unchanged('start')])).toBe('goes on after 4')
    const between = [unchanged('a'), failed, unchanged('a'), failed, unchanged('a')]
    expect(endWith(seconds(1000), between)).toBe('stalled after 5')
    expect(endWith(seconds(1000), [changed('a'), { ...changed('start'), ...failed }])).toBe('goes on after 2')
  })

  it('after five consecutive failures, unless the number of iterations is given', () => {
    const failed = Array.from({ length: 7 }, () => ({ success: false, error: 'no network' }))
    expect(endWith(seconds(1000), failed)).toBe('failing after 5')
    expect(endWith({ ...seconds(1000), stall: 0 }, failed)).toBe('goes on after 7')
    expect(endWith(count(7), failed)).toBe('completed after 7')
  })

  it('like an older version for its records, in which failures have no reason', () => {
    expect(endWith(seconds(1000), Array(4).fill({ success: false }))).toBe('stalled after 3')
  })

  it('when the files have an earlier state again', () => {
    expect(endWith(seconds(1000), [changed('a'), changed('start')])).toBe('oscillating after 2')
    expect(endWith(seconds(1000), [changed('a'), changed('b'), changed('a'), changed('c')])).toBe('oscillating after 3')
    expect(endWith(seconds(1000), [changed('a'), unchanged('a'), changed('b')])).toBe('goes on after 3')
    expect(endWith({ ...seconds(1000), stall: 0 }, [changed('a'), changed('start')])).toBe('goes on after 2')
    // a refused commit leaves no state
    expect(endWith(seconds(1000), [{ changed_files: ['a'] }, { changed_files: ['a'] }])).toBe('goes on after 2')
  })

  it('at max_iterations in any case', () => {
    const many = Array.from({ length: 200 }, (_, index) => changed(`s${index}`))
    expect(endWith({ until: 'false' }, many)).toBe('max_iterations after 100')
    expect(endWith({ ...count(110), until: 'false' }, many)).toBe('completed after 110')
    expect(endWith({ ...count(8), max_iterations: 2 }, many)).toBe('max_iterations after 2')
    expect(endWith({ ...seconds(1e9), max_iterations: 5 }, many)).toBe('max_iterations after 5')
  })

  it('after a number that may be known beforehand', () => {
    const planned = (settings: Partial<IterateSettings>): number | undefined =>
      plannedCount(endRules(iterateSettings(settings)))
    expect([planned(count(5)), planned({ ...count(5), max_iterations: 2 })]).toEqual([5, 2])
    expect([planned(seconds(5)), planned({ until: 'x' })]).toEqual([undefined, undefined])
  })
})

describe('the best iteration', () => {
  const scored = (...scores: readonly (number | undefined)[]) =>
    scores.map((score, index) => madeRecord(index, score === undefined ? {} : { score }))
  const highest: Pick<EndRules, 'scoreBest'> = { scoreBest: 'highest' }
  const lowest: Pick<EndRules, 'scoreBest'> = { scoreBest: 'lowest' }

  it('has the best score, the last of equal ones, and may be the start', () => {
    expect(bestOf(scored(1, 5, 3), 2, highest)).toEqual({ iteration: 1, score: 5 })
    expect(bestOf(scored(1, 5, 3), 2, lowest)).toEqual({ iteration: 0, score: 1 })
    expect(bestOf(scored(5, 1, 5, 2), 5, highest)).toEqual({ iteration: 2, score: 5 })
    expect(bestOf(scored(1, 2), 3, highest)).toEqual({ iteration: -1, score: 3 })
    expect(bestOf(scored(undefined, 2, undefined), undefined, highest)).toEqual({ iteration: 1, score: 2 })
    expect(bestOf(scored(undefined), undefined, highest)).toBeUndefined()
  })
})

describe('a score', () => {
  it.each([
    ['12', 12],
    ['score: 3.5 of 10\n\n', 10],
    ['1\n2 and 3\nbye\n', 3],
    ['-0.25', -0.25],
    ['+4', 4],
    ['1.5e3 ms', 1500],
    ['.5', 0.5],
    ['87%', 87],
    ['none', undefined],
    ['', undefined],
  ])('is the last printed number: %j', (stdout, score) => {
    expect(scoreIn({ code: 0, stdout })).toBe(score)
  })

  it('is undefined when the command failed', () => {
    expect(scoreIn({ code: 1, stdout: '5' })).toBeUndefined()
    expect(scoreIn({ stdout: '5' })).toBeUndefined()
  })
})
