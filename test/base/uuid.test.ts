import { describe, expect, it } from 'vitest'
import { newUuid, uuidText, uuidTime } from '../../src/base/uuid.ts'

describe('uuidTime', () => {
  // the test vectors of RFC 9562, appendix A: 2022-02-22 19:22:22 UTC
  it.each([
    ['version 1', 'C232AB00-9414-11EC-B3C8-9F6BDECED846', 1645557742000],
    ['version 6', '1EC9414C-232A-6B00-B3C8-9F6BDECED846', 1645557742000],
    ['version 7', '017F22E2-79B0-7CC3-98C4-DC0C0C07398F', 1645557742000],
    ['version 4', '919108f7-52d1-4320-9bac-f847db4148a8', undefined],
    ['version 3', '5df41881-3aed-3515-88a7-2f4a814cf09e', undefined],
    ['version 8', '2489E9AD-2EE2-8E00-8EC9-32D5F69181C0', undefined],
    ['another variant', '017f22e2-79b0-7cc3-d8c4-dc0c0c07398f', undefined],
    ['the nil UUID', '00000000-0000-0000-0000-000000000000', undefined],
    ['no hyphens', '017f22e279b07cc398c4dc0c0c07398f', 1645557742000],
    ['braces', '{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}', 1645557742000],
    ['a URN', 'urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f', 1645557742000],
    ['blanks around it', ' 017f22e2-79b0-7cc3-98c4-dc0c0c07398f', undefined],
    ['no UUID', 'not-a-uuid', undefined],
    ['nothing', '', undefined],
  ])('parses %s', (_, text, expected) => {
    expect(uuidTime(text)).toBe(expected)
  })

  it('rounds times before 1970 down, and returns the first and the last', () => {
    expect(uuidTime('00000000-0000-1000-8000-000000000000')).toBe(Date.UTC(1582, 9, 15))
    expect(uuidTime('13813fff-1dd2-11b2-8000-000000000000')).toBe(-1)
    expect(uuidTime('ffffffff-ffff-7fff-bfff-ffffffffffff')).toBe(2 ** 48 - 1)
  })
})

describe('newUuid', () => {
  it('has version and variant', () => {
    expect(uuidText(newUuid(4))).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    expect(uuidText(newUuid(7))).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  })

  it('never returns the same twice, and version 7 in order', () => {
    const made = Array.from({ length: 5_000 }, () => uuidText(newUuid(7)))
    expect(made.toSorted()).toEqual(made)
    expect(new Set([...made, ...made.map(() => uuidText(newUuid(4)))]).size).toBe(10_000)
  })
})
