import { expect, it } from 'vitest'
import { createInOrder } from '../../src/base/in-order.ts'

function delivered(held: boolean, act: (queue: ReturnType<typeof createInOrder<string>>) => void): string {
  const values: string[] = []
  act(createInOrder((value) => values.push(value), { held }))
  return values.join(' ')
}

it('hands over in the order of the index', () => {
  const order = delivered(false, (queue) => {
    for (const index of [2, 0, 3, 1]) queue.add(index, `v${index}`)
  })
  expect(order).toBe('v0 v1 v2 v3')
})

it('waits for what is missing', () => {
  expect(delivered(false, (queue) => queue.add(1, 'v1'))).toBe('')
})

it('holds everything until it is released, then hands over also behind a gap', () => {
  const steps: string[] = []
  const order = delivered(true, (queue) => {
    for (const index of [3, 0, 1]) queue.add(index, `v${index}`)
    steps.push('released')
    queue.release()
  })
  expect(order).toBe('v0 v1 v3')
  expect(delivered(true, (queue) => queue.add(0, 'v0'))).toBe('')
})
