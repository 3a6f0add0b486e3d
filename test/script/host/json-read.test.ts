import { describe, expect, it } from 'vitest'
import { parseJsonc, parseStrictJson } from '../../../src/base/json-text.ts'
import { readRelaxedJson, readStrictJson } from '../../../src/script/host/json.ts'

const texts = [
  '[1, -0, 2.5, 1e3, 1.0, 0.1e-7, true, false, null]',
  '[9007199254740991, 9007199254740992, -9007199254740993, 18446744073709551616, 1e20]',
  '{"2": 1, "1": 2, "b": 3, "a": 4, "b": 5, "__proto__": {"x": 1}}',
  '"é\\n\\"\\u00e9\\ud83d😀"',
  '9223372036854775807',
  ' {} ',
  'null',
  `${'['.repeat(200)}1${']'.repeat(200)}`,
]

describe('parsing JSON', () => {
  it.each(texts)('equals the exact parser for %s', (text) => {
    expect(readRelaxedJson(text)).toStrictEqual(parseJsonc(text))
    expect(readStrictJson(text)).toStrictEqual(parseStrictJson(text))
    expect(JSON.stringify(Object.entries(readStrictJson(text) ?? {}), digits)).toBe(
      JSON.stringify(Object.entries(parseStrictJson(text) ?? {}), digits),
    )
  })

  it('keeps integers that a double cannot hold', () => {
    expect(readRelaxedJson('{"a": [9007199254740993]}')).toEqual({ a: [9007199254740993n] })
  })

  it('refuses a number out of range and values nested too deep', () => {
    expect(() => readStrictJson('[1e999]')).toThrow('a number out of range at line 1, column 2')
    expect(() => readRelaxedJson('{"a": {"b": -1e999}}')).toThrow('a number out of range')
    expect(() => readStrictJson('['.repeat(202) + ']'.repeat(202))).toThrow('nested deeper than 200 levels')
    expect(() => readRelaxedJson('['.repeat(50_000) + ']'.repeat(50_000))).toThrow('nested deeper than 200 levels')
  })

  it('accepts comments only where they are allowed', () => {
    expect(readRelaxedJson('{a: 1, /* note */}')).toEqual({ a: 1 })
    expect(readRelaxedJson('// nothing')).toBeUndefined()
    expect(() => readStrictJson('{"a": 1,}')).toThrow('expected another item after the comma but found "}"')
  })
})

function digits(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
