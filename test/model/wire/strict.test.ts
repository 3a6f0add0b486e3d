import { expect, it } from 'vitest'
import type { JsonObject } from '../../../src/base/json.ts'
import { fitsStrictMode } from '../../../src/model/wire/request-parts.ts'

const point = {
  type: 'object',
  properties: { x: { type: 'number' } },
  required: ['x'],
  additionalProperties: false,
}

const taken: readonly (readonly [string, JsonObject])[] = [
  ['a closed object', point],
  ['no properties at all', { type: 'object', properties: {}, additionalProperties: false }],
  ['a list of closed objects', { ...point, properties: { x: { type: 'array', items: point } } }],
  ['a property named like a keyword', { ...point, properties: { not: { type: 'string' } }, required: ['not'] }],
  ['data that looks like a keyword', { ...point, properties: { x: { enum: [{ not: 1 }] } } }],
  ['closed definitions', { ...point, $defs: { point } }],
]

const refused: readonly (readonly [string, JsonObject])[] = [
  ['a schema that is no object', { type: 'array', items: point }],
  ['an object without properties', { type: 'object' }],
  ['an object that allows more properties', { ...point, additionalProperties: true }],
  ['a property that may be missing', { ...point, required: [] }],
  ['an open object inside', { ...point, properties: { x: { type: 'object', properties: {} } } }],
  ['an open object in a list', { ...point, properties: { x: { type: 'array', items: { type: 'object' } } } }],
  ['an open definition', { ...point, $defs: { open: { type: 'object' } } }],
  [
    'an object that may be null and is open',
    { ...point, properties: { x: { type: ['object', 'null'], properties: {} } } },
  ],
  ['a keyword that is not supported', { ...point, properties: { x: { allOf: [{ type: 'string' }] } } }],
]

it.each(taken)('%s fits strict mode', (_, schema) => {
  expect(fitsStrictMode(schema)).toBe(true)
})

it.each(refused)('%s does not fit strict mode', (_, schema) => {
  expect(fitsStrictMode(schema)).toBe(false)
})
