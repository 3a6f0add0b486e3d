import { describe, expect, it } from 'vitest'
import { isOrderable, jsonText, ordered } from '../../../src/script/host/json.ts'

describe('JSON with sorted keys', () => {
  it('has keys in byte order at every level and omits nil', () => {
    const value = { b: [undefined, { d: undefined, c: 1 }], a: { '\uFF5E': 1, '😀': 2, Z: null } }
    expect(isOrderable(value)).toBe(true)
    expect(JSON.stringify(ordered(value))).toBe('{"a":{"Z":null,"\uFF5E":1,"😀":2},"b":[null,{"c":1}]}')
    expect(ordered(undefined)).toBe(null)
  })

  it.each([
    ['big integers', { a: 1, b: [12345678901234567890n] }, '{"a":1,"b":[12345678901234567890]}'],
    ['keys that are numbers', { b: 1, 10: 2, 9: 3 }, '{"10":2,"9":3,"b":1}'],
    ['a key __proto__', JSON.parse('{"__proto__":{"x":1},"a":2}'), '{"__proto__":{"x":1},"a":2}'],
  ])('does not apply to %s, which are written nevertheless', (_, value, text) => {
    expect(isOrderable(value)).toBe(false)
    expect(jsonText(value)).toBe(text)
  })

  it('reports a value that is not JSON, with its place', () => {
    expect(isOrderable({ a: [1, NaN] })).toBe(false)
    expect(() => jsonText({ a: [1, NaN] })).toThrow('the value.a[2] is NaN, and JSON has no such number')
    expect(isOrderable([new Uint8Array([255])])).toBe(false)
    expect(() => jsonText([new Uint8Array([255])])).toThrow('the value[1] is a string that is not UTF-8 text')
  })

  it('has the same text on several lines in both ways', () => {
    const plain = { a: [], b: {}, c: [1, { d: 'x' }] }
    const lines = '{\n  "a": [],\n  "b": {},\n  "c": [\n    1,\n    {\n      "d": "x"\n    }\n  ]\n}'
    expect(jsonText(plain, { indent: 2 })).toBe(lines)
    expect(jsonText({ ...plain, c: [1n, { d: 'x' }] }, { indent: 2 })).toBe(lines)
  })
})
