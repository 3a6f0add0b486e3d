import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import {
  createInOrder,
  createPool,
  finishInTurns,
  finishSteps,
  mapLimit,
  type Steps,
  withEitherSignal,
} from '../../src/base/concurrency.ts'

const signal = new AbortController().signal

function later<T>(value: T, ms = 1): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(value), ms))
}

describe('mapLimit', () => {
  it('returns results in input order', async () => {
    expect(await mapLimit([30, 1, 10], { limit: 3, signal }, (ms) => later(ms, ms))).toEqual([30, 1, 10])
  })

  it('runs at most limit items at once', async () => {
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

  it('pulls items only when there is a free slot', async () => {
    let pulled = 0
    function* items(): Generator<number> {
      for (; pulled < 5;) yield pulled++
    }
    await mapLimit(items(), { limit: 1, signal }, async (item) => expect(pulled).toBe(item + 1))
    expect(pulled).toBe(5)
  })
})

describe('underBoth', () => {
  const sleepUntil = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

  it.each([0, 1])('stops the work with either signal, with its reason', async (which) => {
    const stops = [new AbortController(), new AbortController()] as const
    const work = withEitherSignal(stops[0].signal, stops[1].signal, sleepUntil)
    stops[which]?.abort(new Error(`stop ${which}`))
    await expect(work).rejects.toThrow(`stop ${which}`)
  })

  it('starts the work with an aborted signal when one is already aborted', async () => {
    const [live, stopped] = [new AbortController().signal, AbortSignal.abort(new Error('before'))]
    expect(await withEitherSignal(live, stopped, async (signal) => signal.reason as Error)).toEqual(new Error('before'))
  })

  it('leaves no listeners at the signals when the work has ended', async () => {
    const [one, other] = [new AbortController().signal, new AbortController().signal]
    await withEitherSignal(one, other, async () => 'done')
    expect([...getEventListeners(one, 'abort'), ...getEventListeners(other, 'abort')]).toEqual([])
  })
})

describe('createPool', () => {
  it('serves callers in order', async () => {
    const pool = createPool(1)
    const order: number[] = []
    await Promise.all([1, 2, 3].map((n) => pool.run(async () => later(order.push(n)), signal)))
    expect(order).toEqual([1, 2, 3])
  })

  it('lets a waiting caller be aborted without using a slot', async () => {
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

  it('frees the slot after a failure', async () => {
    const pool = createPool(1)
    await expect(pool.run(() => Promise.reject(new Error('x')), signal)).rejects.toThrow('x')
    expect(await pool.run(async () => 1, signal)).toBe(1)
  })
})

function delivered(held: boolean, act: (queue: ReturnType<typeof createInOrder<string>>) => void): string {
  const values: string[] = []
  act(createInOrder((value) => values.push(value), { held }))
  return values.join(' ')
}

describe('createInOrder', () => {
  it('delivers in the order of the index', () => {
    const order = delivered(false, (queue) => {
      for (const index of [2, 0, 3, 1]) queue.add(index, `v${index}`)
    })
    expect(order).toBe('v0 v1 v2 v3')
  })

  it('waits for missing items', () => {
    expect(delivered(false, (queue) => queue.add(1, 'v1'))).toBe('')
  })

  it('holds everything until it is released, then delivers even after a gap', () => {
    const steps: string[] = []
    const order = delivered(true, (queue) => {
      for (const index of [3, 0, 1]) queue.add(index, `v${index}`)
      steps.push('released')
      queue.release()
    })
    expect(order).toBe('v0 v1 v3')
    expect(delivered(true, (queue) => queue.add(0, 'v0'))).toBe('')
  })
})

function* count(most: number, onStep: (step: number) => void = () => {}): Steps<number> {
  for (let step = 1; step <= most; step += 1) {
    onStep(step)
    yield
  }
  return most
}

describe('steps', () => {
  it('are completed at once by finishSteps', () => {
    expect(finishSteps(count(50_000))).toBe(50_000)
  })

  it('return the result of short work without waiting, and that of long work later', async () => {
    expect(finishInTurns(count(9_999), signal)).toBe(9_999)
    const later = finishInTurns(count(50_000), signal)
    expect(later).toBeInstanceOf(Promise)
    expect(await later).toBe(50_000)
  })

  it('let other work continue meanwhile, and stop with the reason of the signal', async () => {
    const stop = new AbortController()
    const stopped = finishInTurns(count(Infinity), stop.signal)
    setTimeout(() => stop.abort(new Error('enough')), 5)
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError', cause: new Error('enough') })
  })

  it('fail with the error of a step, at once or later', async () => {
    const failing = (at: number) =>
      count(Infinity, (step) => {
        if (step === at) throw new Error(`failed at ${at}`)
      })
    expect(() => finishInTurns(failing(3), signal)).toThrow('failed at 3')
    await expect(finishInTurns(failing(20_000), signal)).rejects.toThrow('failed at 20000')
  })
})
