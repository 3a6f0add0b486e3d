import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { eventJsonSchema } from '../../src/event/event.ts'

const fits = new Ajv({ strict: true, allowUnionTypes: true }).compile(eventJsonSchema())
const page = readFileSync(join(import.meta.dirname, '../../docs/events.md'), 'utf8')
const examples = [...page.matchAll(/^```json\n([^`]*?)\n```$/gm)]
  .flatMap(([, lines = '']) => lines.split('\n'))
  .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('the schema of --json lines', () => {
  it('is tested with an example of every type', () => {
    expect(new Set(examples.map(({ type }) => type)).size).toBeGreaterThan(20)
  })

  it.each(examples.map((event) => [String(event['type']), event] as const))('accepts the example of %s', (_, event) => {
    expect(fits(event), JSON.stringify(fits.errors)).toBe(true)
  })

  it.each(examples.map((event) => [String(event['type']), event] as const))(
    'accepts %s with an unknown field, but not without its place',
    (_, event) => {
      expect(fits({ ...event, field_of_later: 1 })).toBe(true)
      const { agent: _agent, ...rest } = event
      expect(fits(rest)).toBe(false)
    },
  )

  it('refuses values of a wrong type', () => {
    const envelope = { seq: 0, ts: '2026-01-01T00:00:00.000Z', run_id: 'r', agent: '' }
    expect(fits({ ...envelope, type: 'redo', count: 1 })).toBe(true)
    expect(fits({ ...envelope, type: 'redo', count: 'one' })).toBe(false)
    expect(fits({ ...envelope, type: 'redo' })).toBe(false)
    expect(fits({ ...envelope, type: 'warning', message: 'x', hint: 3 })).toBe(false)
  })
})
