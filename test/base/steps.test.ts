import { describe, expect, it } from 'vitest'
import { finishInTurns, finishSteps, type Steps } from '../../src/base/steps.ts'

function* count(most: number, onStep: (step: number) => void = () => {}): Steps<number> {
  for (let step = 1; step <= most; step += 1) {
    onStep(step)
    yield
  }
  return most
}

const { signal } = new AbortController()

describe('steps', () => {
  it('are done at once where nobody waits', () => {
    expect(finishSteps(count(50_000))).toBe(50_000)
  })

  it('give the result of short work without waiting, and that of long work later', async () => {
    expect(finishInTurns(count(9_999), signal)).toBe(9_999)
    const later = finishInTurns(count(50_000), signal)
    expect(later).toBeInstanceOf(Promise)
    expect(await later).toBe(50_000)
  })

  it('let others go on meanwhile, and stop with the reason of the signal', async () => {
    const stop = new AbortController()
    const stopped = finishInTurns(count(Infinity), stop.signal)
    setTimeout(() => stop.abort(new Error('enough')), 5)
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError', cause: new Error('enough') })
  })

  it('fail as they fail, at once or later', async () => {
    const failing = (at: number) =>
      count(Infinity, (step) => {
        if (step === at) throw new Error(`failed at ${at}`)
      })
    expect(() => finishInTurns(failing(3), signal)).toThrow('failed at 3')
    await expect(finishInTurns(failing(20_000), signal)).rejects.toThrow('failed at 20000')
  })
})
