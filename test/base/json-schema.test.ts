import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { compileSchema } from '../../src/base/json-schema.ts'

/** The problems of a value as sentences. */
async function problems(schema: JsonObject, value: unknown): Promise<readonly string[]> {
  const result = await compileSchema(schema)
  if (result.kind === 'invalid') throw new Error(result.message)
  return result.compiled.validate(value).map(({ path, message }) => `${path} ${message}`)
}

const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#' }

// as text: an object with the key "then" would be awaited
const conditional = JSON.parse('{"if": {"required": ["a"]}, "then": {"required": ["b"]}}') as JsonObject

describe('validating a value', () => {
  it.each<[string, JsonObject, unknown, readonly string[]]>([
    ['a fraction where an integer is wanted', { type: 'integer' }, 1.5, ['$ must be a whole number, but is 1.5']],
    ['an integer written as 1.0', { type: 'integer' }, JSON.parse('1.0'), []],
    [
      'a number beyond what JSON readers know',
      { type: 'number' },
      JSON.parse('1e999'),
      ['$ must be a number, but is Infinity'],
    ],
    ['text where a number is wanted', { type: 'number' }, '1', ['$ must be a number, but is "1"']],
    ['one of several kinds', { type: ['string', 'null'] }, [], ['$ must be a string or null, but is a list']],
    ['a missing key', { required: ['a'] }, {}, ['$ the key "a" is missing']],
    ['a key that only every object has', { required: ['toString'] }, {}, ['$ the key "toString" is missing']],
    [
      'a key that is not listed',
      { properties: { a: true }, additionalProperties: false },
      { a: 1, 'ü b': 2 },
      ['$ the key "ü b" is not allowed'],
    ],
    [
      'a key that no part of the schema knows',
      { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
      { a: 1, b: 2 },
      ['$ the key "b" is not allowed'],
    ],
    ['a choice', { enum: ['a', { x: 1 }] }, 'c', ['$ must be one of "a", {"x":1}, but is "c"']],
    ['a choice of one', { const: null }, false, ['$ must be null, but is false']],
    ['bounds', { minimum: 1, exclusiveMaximum: 3 }, 3, ['$ must be below 3, but is 3']],
    ['a step', { multipleOf: 0.5 }, 0.7, ['$ must be a multiple of 0.5, but is 0.7']],
    ['one emoji as one character', { minLength: 2 }, '😀', ['$ must have at least 2 characters']],
    [
      'the end of the first 60 characters',
      { pattern: '^a' },
      '😀'.repeat(61),
      [`$ must match the pattern ^a, but is "${'😀'.repeat(60)}…"`],
    ],
    ['too few items', { minItems: 1 }, [], ['$ must have at least 1 item']],
    ['equal items', { uniqueItems: true }, [{ a: 1 }, 2, { a: 1 }], ['$ the items 0 and 2 (counted from 0) are equal']],
    [
      'items that must match',
      { contains: { const: 1 }, maxContains: 2 },
      [],
      ['$ must have at least 1 matching item and at most 2'],
    ],
    [
      'the name of a key',
      { propertyNames: { maxLength: 1 } },
      { ab: 1 },
      ['$ the name of the key "ab" must have at most 1 character'],
    ],
    ['a condition', conditional, { a: 1 }, ['$ the key "b" is missing']],
    ['what is excluded', { not: { type: 'string' } }, 'x', ['$ is an excluded value']],
    [
      'two alternatives at once',
      { oneOf: [{ minimum: 1 }, { maximum: 5 }] },
      3,
      ['$ fits more than one of the alternatives, but must fit exactly one'],
    ],
    [
      'a tuple of 2020-12',
      { prefixItems: [{ type: 'string' }], items: false },
      ['a', 1],
      ['$ must have at most 1 item'],
    ],
    [
      'a tuple of draft-07',
      { ...draft7, items: [{ type: 'string' }], additionalItems: false },
      ['a', 1],
      ['$ must have at most 1 item'],
    ],
    ['a format and unknown keywords, which are not checked', { format: 'email', 'x-hint': 1 }, 'nobody', []],
  ])('reports the problem: %s', async (_, schema, value, expected) => {
    expect(await problems(schema, value)).toStrictEqual(expected)
  })

  it('reports the alternatives with the problems of each', async () => {
    const schema = { oneOf: [{ type: 'string' }, { $ref: '#/$defs/n' }], $defs: { n: { type: 'number', minimum: 3 } } }
    expect(await problems(schema, 'a')).toStrictEqual([])
    expect(await problems(schema, 3)).toStrictEqual([])
    expect(await problems(schema, 2)).toStrictEqual([
      '$ must be a string, but is 2',
      '$ must be at least 3, but is 2',
      '$ must fit one of 2 alternatives, but fits none (the problems of each one are listed too)',
    ])
  })

  it('locates a value by keys and items of any name', async () => {
    const schema = { properties: { 'a b/~': { items: { properties: { é: { const: 1 }, '0': { const: 1 } } } } } }
    expect(await problems(schema, { 'a b/~': [{ é: 1 }, { é: 2, '0': 2 }] })).toStrictEqual([
      '$["a b/~"][1]["0"] must be 1, but is 2',
      '$["a b/~"][1].é must be 1, but is 2',
    ])
  })

  it('follows references, also recursive ones', async () => {
    const schema = {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['id'] } },
    }
    expect(await problems(schema, { id: 1, next: { id: 2, next: {} } })).toStrictEqual([
      '$.next.next the key "id" is missing',
    ])
  })

  it('lists each problem once and at most 20', async () => {
    const twice = { allOf: [{ type: 'string' }, { type: 'string' }] }
    expect(await problems(twice, 1)).toHaveLength(1)
    const many = await problems(
      { items: { type: 'string' } },
      Array.from({ length: 50_000 }, () => 1),
    )
    expect(many).toHaveLength(20)
    expect(many[19]).toBe('$[19] must be a string, but is 1')
  })

  it('refuses values that are nested too deeply, whatever the schema', async () => {
    const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
    expect(await problems({}, nested(200))).toStrictEqual([])
    expect(await problems({ items: { $ref: '#' } }, nested(200))).toStrictEqual([])
    expect(await problems({}, nested(202))).toStrictEqual(['$ is nested deeper than 200 levels'])
    expect(await problems({ items: { $ref: '#' } }, nested(300_000))).toStrictEqual([
      '$ is nested deeper than 200 levels',
    ])
  })

  it.each<[string, JsonObject]>([
    ['alternatives', { anyOf: Array.from({ length: 50_000 }, (_, index) => ({ required: [`a${index}`] })) }],
    ['patterns', { patternProperties: tables(50_000, () => ({ type: 'string' })) }],
    ['lists', { dependentRequired: tables(50_000, () => ['a']) }],
    [
      'references in a chain',
      { $ref: '#/$defs/d0', $defs: tables(50_000, (index) => ({ $ref: `#/$defs/d${index + 1}` })) },
    ],
  ])('refuses thousands of %s, which would take minutes', async (_, schema) => {
    const message = 'it has more than 10000 tables and lists, not counting those in "enum"'
    expect(await compileSchema(schema)).toEqual({ kind: 'invalid', message, at: [], others: [] })
  })

  it('allows an enum of any length, and a property named enum', async () => {
    const result = await compileSchema({ enum: Array.from({ length: 20_000 }, (_, a) => ({ a })) })
    if (result.kind === 'invalid') throw new Error(result.message)
    expect(result.compiled.validate({ a: 19_999 })).toEqual([])
    expect(result.compiled.validate({ a: 20_000 })).toHaveLength(1)
    const large = { properties: { enum: { properties: tables(50_000, () => ({})) } } }
    expect(await compileSchema(large)).toMatchObject({ kind: 'invalid' })
  })

  it('terminates when references form a cycle', async () => {
    expect(await problems({ $ref: '#' }, 1)).toStrictEqual([
      '$ cannot be checked: the references of the schema form a cycle',
    ])
  })
})

describe('an invalid schema', () => {
  it.each<[string, JsonObject, string, readonly (string | number)[]]>([
    [
      'an unknown type',
      { properties: { a: { type: 'text' } } },
      '$.properties.a.type must be one of "array", ',
      ['properties', 'a', 'type'],
    ],
    [
      'a tuple of draft-07 without $schema',
      { items: [] },
      '$.items must be an object or true or false, but is a list',
      ['items'],
    ],
    [
      'a pattern that is none',
      { properties: { a: { pattern: 'a' }, b: { pattern: '[' } } },
      'Invalid regular expression: /[/u',
      ['properties', 'b', 'pattern'],
    ],
    [
      'a reference that leads nowhere',
      { anyOf: [true, { $ref: '#/$defs/a' }] },
      'it refers to "#/$defs/a", which it does not contain',
      ['anyOf', 1, '$ref'],
    ],
    ['one that is written twice', { $ref: '#/$defs/a', not: { $ref: '#/$defs/a' } }, 'it refers to "#/$defs/a"', []],
    [
      'a reference to another document',
      { $ref: 'https://schemas.test/a' },
      'it refers to "https://schemas.test/a", which it does not contain',
      ['$ref'],
    ],
    [
      'another dialect',
      { $schema: 'http://json-schema.org/draft-04/schema#' },
      '$schema is "http://json-schema.org/draft-04/schema#"; ',
      ['$schema'],
    ],
    [
      'a keyword that would make the check asynchronous',
      { $async: true },
      '"$async" is not part of JSON Schema',
      ['$async'],
    ],
  ])('is reported with its place: %s', async (_, schema, message, at) => {
    const result = await compileSchema(schema)
    expect(result).toMatchObject({ kind: 'invalid', message: expect.stringContaining(message) as string, at })
  })

  it('is reported with all its mistakes, one per place', async () => {
    const properties = { a: { type: 'text' }, b: { minLength: -1 }, c: { enum: 3 } }
    const result = await compileSchema({ type: 'object', properties })
    expect(result).toMatchObject({ kind: 'invalid', at: ['properties', 'a', 'type'] })
    expect(result.kind === 'invalid' ? result.others.map(({ at }) => at.join('.')) : []).toEqual([
      'properties.b.minLength',
      'properties.c.enum',
    ])
  })

  it('does not affect the next one with the same name', async () => {
    const named = (type: string): JsonObject => ({ $id: 'https://schemas.test/a', type })
    expect(await problems(named('string'), 1)).toHaveLength(1)
    expect(await problems(named('number'), 1)).toHaveLength(0)
  })
})

function tables(length: number, make: (index: number) => object): JsonObject {
  return Object.fromEntries(Array.from({ length }, (_, index) => [`d${index}`, make(index)])) as JsonObject
}
