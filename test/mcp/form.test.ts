import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { formFields, readField } from '../../src/mcp/form.ts'

function typed(schema: JsonObject, text: string, required = false) {
  const [field] = formFields({ type: 'object', properties: { a: schema }, ...(required && { required: ['a'] }) })
  if (field === undefined) throw new Error('no field')
  const read = readField(field, text)
  return read.kind === 'value' ? read.value : read.kind === 'wrong' ? `! ${read.problem}` : undefined
}

describe('a form of a server', () => {
  it('has fields with their descriptions, in the order of the server', () => {
    const properties = {
      b: { type: 'string', title: 'Bee', description: 'What it does.', default: 'hum' },
      a: { type: 'boolean', default: 'no boolean' },
    }
    expect(formFields({ type: 'object', properties, required: ['a'] })).toMatchObject([
      { name: 'b', title: 'Bee', description: 'What it does.', default: 'hum', isRequired: false },
      { name: 'a', title: 'a', isRequired: true },
    ])
    expect(formFields({ type: 'object', properties: { a: properties.a } })[0]).not.toHaveProperty('default')
    expect(formFields({})).toEqual([])
  })

  it('is refused when it is nested, or endless', () => {
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`f${index}`, { type: 'string' }]))
    for (const properties of [{ a: { type: 'object' } }, { a: { type: 'array' } }, { a: 3 }, { a: {} }, [], many]) {
      expect(() => formFields({ properties: properties as unknown as JsonObject })).toThrow('cannot be shown')
    }
  })

  it.each<[JsonObject, string, unknown]>([
    [{ type: 'string' }, '  Ada ', 'Ada'],
    [{ type: 'string' }, '', undefined],
    [{ type: 'string', default: 'Eve' }, '', 'Eve'],
    [{ type: 'string', minLength: 3 }, '😀😀', '! must have at least 3 characters'],
    [{ type: 'string', maxLength: 1 }, 'ab', '! must have at most 1 characters'],
    [{ type: 'string', format: 'email' }, 'ada', '! must be an e-mail address'],
    [{ type: 'string', format: 'email' }, 'ada@example.com', 'ada@example.com'],
    [{ type: 'string', format: 'date' }, '2026-13-40', '! must be a date such as 2026-11-23'],
    [{ type: 'string', format: 'date-time' }, '2026-11-23T17:00:00Z', '2026-11-23T17:00:00Z'],
    [{ type: 'string', format: 'uri' }, 'nowhere', '! must be an address such as https://example.com'],
    [{ type: 'string', format: 'constructor' }, 'any', 'any'],
    [{ type: 'number' }, '-1.5e2', -150],
    [{ type: 'number' }, '0x10', '! must be a number'],
    [{ type: 'integer' }, '1.5', '! must be a whole number'],
    [{ type: 'integer', minimum: 1, maximum: 3 }, '4', '! must be at most 3'],
    [{ type: 'boolean' }, 'Y', true],
    [{ type: 'boolean' }, 'maybe', '! must be yes or no'],
    [{ type: 'string', enum: ['s', 'm'], enumNames: ['small', 'medium'] }, 'medium', 'm'],
    [{ type: 'string', enum: ['s', 'm'] }, '2', 'm'],
    [{ type: 'string', enum: ['2', '1'] }, '1', '1'],
    [{ type: 'string', enum: ['s', 'm'] }, '3', '! must be one of the choices'],
    [{ type: 'string', oneOf: [{ const: 's', title: 'small' }] }, 'small', 's'],
    [{ type: 'array', items: { enum: ['s', 'm', 'l'] } }, '1, l,1', ['s', 'l']],
    [{ type: 'array', minItems: 2, items: { anyOf: [{ const: 's' }] } }, '1', '! must be at least 2 of the choices'],
  ])('accepts for %j %j as %j', (schema, text, value) => {
    expect(typed(schema, text)).toEqual(value)
  })

  it('requires the required fields', () => {
    expect(typed({ type: 'string' }, ' ', true)).toBe('! is required')
    expect(typed({ type: 'boolean', default: false }, '', true)).toBe(false)
  })
})
