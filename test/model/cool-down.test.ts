import { describe, expect, it } from 'vitest'
import { candidates, createCoolDown } from '../../src/model/cool-down.ts'
import { fakeClock } from '../helpers/fake-clock.ts'

const signal = new AbortController().signal

describe('a model that failed', () => {
  it('cools down for five minutes', async () => {
    const clock = fakeClock({ now: 1_000 })
    const coolDown = createCoolDown({ clock })
    coolDown.rest('a')
    expect([coolDown.isResting('a'), coolDown.isResting('b')]).toEqual([true, false])
    await clock.sleep(299_999, signal)
    expect(coolDown.isResting('a')).toBe(true)
    await clock.sleep(1, signal)
    expect(coolDown.isResting('a')).toBe(false)
  })

  it('cools down for the whole time again when it fails meanwhile', async () => {
    const clock = fakeClock()
    const coolDown = createCoolDown({ clock, ms: 100 })
    coolDown.rest('a')
    await clock.sleep(60, signal)
    coolDown.rest('a')
    await clock.sleep(60, signal)
    expect(coolDown.isResting('a')).toBe(true)
  })
})

describe('the order in which models are tried', () => {
  it('is the configured one when none cools down', () => {
    expect(candidates(['b', 'a', 'c'], createCoolDown({ clock: fakeClock() }))).toEqual(['b', 'a', 'c'])
  })

  it('has those that cool down at its end, in the configured order', () => {
    const coolDown = createCoolDown({ clock: fakeClock() })
    coolDown.rest('c')
    coolDown.rest('a')
    expect(candidates(['a', 'b', 'c', 'd'], coolDown)).toEqual(['b', 'd', 'a', 'c'])
  })

  it('contains all of them when all cool down', () => {
    const coolDown = createCoolDown({ clock: fakeClock() })
    for (const model of ['a', 'b']) coolDown.rest(model)
    expect(candidates(['a', 'b'], coolDown)).toEqual(['a', 'b'])
  })

  it('contains a model that is named twice once', () => {
    expect(candidates(['a', 'b', 'a'], createCoolDown({ clock: fakeClock() }))).toEqual(['a', 'b'])
  })
})
