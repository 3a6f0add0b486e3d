import { describe, expect, it } from 'vitest'
import { indentJson } from '../../src/base/json-text.ts'

describe('indented JSON', () => {
  it.each([
    '{"a":[1,-2.5,true,null,{"b":"x"}],"c":{},"d":[[]],"é😀":" { [ , : \\" \\\\"}',
    '[]',
    '"x"',
    ' 12 ',
    '[\r\n\t{ } ,\n[ ] ]',
    '""',
  ])('is what JSON.stringify gives: %s', (text) => {
    expect(indentJson(text)).toBe(JSON.stringify(JSON.parse(text), null, 2))
  })

  it('keeps numbers and strings as they are written', () => {
    expect(indentJson('{"id":12345678901234567890,"x":1.0,"s":"\\u00e9\\/"}')).toBe(
      '{\n  "id": 12345678901234567890,\n  "x": 1.0,\n  "s": "\\u00e9\\/"\n}',
    )
  })
})
