import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { jsonModule } from '../../../src/script/host/json.ts'
import { hostSection } from './host-section.ts'

const { call } = hostSection('/')

function json(name: string, ...args: readonly LuaValue[]): LuaValue {
  return call(jsonModule, name, ...args)[0]
}

describe('aip.json', () => {
  it('parses relaxed JSON', () => {
    expect(json('parse', '{ // note\n a: [1, null,], }')).toEqual({ a: [1, null] })
    expect(json('parse', undefined)).toBeUndefined()
    expect(json('parse', '')).toBeUndefined()
    expect(json('parse', 'null')).toBeUndefined()
    expect(json('parse', 'false')).toBe(false)
    expect(json('parse', '[]')).toEqual([])
  })

  it('locates errors in JSON', () => {
    expect(() => json('parse', '{invalid_json}')).toThrow(
      'aip.json.parse failed: expected a colon but found "}" at line 1, column 14',
    )
    expect(() => json('parse', {})).toThrow('must be a string or nil, but was table')
  })

  it('parses JSON lines, strictly', () => {
    expect(json('parse_ndjson', '{"a":1}\n\n [2]\r\n"x"')).toEqual([{ a: 1 }, [2], 'x'])
    expect(json('parse_ndjson', '')).toEqual([])
    expect(json('parse_ndjson', undefined)).toBeUndefined()
    expect(() => json('parse_ndjson', '{"a":1}\n{a:2}')).toThrow('aip.json.parse_ndjson failed: line 2 is not JSON')
  })

  it('writes keys in byte order on one line, or with two spaces', () => {
    const value = { b: [1, 2.5, 'x'], a: null, Z: { '😀': 1, '\uFF5E': 2 }, e: [], o: true }
    expect(json('stringify', value)).toBe('{"Z":{"\uFF5E":2,"😀":1},"a":null,"b":[1,2.5,"x"],"e":[],"o":true}')
    expect(json('stringify_to_line', value)).toBe(json('stringify', value))
    expect(json('stringify_pretty', { a: [1, { b: [] }] })).toBe(
      '{\n  "a": [\n    1,\n    {\n      "b": []\n    }\n  ]\n}',
    )
  })

  it('writes integers with all digits', () => {
    expect(json('stringify', [1795295204543455, 9223372036854775807n, -1, 0.1])).toBe(
      '[1795295204543455,9223372036854775807,-1,0.1]',
    )
  })

  it('survives a round trip', () => {
    const text = '{"a":["é\\n\\"😀",9007199254740993],"b":{}}'
    expect(json('stringify', json('parse', text))).toBe(text)
  })

  it('writes nil as null and single values', () => {
    expect([
      json('stringify', undefined),
      json('stringify', null),
      json('stringify', 'x'),
      json('stringify', false),
    ]).toEqual(['null', 'null', '"x"', 'false'])
  })

  it('refuses what JSON cannot represent, and locates it', () => {
    expect(() => json('stringify', { a: [1, Number.NaN] })).toThrow('aip.json.stringify: the value.a[2] is NaN')
    expect(() => json('stringify_pretty', Number.POSITIVE_INFINITY)).toThrow('the value is Infinity')
    expect(() => json('stringify', [new Uint8Array([0xff])])).toThrow('the value[1] is a string that is not UTF-8 text')
  })

  it('writes large lists', () => {
    const items = Array.from({ length: 50_000 }, (_, id) => ({ name: `n${id}`, id }))
    expect(json('stringify', items)).toBe(JSON.stringify(items.map(({ name, id }) => ({ id, name }))))
  })
})
