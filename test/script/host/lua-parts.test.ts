import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

async function lua(code: string, variables: { readonly [name: string]: LuaValue } = {}): Promise<unknown> {
  return runLua(hostSection(tempTree()), code, variables)
}

describe('aip.flow', () => {
  it('creates marker tables without inspecting their content', async () => {
    expect(await lua('return aip.flow.before_all_response(123)')).toEqual({
      _aipack_: { kind: 'BeforeAllResponse', data: 123 },
    })
    expect(await lua('return aip.flow.data_response({ input = "x", data = null })')).toEqual({
      _aipack_: { kind: 'DataResponse', data: { input: 'x', data: null } },
    })
    expect(await lua('return aip.flow.skip("Not applicable")')).toEqual({
      _aipack_: { kind: 'Skip', data: { reason: 'Not applicable' } },
    })
    expect(await lua('return aip.flow.skip()')).toEqual({ _aipack_: { kind: 'Skip', data: {} } })
    expect(await lua('return aip.flow.redo_run()')).toEqual({ _aipack_: { kind: 'Redo' } })
  })

  it('preserves the content, including references and functions', async () => {
    expect(
      await lua(
        'local t = {} local m = aip.flow.data_response({ data = t, f = print }) return m._aipack_.data.data == t',
      ),
    ).toBe(true)
  })
})

describe('aip.lua', () => {
  it('merges into the first table, sharing inner tables', async () => {
    expect(
      await lua('local t = { a = 1 } return { aip.lua.merge(t, { b = 2 }, nil, null, { c = 3, a = 10 }) == t, t }'),
    ).toEqual([true, { a: 10, b: 2, c: 3 }])
    expect(await lua('local inner = {} local t = aip.lua.merge({}, { x = inner }) inner.later = 1 return t')).toEqual({
      x: { later: 1 },
    })
  })

  it('merges deeply, table by table', async () => {
    expect(
      await lua(
        'local t = { a = 1, b = { x = 10, y = 20 } } local b = t.b aip.lua.merge_deep(t, { b = { y = 22, z = 30 }, c = 3 }) return { t, t.b == b }',
      ),
    ).toEqual([{ a: 1, b: { x: 10, y: 22, z: 30 }, c: 3 }, true])
    expect(await lua('return aip.lua.merge_deep({ a = { 1 } }, { a = "text" }, nil, { b = { c = {} } })')).toEqual({
      a: 'text',
      b: { c: {} },
    })
    expect(await lua('local t = { a = {} } t.a.self = t.a return aip.lua.merge_deep(t, t) == t')).toBe(true)
  })

  it.each([
    ['aip.lua.merge({}, "x")', 'cannot merge a non table type, argument 2 was string'],
    ['aip.lua.merge_deep({}, {}, 5)', 'cannot merge a non table type, argument 3 was number'],
    ['aip.lua.merge(nil, {})', 'the first argument must be a table, but was nil'],
  ])('%s is an error at its line', async (code, message) => {
    await expect(lua(`\nlocal merged = ${code}`)).rejects.toMatchObject({
      message: expect.stringContaining(message),
      place: { line: 2 },
    })
  })

  it.each([
    ['nil', 'nil'],
    ['true', 'true'],
    ['42', '42'],
    ['1.5', '1.5'],
    ['3.0', '3'],
    ['0.1 + 0.2', '0.30000000000000004'],
    ['1795295204543455', '1795295204543455'],
    ['math.huge', 'inf'],
    ['0/0', 'NaN'],
    ['"te\\"xt"', '"te"xt"'],
    ['null', 'NULL'],
    ['{}', '{}'],
    ['{ 1, "a" }', '{\n  1 = 1,\n  2 = "a"\n}'],
    ['{ b = { c = {} }, a = null, [true] = 1 }', '{\n  a = NULL,\n  b = {\n    c = {}\n  },\n  true = 1\n}'],
    ['print', '<function>'],
    ['coroutine.create(print)', '<Thread>'],
  ])('dumps %s', async (value, expected) => {
    expect(await lua(`return aip.lua.dump(${value})`)).toBe(expected)
  })

  it('dumps a recursive table', async () => {
    expect(await lua('local t = {} t.self = t return aip.lua.dump({ t, t })')).toBe(
      '{\n  1 = {\n    self = <cycle>\n  },\n  2 = {\n    self = <cycle>\n  }\n}',
    )
  })
})

describe('globals', () => {
  it('distinguish nil and null from values', async () => {
    expect(
      await lua(
        'return { is_null(nil), is_null(null), is_null(false), is_not_null(nil), is_not_null(NULL), is_not_null(0) }',
      ),
    ).toEqual([true, true, false, false, false, true])
    expect(await lua('return { nil_if_null(null) == nil, nil_if_null(5), nil_if_null(false) == false }')).toEqual([
      true,
      5,
      true,
    ])
    expect(
      await lua(
        'return { value_or(nil, null, 3, 4), value_or(false, 1) == false, value_or(nil, null) == null, value_or() == nil }',
      ),
    ).toEqual([3, true, true, true])
  })

  it('distinguish tables, lists and objects', async () => {
    expect(
      await lua(
        'return { is_table({}), is_table(null), is_list({ 1 }), is_list({}), is_list("x"), is_object({}), is_object({ a = 1 }), is_object({ 1 }), is_object(nil) }',
      ),
    ).toEqual([true, false, true, false, false, true, true, false, false])
    expect(await lua('return { is_list(input), is_table(input) }', { input: [] })).toEqual([false, true])
  })

  it('utils and aipack are aliases of aip', async () => {
    expect(await lua('return utils == aip and aipack == aip and utils.text.trim(" x ")')).toBe('x')
  })

  it('print joins with newlines, dumps other values, and becomes an event with the name of the agent', async () => {
    const host = hostSection(tempTree())
    await runLua(host, 'print("a", 1, nil, { b = 2.0 }, null, true) print() print("\\255")')
    expect(host.events).toEqual([
      { type: 'print', name: 'agent', text: 'a\n1\nnil\n{\n  b = 2\n}\nNULL\ntrue' },
      { type: 'print', name: 'agent', text: '' },
      { type: 'print', name: 'agent', text: '\uFFFD' },
    ])
  })
})

describe('host functions seen from Lua', () => {
  it('return several values, nil and the sentinel', async () => {
    expect(
      await lua(
        'local a, b = aip.text.split_first("x=y", "=") local c, d = aip.text.split_first("x", "=") return { a, b, c, d == nil }',
      ),
    ).toEqual(['x', 'y', 'x', true])
    expect(
      await lua(
        'local v = aip.json.parse("{\\"a\\": null, \\"n\\": 4, \\"l\\": []}") return { v.a == null, math.type(v.n), aip.json.stringify(v) }',
      ),
    ).toEqual([true, 'integer', '{"a":null,"l":[],"n":4}'])
    expect(await lua('return aip.json.parse("null") == nil and aip.json.parse(nil) == nil')).toBe(true)
  })

  it('read mixed and empty tables as data when they write JSON', async () => {
    expect(await lua('return aip.json.stringify({ 1, 2, x = {}, y = null })')).toBe('{"1":1,"2":2,"x":[],"y":null}')
    expect(await lua('return aip.json.stringify_pretty({ b = { 1 }, a = "é" })')).toBe(
      '{\n  "a": "é",\n  "b": [\n    1\n  ]\n}',
    )
  })

  it('wait for the parsers of meta blocks, also inside pcall', async () => {
    const text = 'Intro\n```toml\n#!meta\nsome = "stuff"\n```\n\n```yaml\n#!meta\nnum: 123\nlist: [a, null]\n```\nEnd\n'
    expect(
      await lua('local ok, meta, rest = pcall(aip.md.extract_meta, input) return { ok, meta, rest }', { input: text }),
    ).toEqual([true, { some: 'stuff', num: 123, list: ['a', null] }, 'Intro\n\nEnd'])
  })

  it('fail at the line of the call, with their own error as the cause', async () => {
    await expect(lua('\n\nlocal r = aip.file.save("../outside.txt", "x")')).rejects.toMatchObject({
      code: 'SCRIPT_FAILED',
      place: { line: 3 },
      cause: { code: 'OUTSIDE_WORKSPACE' },
      hint: expect.any(String),
    })
    expect(
      await lua(
        'local ok, err = pcall(aip.json.parse, "{bad}") return { ok, (tostring(err):find("json.parse failed", 1, true)) ~= nil }',
      ),
    ).toEqual([false, true])
  })

  it('of os are the time functions, with no access to the outside', async () => {
    expect(await lua('local names = {} for name in pairs(os) do names[#names + 1] = name end return names')).toEqual([
      'clock',
      'date',
      'difftime',
      'time',
    ])
    expect(
      await lua(
        'return os.time({ year = 2024, month = 3, day = 1 }) - os.time({ year = 2024, month = 2, day = 28 }) >= 47 * 3600',
      ),
    ).toBe(true)
    expect(await lua('return os.date("!%Y-%m-%d", 0)')).toBe('1970-01-01')
  })
})
