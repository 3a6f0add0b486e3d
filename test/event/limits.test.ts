import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { legacyInputs, isRoundLimit, roundLimit, withoutLimits } from '../../src/event/limits.ts'
import { boundaryKey } from '../../src/journal/matching.ts'
import { noMask } from '../../src/journal/secrets.ts'

describe('the inputs of a part', () => {
  const settings = { model: 'm', max_turns: 5, max_rounds: 9, budget: { calls: 3 } }

  it('do not contain limits, so that a higher limit does not repeat the part', () => {
    expect(boundaryKey({ settings: withoutLimits(settings) }, noMask)).toEqual(
      boundaryKey({ settings: withoutLimits({ ...settings, max_turns: 6, max_rounds: 90 }) }, noMask),
    )
    expect(JSON.stringify(withoutLimits(settings))).toBe('{"model":"m"}')
  })

  it('match records of an older version, in which some limits were inputs', () => {
    const { workflow: _, ...others } = { workflow: 1, ...withoutLimits(settings) }
    const inputs = { definition: { settings: Object.freeze(others) }, list: [withoutLimits({ max_turns: 1 })], n: 1 }
    expect(legacyInputs(inputs)).toEqual({
      definition: { settings: { model: 'm', max_turns: 5, max_rounds: 9 } },
      list: [{ max_turns: 1 }],
      n: 1,
    })
  })
})

it('a limit of rounds is recognized by its cause, also inside another error', () => {
  const inner = new BatonError('LIMIT', 'too many', { cause: roundLimit })
  expect(isRoundLimit(new BatonError('AGENT_FAILED', 'failed', { cause: inner }))).toBe(true)
  expect(isRoundLimit(new BatonError('LIMIT', 'too expensive'))).toBe(false)
})
