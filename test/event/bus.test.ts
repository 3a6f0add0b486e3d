import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { createBus, withoutPieces } from '../../src/event/bus.ts'
import { callPlace, item, placeText } from '../../src/event/place.ts'
import { errorInfo } from '../../src/event/error-info.ts'
import type { RunEvent } from '../../src/event/event.ts'
import { exitCodeOf } from '../../src/event/exit-code.ts'
import { placeAt } from '../helpers/effects.ts'

describe('the bus', () => {
  it('numbers events and names the run and the place', () => {
    const bus = createBus({ runId: 'r1', now: () => new Date(0) })
    const seen: RunEvent[] = []
    bus.subscribe((event) => seen.push(event))
    bus.send([], { type: 'warning', message: 'a' })
    bus.send(placeAt('task/1/pre_task/0:dir%2Flint'), { type: 'warning', message: 'b' })
    expect(seen).toEqual([
      { type: 'warning', message: 'a', seq: 0, ts: '1970-01-01T00:00:00.000Z', run_id: 'r1', agent: '' },
      {
        type: 'warning',
        message: 'b',
        seq: 1,
        ts: '1970-01-01T00:00:00.000Z',
        run_id: 'r1',
        agent: 'task/1/pre_task/0:dir%2Flint',
      },
    ])
  })

  it('writes the time and the place of each event, however often they repeat', () => {
    const times = [0, 0, 1, 0]
    const bus = createBus({ runId: 'r1', now: () => new Date(times.shift() ?? 2) })
    const seen: string[] = []
    bus.subscribe(({ agent, ts }) => seen.push(`${agent} ${ts.slice(-5)}`))
    const place = placeAt('task/1')
    for (const at of [place, place, placeAt('task/2'), place]) bus.send(at, { type: 'warning', message: 'a' })
    expect(seen).toEqual(['task/1 .000Z', 'task/1 .000Z', 'task/2 .001Z', 'task/1 .000Z'])
  })

  it('drops only the listener that throws', () => {
    const bus = createBus({ runId: 'r1', now: () => new Date(0) })
    let bad = 0
    let good = 0
    bus.subscribe(() => {
      bad += 1
      throw new Error('bad')
    })
    const stop = bus.subscribe(() => (good += 1))
    bus.send([], { type: 'warning', message: 'a' })
    bus.send([], { type: 'warning', message: 'b' })
    stop()
    bus.send([], { type: 'warning', message: 'c' })
    expect({ bad, good }).toEqual({ bad: 1, good: 2 })
  })
})

describe('pieces of answers', () => {
  const piece = { type: 'item.delta', item_id: 'a', text: 'x' } as const

  it('are passed to those that accept them, and not counted if nobody does', () => {
    const bus = createBus({ runId: 'r1', now: () => new Date(0) })
    const others: string[] = []
    bus.subscribe(withoutPieces(({ seq, type }) => others.push(`${seq} ${type}`)))
    bus.send([], piece)
    bus.send([], { type: 'warning', message: 'a' })
    const all: string[] = []
    const stop = bus.subscribe(({ seq, type }) => all.push(`${seq} ${type}`))
    bus.send([], piece)
    stop()
    bus.send([], piece)
    bus.send([], { type: 'warning', message: 'b' })
    expect({ all, others }).toEqual({ all: ['1 item.delta'], others: ['0 warning', '2 warning'] })
  })
})

describe('places', () => {
  it('are paths of names', () => {
    const section = placeAt('redo/1/task/5/pre_task/0:lint/data')
    expect(placeText(callPlace(section, 3))).toBe('redo/1/task/5/pre_task/0:lint/data#3')
  })

  it('stay distinct if names contain a slash or percent sign', () => {
    expect(placeText([item('a/b'), item('50%2F')])).toBe('a%2Fb/50%252F')
  })
})

describe('exit codes', () => {
  it.each([
    ['CONFIG_INVALID', 2],
    ['AGENT_FAILED', 1],
    ['KEY_REFUSED', 3],
    ['LIMIT', 4],
    ['UNTRUSTED', 6],
  ] as const)('%s is %d', (code, exit) => {
    expect(exitCodeOf(new BatonError(code, 'x'))).toBe(exit)
  })

  it('comes from the cause if an agent failed for a permanent reason', () => {
    const cause = new BatonError('SCRIPT_FAILED', 'x', { cause: new BatonError('AGENT_CYCLE', 'x') })
    expect(exitCodeOf(new BatonError('AGENT_FAILED', 'x', { cause }))).toBe(2)
    expect(exitCodeOf(new BatonError('AGENT_FAILED', 'x', { cause: new BatonError('OUTSIDE_WORKSPACE', 'x') }))).toBe(1)
  })

  it('is 1 for any error that is not a BatonError', () => {
    expect(exitCodeOf(new TypeError('x'))).toBe(1)
  })
})

it('an error event contains what happened, where, and what to do, without a stack', () => {
  const error = new BatonError('CONFIG_INVALID', 'wrong', {
    hint: 'do',
    place: { file: 'a.md', line: 2, column: 3, text: 'all of it' },
  })
  expect(errorInfo(error)).toEqual({
    code: 'CONFIG_INVALID',
    message: 'wrong',
    hint: 'do',
    file: 'a.md',
    line: 2,
    column: 3,
  })
  expect(errorInfo(new TypeError('oops'))).toEqual({ code: 'INTERNAL', message: 'oops' })
})
