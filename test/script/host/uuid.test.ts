import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { uuidModule } from '../../../src/script/host/uuid.ts'
import { agentWorld } from '../../helpers/agents.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const host = hostSection('/')

function uuid(name: string, ...args: readonly LuaValue[]): string {
  return String(host.call(uuidModule, name, ...args)[0])
}

describe('aip.uuid', () => {
  it.each([
    ['new', 4],
    ['new_v4', 4],
    ['new_v7', 7],
  ])('%s returns text of version %i', (name, version) => {
    expect(uuid(name)).toMatch(
      new RegExp(`^[\\da-f]{8}-[\\da-f]{4}-${version}[\\da-f]{3}-[89ab][\\da-f]{3}-[\\da-f]{12}$`),
    )
    expect(uuid(name)).not.toBe(uuid(name))
  })

  it.each([
    ['_b64', /^[A-Za-z\d+/]{22}==$/],
    ['_b64u', /^[\w-]{22}$/],
    ['_b58', /^[1-9A-HJ-NP-Za-km-z]{16,22}$/],
  ])('the functions that end in %s return its bytes', (ending, pattern) => {
    expect(uuid(`new_v4${ending}`)).toMatch(pattern)
    expect(uuid(`new_v7${ending}`)).toMatch(pattern)
  })

  it('bytes are those of a UUID', () => {
    expect((Buffer.from(uuid('new_v4_b64'), 'base64')[6] ?? 0) >> 4).toBe(4)
    expect((Buffer.from(uuid('new_v7_b64u'), 'base64url')[6] ?? 0) >> 4).toBe(7)
  })

  it('returns the time of creation, or nil if there is none', () => {
    const time = (value: LuaValue): LuaValue => host.call(uuidModule, 'to_time_epoch_ms', value)[0]
    expect(time('017F22E2-79B0-7CC3-98C4-DC0C0C07398F')).toBe(1645557742000)
    expect([undefined, '', 'ü', 'not-a-uuid', uuid('new_v4'), 'a'.repeat(1_000_000)].map(time)).toEqual(
      Array.from({ length: 6 }),
    )
    expect(Math.abs(Date.now() - Number(time(uuid('new_v7'))))).toBeLessThan(60_000)
    expect(() => time(5)).toThrow('aip.uuid.to_time_epoch_ms: argument 1 must be a string or nil, but was number')
    expect(() => time({})).toThrow('but was table')
  })

  it('consists of ten functions', () => {
    expect(Object.keys(uuidModule.functions)).toHaveLength(10)
  })

  it('is observed, so that a resumed section gets the same', async () => {
    const recording = hostSection('/')
    const made = await runLua(recording, 'return aip.uuid.new_v7_b58()')
    expect(recording.records.filter(({ k }) => k === 'obs')).toMatchObject([
      { name: 'aip.uuid.new_v7_b58', value: [made] },
    ])
  })

  it('returns integers and errors as Lua expects them', async () => {
    const { run } = agentWorld({
      'a.lua': `
local ok, problem = pcall(aip.uuid.to_time_epoch_ms, true)
return {
  math.type(aip.uuid.to_time_epoch_ms("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")),
  aip.uuid.to_time_epoch_ms(nil) == nil, ok, tostring(problem):find("must be a string or nil, but was boolean", 1, true) ~= nil,
}`,
    })
    expect((await run('a.lua')).outputs).toEqual([['integer', true, false, true]])
  })
})
