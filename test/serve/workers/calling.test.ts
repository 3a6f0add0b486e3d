import { describe, expect, it } from 'vitest'
import { createSharedCalling } from '../../../src/serve/workers/calling.ts'
import type { FromWorker } from '../../../src/serve/workers/messages.ts'

// Calls of models in a process of a server, which asks the server for slots.

function world() {
  const sent: FromWorker[] = []
  return { sent, calling: createSharedCalling((message) => sent.push(message)) }
}

const { signal } = new AbortController()

describe('a slot of the server', () => {
  it('is waited for, and given back when the work is over', async () => {
    const { sent, calling } = world()
    let hasBegun = false
    const done = calling.slots.run(async () => {
      hasBegun = true
      return 'answer'
    }, signal)
    await Promise.resolve()
    expect([hasBegun, sent]).toEqual([false, [{ kind: 'wanted', ticket: 1 }]])
    calling.granted(1)
    expect(await done).toBe('answer')
    expect(sent.at(-1)).toEqual({ kind: 'returned', ticket: 1 })
  })

  it('is given back by work that fails, and by a call that was stopped while it waited', async () => {
    const { sent, calling } = world()
    const failed = calling.slots.run(() => Promise.reject(new Error('no')), signal)
    calling.granted(1)
    await expect(failed).rejects.toThrow('no')
    const stop = new AbortController()
    const stopped = calling.slots.run(async () => 'never', stop.signal)
    stop.abort(new Error('stopped'))
    await expect(stopped).rejects.toThrow('stopped')
    expect(sent.filter(({ kind }) => kind === 'returned')).toEqual([
      { kind: 'returned', ticket: 1 },
      { kind: 'returned', ticket: 2 },
    ])
  })
})

it('a model that failed here is told to the server, and one that failed elsewhere rests here', () => {
  const { sent, calling } = world()
  calling.coolDown.rest('here')
  expect(sent).toEqual([{ kind: 'failing', model: 'here', ms: 300_000 }])
  calling.resting({ model: 'elsewhere', ms: 60_000 })
  const resting = ['here', 'elsewhere', 'nowhere'].filter((model) => calling.coolDown.isResting(model))
  expect([resting, sent.length]).toEqual([['here', 'elsewhere'], 1])
})
