import { describe, expect, it } from 'vitest'
import { isWider, readCapabilities, type Capabilities } from '../../src/pack/capabilities.ts'
import type { Json } from '../../src/base/json.ts'

function capabilities(value: Json): Capabilities {
  const read = readCapabilities(value)
  if ('problem' in read) throw new Error(read.problem.message)
  return read.capabilities
}

describe('[capabilities]', () => {
  it('contain only what is written', () => {
    const none = { read: [], write: [], hosts: [], commands: [], env: [], models: [], mcp: [] }
    expect(capabilities({})).toEqual(none)
    expect(capabilities({ hosts: ['api.example', '*.example', 'localhost:8080', '[::1]:80', '*'] }).hosts).toHaveLength(
      5,
    )
  })

  it.each<readonly [string, Json, string]>([
    ['no table', ['x'], 'must be a table'],
    ['an unknown key', { reads: ['x'] }, 'unknown capability "reads"'],
    ['no list', { read: 'src/**' }, '"capabilities.read" must be a list'],
    ['a list of numbers', { read: [1] }, '"capabilities.read" must be a list'],
    ['an empty text', { commands: [''] }, '"capabilities.commands" must be a list'],
    ['an absolute glob', { read: ['/etc/**'] }, 'has an invalid entry'],
    ['a glob below the home folder', { read: ['~/x'] }, 'has an invalid entry'],
    ['a glob that climbs', { write: ['a/../../b'] }, 'has an invalid entry'],
    ['a glob that climbs in braces', { write: ['a/{..,b}/c'] }, 'has an invalid entry'],
    ['an excluding glob', { read: ['!src/**'] }, 'has an invalid entry'],
    ['a glob that is none', { read: ['a/{b'] }, 'has an invalid entry'],
    ['a URL for a host', { hosts: ['https://x.example'] }, 'has an invalid entry'],
    ['a host with a star inside', { hosts: ['a.*.example'] }, 'has an invalid entry'],
    ['a variable with a blank', { env: ['A B'] }, 'has an invalid entry'],
    ['a character that turns text round', { commands: ['\u202Etig'] }, 'has an invalid entry'],
    ['an escape sequence', { models: ['\u001b[2J'] }, 'has an invalid entry'],
  ])('refuses %s', (_, value, message) => {
    const read = readCapabilities(value)
    expect('problem' in read ? read.problem.message : 'nothing').toContain(message)
  })

  it('are wider when they name something new, and when the table is removed', () => {
    const some = capabilities({ read: ['a', 'b'], commands: ['git'] })
    expect(isWider(capabilities({ read: ['b'] }), some)).toBe(false)
    expect(isWider(capabilities({ read: ['a', 'b', 'c'] }), some)).toBe(true)
    expect(isWider(capabilities({ hosts: ['x'] }), some)).toBe(true)
    expect(isWider(undefined, some)).toBe(true)
    expect(isWider(some, undefined)).toBe(false)
    expect(isWider(undefined, undefined)).toBe(false)
  })
})
