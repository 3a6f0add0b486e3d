import { describe, expect, it } from 'vitest'
import { decodeValue, encodeValue } from '../../src/journal/value.ts'

const same = (text: string): string => text

describe('encodeValue', () => {
  function encodes(value: unknown, expected: unknown): () => void {
    return () => {
      const encoded = encodeValue(value, same)
      expect(encoded).toEqual(expected)
      expect(decodeValue(JSON.parse(JSON.stringify(encoded)) as never, same)).toEqual(value)
    }
  }

  it('leaves JSON unchanged', encodes({ a: [1, 'x', null, true, 1.5e300] }, { a: [1, 'x', null, true, 1.5e300] }))
  it('tags integers beyond a double', encodes([-(2n ** 64n)], [{ $big: '-18446744073709551616' }]))
  it(
    'tags numbers JSON does not have',
    encodes([NaN, -Infinity, -0], [{ $num: 'NaN' }, { $num: '-Infinity' }, { $num: '-0' }]),
  )
  it('tags bytes', encodes({ data: new Uint8Array([0, 128, 255]) }, { data: { $bytes: 'AID/' } }))
  it('wraps an object that looks like a tag', encodes({ $big: '1' }, { $plain: { $big: '1' } }))
  it(
    'wraps an object that looks like a wrapper',
    encodes({ $plain: { $num: 2 } }, { $plain: { $plain: { $plain: { $num: 2 } } } }),
  )
  it('keeps dollar keys without a meaning', encodes({ $schema: 'x', $ref: '#' }, { $schema: 'x', $ref: '#' }))
  it('keeps a key named __proto__', encodes(JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":1}}')))

  it('omits undefined properties', encodes({ a: undefined, b: 1 }, { b: 1 }))
  it('tags undefined elements, and restores holes as undefined', () => {
    const encoded = encodeValue({ b: [undefined, 1], c: Array(1) }, same)
    expect(encoded).toEqual({ b: [{ $nil: true }, 1], c: [{ $nil: true }] })
    expect(decodeValue(encoded, same)).toEqual({ b: [undefined, 1], c: [undefined] })
  })

  it('encodes only the part of a buffer that a view shows', () => {
    const view = new Uint8Array(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2)
    expect(encodeValue(view, same)).toEqual({ $bytes: 'AgM=' })
  })

  it.each([
    [new Date(0), 'value is an instance of Date'],
    [{ a: [Symbol('x')] }, 'value.a[0] is a symbol'],
    [{ a: { b: new Set() } }, 'value.a.b is an instance of Set'],
    [undefined, 'value is undefined'],
  ])('refuses %s', (value, message) => {
    expect(() => encodeValue(value, same)).toThrow(message)
  })
})
