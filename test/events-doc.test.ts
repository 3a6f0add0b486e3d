import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventJsonSchema } from '../src/event/event.ts'

const root = join(import.meta.dirname, '..')

interface EventFields {
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

interface EventSchema {
  readonly title: string
  readonly required: readonly string[]
  readonly properties: { readonly [name: string]: unknown }
}

interface Section {
  readonly fields: EventFields
  /** The example lines as printed. */
  readonly examples: readonly string[]
}

const { oneOf } = eventJsonSchema() as unknown as { readonly oneOf: readonly EventSchema[] }
const envelope = oneOf
  .map(({ required }) => required)
  .reduce((left, right) => left.filter((one) => right.includes(one)))
const types: ReadonlyMap<string, EventFields> = new Map(oneOf.map((schema) => [schema.title, ownFields(schema)]))
const page = readFileSync(join(root, 'docs/events.md'), 'utf8')
const sections = readSections(page)

/** The fields of a type in addition to those of every event, from the schema that the types are derived from. */
function ownFields({ required, properties }: EventSchema): EventFields {
  const fields = Object.keys(properties).filter((name) => !envelope.includes(name))
  const isRequired = (name: string): boolean => required.includes(name)
  return { required: fields.filter(isRequired), optional: fields.filter((name) => !isRequired(name)) }
}

/** The sections whose heading is an event type. */
function readSections(text: string): ReadonlyMap<string, Section> {
  return new Map(
    text
      .split(/^(?=#{2,3} )/m)
      .filter((part) => part.startsWith('### `'))
      .map((part) => {
        const type = /^### `([^`]+)`/.exec(part)?.[1] ?? ''
        const rows = [...part.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)]
        const named = (optional: boolean): readonly string[] =>
          rows.filter((row) => row[2]?.includes('may be absent') === optional).map(([, name = '']) => name)
        const examples = [...part.matchAll(/^```json\n([^`]*?)\n```$/gm)].flatMap(([, lines = '']) => lines.split('\n'))
        return [type, { fields: { required: named(false), optional: named(true) }, examples }]
      }),
  )
}

it('describes every event type of the source, and no others', () => {
  expect(types.size).toBeGreaterThan(20)
  expect([...sections.keys()].toSorted()).toEqual([...types.keys()].toSorted())
})

it('describes every field of the envelope', () => {
  const table = /## Fields of every event\n\n([^#]*?)\n\n/.exec(page)?.[1] ?? ''
  expect([...table.matchAll(/^\| `(\w+)` /gm)].map(([, name]) => name)).toEqual(envelope)
})

describe.each([...types])('%s', (type, { required, optional }) => {
  it('is described with every field, optional fields marked', () => {
    expect(sections.get(type)?.fields).toEqual({ required, optional })
  })

  it('has an example JSON line with the fields of the envelope and its own fields', () => {
    const examples = sections.get(type)?.examples ?? []
    expect(examples).toHaveLength(1)
    for (const line of examples) {
      const event = JSON.parse(line) as Record<string, unknown>
      expect(event).toMatchObject({
        type,
        seq: expect.any(Number),
        ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        run_id: expect.any(String),
        agent: expect.any(String),
      })
      expect(Object.keys(event)).toEqual(expect.arrayContaining([...envelope, ...required]))
      expect([...envelope, ...required, ...optional]).toEqual(expect.arrayContaining(Object.keys(event)))
    }
  })
})

it('says where to find each event of the original design', () => {
  const rows = [...page.matchAll(/^\| [^|]*\((R\d+)\) \| (.+) \|$/gm)]
  const numbers = ['R79', 'R80', 'R81', 'R82', 'R83', 'R115', 'R116', 'R117', 'R118', 'R142', 'R143', 'R144']
  const seeds = [...numbers, 'R196', 'R197', 'R198', 'R199', 'R200', 'R285']
  expect([...new Set(rows.map(([, number]) => number))]).toEqual(seeds)
  for (const [row, , where = ''] of rows) {
    const named = [...where.matchAll(/`([a-z]+\.[a-z_]+)`/g)].map(([, type = '']) => type)
    expect(named.length > 0 || where.startsWith('not yet: '), row).toBe(true)
    expect([...types.keys()], row).toEqual(expect.arrayContaining(named))
  }
})
