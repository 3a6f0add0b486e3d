import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')

interface EventFields {
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

interface Section {
  readonly fields: EventFields
  /** The example lines, as they are printed. */
  readonly examples: readonly string[]
}

const source = readFileSync(join(root, 'src/event/event.ts'), 'utf8')
const envelope = ['type', ...fieldsOf(/interface Envelope \{([^}]*)\}/.exec(source)?.[1] ?? '').required]
const types = readEventTypes(source)
const page = readFileSync(join(root, 'docs/events.md'), 'utf8')
const sections = readSections(page)

/** The variants of `EventBody`, by their `type` literals. */
function readEventTypes(text: string): ReadonlyMap<string, EventFields> {
  const body = text.slice(text.indexOf('export type EventBody ='))
  const union = body.slice(0, body.indexOf('\nexport ', 1)).split('\n/**')[0] ?? ''
  return new Map(
    splitVariants(union).flatMap((variant) => {
      const literals = /type: ((?:'[\w.]+'(?: \| )?)+)/.exec(variant)?.[1] ?? ''
      const fields = fieldsOf(variant)
      return [...literals.matchAll(/'([\w.]+)'/g)].map(([, type = '']) => [type, fields] as const)
    }),
  )
}

/** The text between the outermost braces of each variant, inner braces taken out. */
function splitVariants(union: string): readonly string[] {
  const variants: string[] = []
  let depth = 0
  for (const character of union) {
    if (character === '{' && depth === 0) variants.push('')
    if (character === '}') depth -= 1
    if (depth === 1 && character !== '{') variants[variants.length - 1] += character
    if (character === '{') depth += 1
  }
  return variants
}

function fieldsOf(variant: string): EventFields {
  const names = [...variant.matchAll(/readonly (\w+)(\??):/g)].filter(([, name]) => name !== 'type')
  const named = (mark: string): readonly string[] =>
    names.filter((found) => found[2] === mark).map(([, name = '']) => name)
  return { required: named(''), optional: named('?') }
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

it('describes every event type of the source, and no other', () => {
  expect(types.size).toBeGreaterThan(20)
  expect([...sections.keys()].toSorted()).toEqual([...types.keys()].toSorted())
})

it('describes every field of the envelope', () => {
  const table = /## Fields of every event\n\n([^#]*?)\n\n/.exec(page)?.[1] ?? ''
  expect([...table.matchAll(/^\| `(\w+)` /gm)].map(([, name]) => name)).toEqual(envelope)
})

describe.each([...types])('%s', (type, { required, optional }) => {
  it('is described with every field, and the optional ones marked', () => {
    expect(sections.get(type)?.fields).toEqual({ required, optional })
  })

  it('has an example of one JSON line with the fields of the envelope and its own', () => {
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

it('says of every event of the seed designs where it is', () => {
  const rows = [...page.matchAll(/^\| [^|]*\((R\d+)\) \| (.+) \|$/gm)]
  const numbers = ['R79', 'R80', 'R81', 'R82', 'R83', 'R115', 'R116', 'R117', 'R118', 'R142', 'R143', 'R144']
  const seeds = [...numbers, 'R196', 'R197', 'R198', 'R199', 'R200', 'R285']
  expect([...new Set(rows.map(([, number]) => number))]).toEqual(seeds)
  for (const [row, , where = ''] of rows) {
    const named = [...where.matchAll(/`([a-z]+\.[a-z]+)`/g)].map(([, type = '']) => type)
    expect(named.length > 0 || where.startsWith('not yet: '), row).toBe(true)
    expect([...types.keys()], row).toEqual(expect.arrayContaining(named))
  }
})
