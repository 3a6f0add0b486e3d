import { describe, expect, it } from 'vitest'
import type { DataText } from '../../src/base/data-text.ts'
import { parseJsonData } from '../../src/base/json-data.ts'

function parse(text: string): DataText {
  return parseJsonData({ file: 'f.json', text, block: text, firstLine: 1, what: 'f.json', code: 'CONFIG_INVALID' })
}

const text = `{
  "a": { "b c": [1, { "d": "x\\"}," }] },
\t"a2": {}, "e": "é", "b": { "a": [] }
}
`

describe('data of JSON', () => {
  it.each([
    [['a'], 'key', [2, 3, 6]],
    [['a'], 'value', [2, 8, 9]],
    [['a', 'b c'], 'key', [2, 10, 15]],
    [['a', 'b c', 0], 'value', [2, 18, 19]],
    [['a', 'b c', 1, 'd'], 'key', [2, 23, 26]],
    [['a', 'b c', 1, 'd'], 'value', [2, 28, 35]],
    [['a2'], 'value', [3, 8, 9]],
    [['e'], 'value', [3, 17, 20]],
    [['b', 'a'], 'key', [3, 29, 32]],
    // the nearest existing parent
    [['b', 'a', 3, 'x'], 'value', [3, 29, 32]],
  ] as const)('locates %j (%s) where it is written', async (path, part, [line, column, endColumn]) => {
    expect(await parse(text).locate(path, part)).toEqual({ line, column, endLine: line, endColumn })
  })

  it('equals the result of JSON.parse', () => {
    expect(parse(text).data).toEqual(JSON.parse(text))
  })

  it.each([
    ['{"a": 1,}', 'f.json is not valid JSON: expected another item after the comma but found "}"', 1, 9],
    ['{\n  // x\n}', 'f.json is not valid JSON: expected a key but found "// x\\n}"', 2, 3],
    ['', 'f.json is not valid JSON: expected a value but found the end', 1, 1],
    ['[1]', 'f.json must be an object', 1, 1],
    [
      `{"a":${'['.repeat(120)}${']'.repeat(120)}}`,
      'f.json is not valid JSON: values nested deeper than 100 levels',
      1,
      1,
    ],
  ])('is refused at its place: %j', (given, message, line, column) => {
    expect(() => parse(given)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message, place: expect.objectContaining({ line, column }) }),
    )
  })
})
