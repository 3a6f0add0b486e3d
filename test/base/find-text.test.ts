import { describe, expect, it } from 'vitest'
import { firstIndexOf, lastIndexOf } from '../../src/base/find-text.ts'

/** Texts of two letters, which contain parts of the search text everywhere. */
function* texts(): Generator<readonly [string, string]> {
  let seed = 1
  const letters = (length: number): string =>
    Array.from({ length }, () => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % 7 === 0 ? 'b' : 'a'
    }).join('')
  for (let count = 0; count < 200; count += 1) {
    const text = letters(600)
    const start = (count * 37) % 500
    const wanted = text.slice(start, start + 60 + (count % 40))
    yield [text, wanted]
    yield [text, `${wanted}c`]
    yield [text + wanted, wanted]
  }
}

describe('a text in a text', () => {
  it('is found where the engine finds it', () => {
    for (const [text, wanted] of texts()) {
      expect(firstIndexOf(text, wanted)).toBe(text.indexOf(wanted))
      expect(lastIndexOf(text, wanted)).toBe(text.lastIndexOf(wanted))
    }
    for (const wanted of ['', 'a', 'a'.repeat(10)]) {
      expect(firstIndexOf('', wanted)).toBe(''.indexOf(wanted))
      expect(lastIndexOf('aaa', wanted)).toBe('aaa'.lastIndexOf(wanted))
    }
  })

  it('of a million letters is searched in linear time', () => {
    const text = 'a'.repeat(1_000_000)
    const half = 'a'.repeat(500_000)
    expect(lastIndexOf(text, `b${half}`)).toBe(-1)
    expect(firstIndexOf(text, `${half}b`)).toBe(-1)
    expect(firstIndexOf(text, `b${half}`)).toBe(-1)
    expect(lastIndexOf(text, `${half}b`)).toBe(-1)
  })
})
