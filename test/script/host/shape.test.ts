import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const workspace = tempTree()

async function lua(code: string, variables: { readonly [name: string]: LuaValue } = {}): Promise<unknown> {
  return runLua(hostSection(workspace), code, variables)
}

describe('aip.shape: rows and records', () => {
  it('84: to_record uses as many as there are of both', async () => {
    expect(await lua('return aip.shape.to_record({ "id", "name" }, { 1, "Alice", true })')).toEqual({
      id: 1,
      name: 'Alice',
    })
    expect(await lua('return aip.shape.to_record({ "id", "name", "x" }, { 1, false })')).toEqual({ id: 1, name: false })
    await expect(lua('return aip.shape.to_record({ "id", 2 }, { 1, 2 })')).rejects.toThrow(
      'aip.shape.to_record: names[2] must be a string, but was number',
    )
  })

  it('to_records creates a record for each row', async () => {
    const code = 'return aip.shape.to_records({ "ü", "b" }, { { 1, null }, { 2, 3, 4 }, {} })'
    expect(await lua(code)).toEqual([{ ü: 1, b: null }, { ü: 2, b: 3 }, {}])
    expect(await lua('return #aip.shape.to_records({ "a" }, {})')).toBe(0)
    await expect(lua('return aip.shape.to_records({ "a" }, { {}, "x" })')).rejects.toThrow(
      'aip.shape.to_records: row 2 must be a table, but was string',
    )
  })

  it('preserves functions and the identity of tables', async () => {
    const code = `
      local inner = {}
      local record = aip.shape.to_record({ "f", "t" }, { print, inner })
      local columns = aip.shape.records_to_columnar({ record })
      return { record.f == print, record.t == inner, columns.t[1] == inner, aip.shape.record_to_values(record)[2] == inner }
    `
    expect(await lua(code)).toEqual([true, true, true, true])
  })

  it('85: record_to_values sorts by key, or uses names with null for missing ones', async () => {
    const record = { id: 1, name: 'Alice', email: 'a@x.com' }
    expect(await lua('return aip.shape.record_to_values(input)', { input: record })).toEqual(['a@x.com', 1, 'Alice'])
    expect(
      await lua('return aip.shape.record_to_values(input, { "name", "id", "missing" })', { input: record }),
    ).toEqual(['Alice', 1, null])
    expect(await lua('return aip.shape.record_to_values({ "list", b = 2, Z = 1, ["é"] = 4, c = 3 })')).toEqual([
      1, 2, 3, 4,
    ])
    await expect(lua('aip.shape.record_to_values({}, { true })')).rejects.toThrow(
      'names[1] must be a string, but was boolean',
    )
  })

  it('records_to_value_lists does the same for each record', async () => {
    const code = 'return aip.shape.records_to_value_lists({ { id = 1, name = "A" }, { id = false } }, { "id", "name" })'
    expect(await lua(code)).toEqual([
      [1, 'A'],
      [false, null],
    ])
    await expect(lua('aip.shape.records_to_value_lists({ {} })')).rejects.toThrow(
      'names must be a list of strings, but was nil',
    )
  })

  it('86: columns of different lengths are an error, and a key missing in one record is omitted', async () => {
    expect(await lua('return aip.shape.columnar_to_records({ id = { 1, 2 }, name = { "A", "B" } })')).toEqual([
      { id: 1, name: 'A' },
      { id: 2, name: 'B' },
    ])
    await expect(lua('aip.shape.columnar_to_records({ id = { 1, 2 }, name = { "A" } })')).rejects.toThrow(
      'aip.shape.columnar_to_records: all columns must have the same length, but id has 2 and name has 1',
    )
    expect(
      await lua(
        'return aip.shape.records_to_columnar({ { id = 1, a = 1, b = 1 }, { id = 2, a = 2 }, { id = 3, b = 3, c = 3 } })',
      ),
    ).toEqual({ id: [1, 2, 3] })
  })

  it('accepts empty columns and no records', async () => {
    const code = `
      local shape = aip.shape
      return { #shape.columnar_to_records({}), #shape.columnar_to_records({ a = {} }), next(shape.records_to_columnar({})) == nil }
    `
    expect(await lua(code)).toEqual([0, 0, true])
  })

  it('converts many records to columns and back', async () => {
    const code = `
      local records = {}
      for index = 1, 20000 do records[index] = { id = index, name = "n" .. index } end
      local again = aip.shape.columnar_to_records(aip.shape.records_to_columnar(records))
      return { #again, again[20000].id, again[20000].name }
    `
    expect(await lua(code)).toEqual([20_000, 20_000, 'n20000'])
  })
})

describe('aip.shape: keys', () => {
  it('select_keys and omit_keys create new records', async () => {
    const code = `
      local record = { id = 1, name = "A", ok = false, "first" }
      return { aip.shape.select_keys(record, { "id", "ok", "none" }), aip.shape.omit_keys(record, { "id", 'none' }), record.id }
    `
    const [selected, omitted, id] = (await lua(`${code}`)) as [unknown, unknown, unknown]
    expect(selected).toEqual({ id: 1, ok: false })
    expect(id).toBe(1)
    expect(omitted).toEqual(['first'])
    expect(await lua('return aip.shape.omit_keys({ a = 1, b = 2 }, { "a" })')).toEqual({ b: 2 })
  })

  it('87: remove_keys counts the removed ones, extract_keys moves them', async () => {
    const removed = 'local r = { id = 1, name = "A" } return { aip.shape.remove_keys(r, { "email", "id", "id" }), r }'
    expect(await lua(removed)).toEqual([1, { name: 'A' }])
    const extracted = `
      local r = { id = 1, name = "A", email = "e" }
      return { aip.shape.extract_keys(r, { "id", "email", "none" }), r }
    `
    expect(await lua(extracted)).toEqual([{ id: 1, email: 'e' }, { name: 'A' }])
  })
})

describe('errors of aip.shape', () => {
  it.each([
    ['to_record("a", {})', 'names must be a list of strings, but was string'],
    ['to_record({ "a" })', 'values must be a table, but was nil'],
    ['to_records({ "a" }, null)', 'the rows must be a list, but was userdata'],
    ['record_to_values(5)', 'record must be a table, but was number'],
    ['records_to_value_lists({ 1 }, { "a" })', 'record 1 must be a table, but was number'],
    ['columnar_to_records({ { 1 } })', 'the names of columns must be strings, but one was number'],
    ['columnar_to_records({ a = 1 })', 'column a must be a list, but was number'],
    ['records_to_columnar({ { a = 1 }, { 1 } })', 'the keys of record 2 must be strings, but one was number'],
    ['records_to_columnar(nil)', 'the records must be a list, but was nil'],
    ['select_keys({}, { 1 })', 'keys[1] must be a string, but was number'],
    ['omit_keys(nil, {})', 'record must be a table, but was nil'],
    ['remove_keys({}, "a")', 'keys must be a list of strings, but was string'],
    ['extract_keys({}, { "a", {} })', 'keys[2] must be a string, but was table'],
  ])('%s fails at the line of the script', async (call, message) => {
    const name = call.slice(0, call.indexOf('('))
    await expect(lua(`\nlocal result = aip.shape.${call}`)).rejects.toMatchObject({
      code: 'SCRIPT_FAILED',
      message: `aip.shape.${name}: ${message}`,
      place: { line: 2 },
    })
  })

  it('can be caught', async () => {
    expect(await lua('local ok, e = pcall(aip.shape.to_record, 1) return { ok, tostring(e) }')).toEqual([
      false,
      'aip.shape.to_record: names must be a list of strings, but was number',
    ])
  })
})
