import { describe, expect, it } from 'vitest'
import { createBroker } from '../../../src/serve/workers/broker.ts'
import type { ToWorker } from '../../../src/serve/workers/messages.ts'

// What the processes of a server share for calls of models.

function memberOf(broker: ReturnType<typeof createBroker>) {
  const told: ToWorker[] = []
  return { ...broker.join((message) => told.push(message)), told }
}

const granted = (ticket: number): ToWorker => ({ kind: 'granted', ticket })

describe('slots of model requests', () => {
  it('are granted in the order of the requests, over all processes', () => {
    const broker = createBroker(1)
    const [one, other] = [memberOf(broker), memberOf(broker)]
    one.take({ kind: 'wanted', ticket: 1 })
    other.take({ kind: 'wanted', ticket: 1 })
    one.take({ kind: 'wanted', ticket: 2 })
    expect([one.told, other.told]).toEqual([[granted(1)], []])
    one.take({ kind: 'returned', ticket: 1 })
    expect(other.told).toEqual([granted(1)])
    other.take({ kind: 'returned', ticket: 1 })
    expect(one.told).toEqual([granted(1), granted(2)])
  })

  it('of a request that was given up while it waited go to the next one', () => {
    const broker = createBroker(1)
    const [one, other] = [memberOf(broker), memberOf(broker)]
    one.take({ kind: 'wanted', ticket: 1 })
    one.take({ kind: 'wanted', ticket: 2 })
    other.take({ kind: 'wanted', ticket: 7 })
    one.take({ kind: 'returned', ticket: 2 })
    one.take({ kind: 'returned', ticket: 1 })
    expect([one.told, other.told]).toEqual([[granted(1)], [granted(7)]])
  })

  it('are freed when the process that holds them has ended', () => {
    const broker = createBroker(2)
    const [one, other] = [memberOf(broker), memberOf(broker)]
    for (const ticket of [1, 2, 3]) one.take({ kind: 'wanted', ticket })
    other.take({ kind: 'wanted', ticket: 1 })
    one.leave()
    expect([one.told, other.told]).toEqual([[granted(1), granted(2)], [granted(1)]])
    const third = memberOf(broker)
    third.take({ kind: 'wanted', ticket: 1 })
    third.take({ kind: 'wanted', ticket: 2 })
    expect(third.told).toEqual([granted(1)])
  })
})

it('a model that failed rests in the other processes, and in those that start later', () => {
  const broker = createBroker()
  const [one, other] = [memberOf(broker), memberOf(broker)]
  expect(one.take({ kind: 'failing', model: 'm', ms: 60_000 })).toBe(true)
  expect([one.told, other.told]).toEqual([[], [{ kind: 'resting', model: 'm', ms: 60_000 }]])
  expect(broker.resting()).toEqual([{ model: 'm', ms: expect.any(Number) }])
  expect(one.take({ kind: 'ended' })).toBe(false)
})
