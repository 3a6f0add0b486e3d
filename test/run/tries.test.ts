import { expect, it } from 'vitest'
import { BatonError, type ErrorCode } from '../../src/base/error.ts'
import { withServices } from '../../src/event/context.ts'
import { placeText } from '../../src/event/place.ts'
import { unusableAnswer } from '../../src/run/answer.ts'
import { inTries, type Tries } from '../../src/run/tries.ts'
import { testContext } from '../helpers/context.ts'

/** Does work that fails in these ways, then succeeds; returns how it ended, where it was tried, and the waits. */
async function tried(failures: readonly unknown[], options: Partial<Tries<string>> = {}) {
  const waits: number[] = []
  const around = testContext()
  const clock = { ...around.services.clock, sleep: async (ms: number) => void waits.push(ms) }
  const places: string[] = []
  const remarks: (string | undefined)[] = []
  const ended = await inTries(
    { retries: 3, name: 'it', isEmpty: (text) => text === '', ...options },
    withServices(around, { clock }),
    async (at, remark) => {
      remarks.push(remark)
      const failure = failures[places.push(placeText(at.scope.at)) - 1]
      if (failure !== undefined && typeof failure !== 'string') throw failure
      return failure ?? 'done'
    },
  ).catch((error: unknown) => error)
  return { ended, places, remarks, waits }
}

const failed = (code: ErrorCode): BatonError => new BatonError(code, 'no luck')

it('waits longer after each error, and not after an empty or an unfit answer', async () => {
  const errors = await tried([failed('MODEL_FAILED'), failed('SCRIPT_FAILED'), failed('LIMIT')])
  expect(errors).toMatchObject({ ended: 'done', waits: [1000, 2000, 4000] })
  expect(errors.places.map((place) => place.replace(/^.*?(?=retry|$)/, ''))).toEqual([
    '',
    'retry/0',
    'retry/1',
    'retry/2',
  ])
  const unfit = await tried(['', unusableAnswer(failed('MODEL_FAILED'))])
  expect(unfit).toMatchObject({ ended: 'done', waits: [] })
  expect(unfit.remarks).toEqual([undefined, undefined, expect.stringContaining('could not be used: no luck')])
})

it.each(['KEY_MISSING', 'CONFIG_INVALID', 'UNTRUSTED', 'BUDGET', 'SUSPENDED', 'DIVERGED'] as const)(
  'does not try again after %s, which does not pass by itself',
  async (code) => {
    const { ended, places } = await tried([failed(code)])
    expect(ended).toMatchObject({ code })
    expect(places).toHaveLength(1)
  },
)

it('gives up after the last try, with its error', async () => {
  const all = [failed('MODEL_FAILED'), failed('SCRIPT_FAILED')]
  expect(await tried(all, { retries: 1 })).toMatchObject({ ended: { code: 'SCRIPT_FAILED' }, waits: [1000] })
  expect(await tried(['', ''], { retries: 1 })).toMatchObject({ ended: '' })
})
