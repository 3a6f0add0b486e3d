import { expect, it } from 'vitest'
import { compareBytes } from '../../src/base/byte-order.ts'

it('text is ordered by its UTF-8 bytes', () => {
  const words = ['b', '', 'a', 'ab', 'B', 'é', 'z', '\uFF5E', '😀', '\uE000', '😀a', '\u{10FFFF}', '\uD7FF']
  const byBytes = words.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  expect(words.toSorted(compareBytes)).toEqual(byBytes)
  expect(compareBytes('same', 'same')).toBe(0)
})
