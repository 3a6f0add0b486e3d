import { describe, expect, it } from 'vitest'
import { createPool, mapLimit } from '../../src/base/limit.ts'

const signal = new AbortController().signal

function later<T>(value: T, ms = 1): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(value), ms))
}

describe('mapLimit', () => {
  it('gives results in input order', async () => {
    expect(await mapLimit([30, 1, 10], { limit: 3, signal }, (ms) => later(ms, ms))).toEqual([30, 1, 10])
  })

  it('keeps at most limit under way', async () => {
    let open = 0
    let most = 0
    await mapLimit(Array.from({ length: 20 }), { limit: 4, signal }, async () => {
      open += 1
      most = Math.max(most, open)
      await later(0)
      open -= 1
    })
    expect(most).toBe(4)
  })

  it('aborts the others at the first failure, starts no more, and rejects with it once all have ended', async () => {
    const started: number[] = []
    const ended: number[] = []
    const run = mapLimit([0, 1, 2, 3], { limit: 2, signal }, async (item, _, inner) => {
      started.push(item)
      if (item === 0) throw new Error('first')
      await new Promise<void>((resolve) => inner.addEventListener('abort', () => resolve()))
      ended.push(item)
    })
    await expect(run).rejects.toThrow('first')
    expect({ started, ended }).toEqual({ started: [0, 1], ended: [1] })
  })

  it('rejects with the reason of an aborted signal', async () => {
    const stop = new AbortController()
    const run = mapLimit([1, 2, 3], { limit: 1, signal: stop.signal }, async () => stop.abort(new Error('stop')))
    await expect(run).rejects.toThrow('stop')
  })

  it('pulls items only when there is room', async () => {
    let pulled = 0
    function* items(): Generator<number> {
      for (; pulled < 5;) yield pulled++
    }
    await mapLimit(items(), { limit: 1, signal }, async (item) => expect(pulled).toBe(item + 1))
    expect(pulled).toBe(5)
  })
})

describe('createPool', () => {
  it('serves first come first', async () => {
    const pool = createPool(1)
    const order: number[] = []
    await Promise.all([1, 2, 3].map((n) => pool.run(async () => later(order.push(n)), signal)))
    expect(order).toEqual([1, 2, 3])
  })

  it('lets a waiter leave without taking a place', async () => {
    const pool = createPool(1)
    const stop = new AbortController()
    let release = (): void => {}
    const first = pool.run(() => new Promise<void>((resolve) => (release = resolve)), signal)
    const second = pool.run(async () => 'never', stop.signal)
    stop.abort(new Error('gone'))
    await expect(second).rejects.toThrow('gone')
    release()
    await first
    expect(await pool.run(async () => 'free', signal)).toBe('free')
  })

  it('gives the place back after a failure', async () => {
    const pool = createPool(1)
    await expect(pool.run(() => Promise.reject(new Error('x')), signal)).rejects.toThrow('x')
    expect(await pool.run(async () => 1, signal)).toBe(1)
  })
})
