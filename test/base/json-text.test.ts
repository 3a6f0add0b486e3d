import { describe, expect, it } from 'vitest'
import { indentJson, JsonSyntaxError, parseJsonc, parseStrictJson } from '../../src/base/json-text.ts'

function problem(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.message
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('parseJsonc', () => {
  it.each([
    ['{"a": [1, 2.5, -3e2], "b": null, "c": true, "d": "x"}', { a: [1, 2.5, -300], b: null, c: true, d: 'x' }],
    ['// first\n{ /* second\n */ a: 1, } // last', { a: 1 }],
    ["{'a b': 'it\\'s', _x-1: [1 2 3,] größe: +5}", { 'a b': "it's", '_x-1': [1, 2, 3], größe: 5 }],
    ['[0x1F, -0xa, +1]', [31, -10, 1]],
    ['"\\u00e9\\n\\/\\ud83d\\ude00"', 'é\n/😀'],
    ['\uFEFF[]', []],
    ['"tab\there"', 'tab\there'],
  ])('parses %s', (text, expected) => {
    expect(parseJsonc(text)).toEqual(expected)
  })

  it.each(['', '  \n', '// only a comment', '/* */'])('returns undefined for %j', (text) => {
    expect(parseJsonc(text)).toBeUndefined()
  })

  it('keeps integers that a double would round', () => {
    expect(parseJsonc('[9007199254740993, -9223372036854775808, 1795295204543455]')).toEqual([
      9007199254740993n,
      -9223372036854775808n,
      1795295204543455,
    ])
    expect(parseJsonc('18446744073709551616')).toBe(2 ** 64)
  })

  it('keeps a key named __proto__ an ordinary key', () => {
    const value = parseJsonc('{"__proto__": {"x": 1}}')
    expect(Object.keys(value as object)).toEqual(['__proto__'])
    expect(({} as { x?: number }).x).toBeUndefined()
  })

  it.each([
    ['{invalid_json}', 'expected a colon but found "}" at line 1, column 14'],
    ['{"a": 1,\n "b": }', 'expected a value but found "}" at line 2, column 7'],
    ['[1,,2]', 'expected a value but found ",2]" at line 1, column 4'],
    ['{"a": [1, 2', 'no matching ] at line 1, column 7'],
    ['{"a": "x\n}', 'an unterminated string at line 1, column 7'],
    ['"\\x41"', 'an unknown escape in a string at line 1, column 2'],
    ['[] []', 'expected the end of the text but found "[]" at line 1, column 4'],
    ['1e400', 'a number out of range at line 1, column 1'],
    ['/* open', 'expected a value but found "/* open" at line 1, column 1'],
    ['NaN', 'expected a value but found "NaN" at line 1, column 1'],
  ])('refuses %j with its place', (text, message) => {
    expect(problem(() => parseJsonc(text))).toBe(message)
  })

  it('refuses excessive nesting, without a stack overflow', () => {
    expect(problem(() => parseJsonc('['.repeat(1_000_000)))).toContain('deeper than 200 levels')
  })

  it('parses large text', () => {
    const items = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `item ${id}`, tags: ['a', 'b'] }))
    expect(parseJsonc(JSON.stringify(items))).toEqual(items)
  })
})

describe('parseStrictJson', () => {
  it('parses JSON with exact integers', () => {
    expect(parseStrictJson('{"a": 9007199254740993}')).toEqual({ a: 9007199254740993n })
  })

  it.each([
    ['{a: 1}', 'expected a key but found "a: 1}" at line 1, column 2'],
    ['[1,]', 'expected another item after the comma but found "]" at line 1, column 4'],
    ['[1,\n 2 3]', 'expected a comma or ] but found "3]" at line 2, column 4'],
    ['// x\n1', 'expected a value but found "// x\\n1" at line 1, column 1'],
    ['1 // x', 'expected the end of the text but found "// x" at line 1, column 3'],
    ['', 'expected a value but found the end at line 1, column 1'],
    ["'x'", 'expected a value but found "\'x\'" at line 1, column 1'],
    ['\u00A01', 'expected a value but found "\u00A01" at line 1, column 1'],
    ['[01]', 'expected a value but found "01]" at line 1, column 2'],
    ['+1', 'expected a value but found "+1" at line 1, column 1'],
    ['"a\tb"', 'a control character in a string at line 1, column 3'],
    ['["\\x41"]', 'an unknown escape in a string at line 1, column 3'],
    ['{"a": tru}', 'expected a value but found "tru}" at line 1, column 7'],
    ['[1', 'no matching ] at line 1, column 1'],
  ])('refuses %j and locates the error', (text, message) => {
    expect(problem(() => parseStrictJson(text))).toBe(message)
  })
})

describe('indented JSON', () => {
  it.each([
    '{"a":[1,-2.5,true,null,{"b":"x"}],"c":{},"d":[[]],"é😀":" { [ , : \\" \\\\"}',
    '[]',
    '"x"',
    ' 12 ',
    '[\r\n\t{ } ,\n[ ] ]',
    '""',
  ])('equals JSON.stringify: %s', (text) => {
    expect(indentJson(text)).toBe(JSON.stringify(JSON.parse(text), null, 2))
  })

  it('keeps numbers and strings as they are written', () => {
    expect(indentJson('{"id":12345678901234567890,"x":1.0,"s":"\\u00e9\\/"}')).toBe(
      '{\n  "id": 12345678901234567890,\n  "x": 1.0,\n  "s": "\\u00e9\\/"\n}',
    )
  })
})
