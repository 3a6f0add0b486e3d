import { expect, it } from 'vitest'
import { compareBytes } from '../../src/base/byte-order.ts'

it('orders text as its UTF-8 bytes are ordered', () => {
  const words = ['b', '', 'a', 'ab', 'B', 'é', 'z', '\uFF5E', '😀', '\uE000', '😀a', '\u{10FFFF}', '\uD7FF']
  const byBytes = words.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  expect(words.toSorted(compareBytes)).toEqual(byBytes)
  expect(compareBytes('same', 'same')).toBe(0)
})
