import { expect, it } from 'vitest'
import type { Row } from '../../../src/page/data/row.ts'
import { labelledTicks } from '../../../src/page/data/time-scale.ts'
import { barOf, labelOf, layoutWaterfall } from '../../../src/page/data/waterfall.ts'

const row = (n: number, start: number, end: number | undefined, kind = 'model'): Row => ({
  n,
  place: `task/${n}`,
  kind,
  text: '',
  state: end === undefined ? 'running' : 'done',
  start,
  ...(end === undefined ? {} : { end }),
})

it('has a bar for each piece of work, from start to end', () => {
  const { rows, scale } = layoutWaterfall([row(0, 0, 100, 'task'), row(1, 0, 50), row(2, 50, 100)], 'effects', 100)
  expect(rows.map(({ n }) => n)).toEqual([1, 2])
  expect(rows.map((one) => barOf(one, scale, 100))).toEqual([
    { left: 0, width: 50 },
    { left: 50, width: 50 },
  ])
})

it('extends unfinished work to now, and shortens a long break', () => {
  const night = 8 * 3_600_000
  const { rows, scale } = layoutWaterfall([row(0, 0, 1000), row(1, night, undefined)], 'effects', night + 1000)
  const [first, second] = rows.map((one) => barOf(one, scale, night + 1000))
  expect(scale.breaks).toHaveLength(1)
  expect(first?.width).toBeGreaterThan(45)
  expect((second?.left ?? 0) + (second?.width ?? 0)).toBeCloseTo(100)
})

it('an unanswered question does not extend the axis', () => {
  const { scale } = layoutWaterfall([row(0, 0, 100), row(1, 50, undefined, 'approval')], 'effects', 1_000_000)
  expect(scale.span).toEqual({ from: 0, to: 100 })
})

it('labels stay beside their bars and on the axis, apart from each other and from breaks', () => {
  expect(labelOf({ left: 0, width: 50 })).toEqual({ side: 'after', style: { left: '50%' } })
  expect(labelOf({ left: 60, width: 40 })).toEqual({ side: 'before', style: { right: '40%' } })
  expect(labelOf({ left: 0, width: 100 })).toEqual({ side: 'inside', style: { left: '0%' } })
  const ticks = [0, 5, 20, 47, 55, 99].map((at) => ({ at, ms: at }))
  const shown = labelledTicks({ ticks, breaks: [{ at: 50, width: 3, ms: 1 }] })
  expect(shown.map(({ at }) => at)).toEqual([0, 20, 55])
})
