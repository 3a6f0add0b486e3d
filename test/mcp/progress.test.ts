import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { McpProgress } from '../../src/event/mcp.ts'
import { createProgressThrottle } from '../../src/mcp/progress.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function teller() {
  const told: McpProgress[] = []
  return { told, dones: () => told.map(({ done }) => done), ...createProgressThrottle((one) => void told.push(one)) }
}

it('is reported at most four times a second, and always for the last message', () => {
  const { tell, end, dones } = teller()
  for (let done = 1; done <= 1000; done += 1) {
    tell({ done, total: 1000 })
    vi.advanceTimersByTime(1)
  }
  expect(dones()).toEqual([1, 250, 500, 750, 1000])
  tell({ done: 1001 })
  end()
  expect(dones().at(-1)).toBe(1001)
})

it('is reported at once if it is rare, and never repeated', () => {
  const { tell, end, dones } = teller()
  tell({ done: 1 })
  expect(dones()).toEqual([1])
  vi.advanceTimersByTime(300)
  tell({ done: 2 })
  expect(dones()).toEqual([1, 2])
  end()
  vi.advanceTimersByTime(1000)
  expect(dones()).toEqual([1, 2])
})

it('has messages as one short line without control characters, and only valid numbers', () => {
  const { told, tell, end } = teller()
  tell({ done: 1, total: Infinity, message: '\u001b[31mred\u001b[0m\r\n\u001b]0;title\u0007  \u202eback\u009b2J' })
  tell({ done: NaN })
  tell({ done: 2, message: 'x'.repeat(10_000) })
  end()
  expect(told[0]).toEqual({ done: 1, message: 'red ␛]0;title␇ \ufffdback\ufffd2J' })
  expect(told[1]?.message).toMatch(/^x{200}… \(\d+ more characters\)$/)
  expect(told).toHaveLength(2)
})
