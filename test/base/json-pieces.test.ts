import { describe, expect, it } from 'vitest'
import { isLongJson, jsonChunks } from '../../src/base/json-pieces.ts'
import { canonicalJson, type Json } from '../../src/base/json.ts'

const long = 300_000

const values: readonly (readonly [name: string, value: Json])[] = [
  ['plain values', [null, true, 0, -0, 1.5, '', 'a"\\\n\u0001é😀', '\ud800 alone']],
  [
    'keys in their order, left out where they are undefined',
    { z: 1, a: undefined as unknown as Json, '10': [], b: {} },
  ],
  ['elements that are undefined', [1, undefined as unknown as Json, 2]],
  ['long texts of every kind of character', ['x', '"', '\u0001', 'é', '漢', '😀'].map((one) => one.repeat(long))],
  ['a long key', { ['"'.repeat(long)]: 'x' }],
  ['halves of pairs wherever a piece may end', '\ud83d😀'.repeat(long)],
  [
    'texts of every length',
    Array.from({ length: 400 }, (_, index) => ['"é'.repeat(index * 60), { [`k${'x'.repeat(index * 50)}`]: index }]),
  ],
  [
    'texts inside of texts',
    Array.from({ length: 200 }).reduce<Json>(
      (inner, _, index) => ({ [index]: [inner, '\u0001'.repeat(index)], a: null }),
      1,
    ),
  ],
  ['many numbers', [Array.from({ length: 20_000 }, (_, index) => index / 7), -1e-7, 1e21]],
  ['many small values', Array.from({ length: 50_000 }, (_, index) => ({ index, text: `t${index}` }))],
]

describe('the JSON text of a value in chunks', () => {
  it.each(values)('equals JSON.stringify: %s', (_, value) => {
    const chunks: Buffer[] = []
    jsonChunks(value, 'as written', (chunk) => void chunks.push(Buffer.from(chunk)))
    expect(Buffer.concat(chunks).equals(Buffer.from(JSON.stringify(value)))).toBe(true)
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThanOrEqual(144 * 1024)
  })
})

it.each(values)('equals canonicalJson if keys are sorted: %s', (_, value) => {
  const chunks: Buffer[] = []
  jsonChunks(value, 'canonical', (chunk) => void chunks.push(Buffer.from(chunk)))
  expect(Buffer.concat(chunks).equals(Buffer.from(canonicalJson(value)))).toBe(true)
})

it('a long value is identified by its texts', () => {
  expect(isLongJson({ a: ['xx', { b: 'xxx' }] }, 5)).toBe(false)
  expect(isLongJson({ a: ['xx', { b: 'xxx' }], c: 'x' }, 5)).toBe(true)
})
