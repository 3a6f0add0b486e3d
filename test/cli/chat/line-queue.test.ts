import { expect, it } from 'vitest'
import {
  emptyQueue,
  isEmpty,
  queueTexts,
  dequeue,
  dequeueLast,
  withHold,
  withSent,
} from '../../../src/cli/chat/line-queue.ts'

const two = withSent(withSent(emptyQueue, 'one'), 'two')

it('gives lines in order, then the end; blank lines do not wait', () => {
  let queue = { ...withSent(two, '  '), ends: true }
  const given: string[] = []
  for (let step = dequeue(queue); step !== undefined; step = dequeue(queue)) {
    queue = step.queue
    given.push(step.next.kind === 'line' ? step.next.text : step.next.kind)
  }
  expect(given).toEqual(['one', 'two', 'end'])
  expect(isEmpty(queue)).toBe(true)
})

it('gives nothing while it is held, and what is sent then comes first', () => {
  expect(dequeue(withHold(two))).toBeUndefined()
  expect(withSent(withHold(two), 'now').lines).toEqual(['now', 'one', 'two'])
  expect(withSent(withHold(two), '')).toEqual(two)
  expect(withHold(emptyQueue)).toEqual(emptyQueue)
})

it('gives back what was added last, first of all the end of the chat', () => {
  const ending = { ...two, ends: true }
  expect(dequeueLast(ending)).toEqual({ queue: two, line: undefined })
  expect(dequeueLast(two)).toEqual({ queue: withSent(emptyQueue, 'one'), line: 'two' })
  expect(dequeueLast(withHold(withSent(emptyQueue, 'one')))).toEqual({ queue: emptyQueue, line: 'one' })
})

it('is shown with its count and its last lines', () => {
  const many = ['1', '2', '3', '4', '5', '6', '7'].reduce(withSent, emptyQueue)
  expect(queueTexts(many, (line) => `<${line}>`)).toEqual([
    'queued: 7 · Up takes the last one back',
    '  … 2 before these',
    '  <3>',
    '  <4>',
    '  <5>',
    '  <6>',
    '  <7>',
  ])
  expect(queueTexts({ ...withHold(withSent(emptyQueue, 'one')), ends: true }, String)).toEqual([
    'queued: 1 · Enter sends it, Up takes the last one back',
    '  one',
    '  then the chat ends',
  ])
  expect(queueTexts({ ...emptyQueue, ends: true }, String)).toEqual(['the chat ends after this; Up takes that back'])
})
