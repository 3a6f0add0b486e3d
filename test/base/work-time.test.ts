import { describe, expect, it } from 'vitest'
import { createWorkTime } from '../../src/base/work-time.ts'

/** A machine whose times are moved by hand. */
function machine() {
  const at = { monotonic: 5_000, wall: 1_700_000_000_000, busy: 40 }
  const gaps: number[] = []
  const source = { monotonic: () => at.monotonic, wall: () => at.wall, busy: () => at.busy }
  const time = createWorkTime(source, (ms) => gaps.push(ms))
  const passes = (ms: { monotonic?: number; wall?: number; busy?: number }): number => {
    at.monotonic += ms.monotonic ?? 0
    at.wall += ms.wall ?? ms.monotonic ?? 0
    at.busy += ms.busy ?? 0
    return time.elapsedMs()
  }
  return { passes, gaps }
}

const hours = 3_600_000

describe('work time', () => {
  it('adds ticks of at most one second', () => {
    const { passes, gaps } = machine()
    expect([passes({ monotonic: 400 }), passes({ monotonic: 1_000 }), passes({ monotonic: 0 })]).toEqual([
      400, 1_400, 1_400,
    ])
    expect(gaps).toEqual([])
  })

  it('counts one tick while the process or the machine is stopped, and reports the gap', () => {
    const { passes, gaps } = machine()
    passes({ monotonic: 500 })
    expect(passes({ monotonic: 25_000 })).toBe(1_500)
    expect(gaps).toEqual([24_000])
  })

  it('counts only one tick for a sleep in which the monotonic time stands still', () => {
    const { passes, gaps } = machine()
    expect(passes({ monotonic: 300, wall: 2 * hours })).toBe(300)
    expect(gaps).toEqual([2 * hours - 300])
  })

  it.each([2 * hours, -2 * hours])('ignores a clock that is set by %d ms, but reports it', (set) => {
    const { passes, gaps } = machine()
    expect(passes({ monotonic: 500, wall: 500 + set })).toBe(500)
    expect(passes({ monotonic: 500 })).toBe(1_000)
    expect(gaps).toEqual([set])
  })

  it('counts a long turn of the process itself', () => {
    const { passes, gaps } = machine()
    expect(passes({ monotonic: 8_000, busy: 7_900 })).toBe(7_900)
    expect(passes({ monotonic: 8_000, busy: 20_000 })).toBe(15_900)
    expect(gaps).toEqual([])
  })

  it('reports nothing for a clock that a time server slows down', () => {
    const { passes, gaps } = machine()
    for (let tick = 0; tick < 100; tick += 1) passes({ monotonic: 500, wall: 480 })
    expect(gaps).toEqual([])
  })
})
