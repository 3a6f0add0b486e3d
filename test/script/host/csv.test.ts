import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { csvModule } from '../../../src/script/host/csv.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const host = hostSection(tempTree())
const csv = (name: string, ...args: readonly LuaValue[]): Promise<LuaValue> => host.wait(csvModule, name, ...args)
const lua = (code: string, variables = {}): Promise<unknown> => runLua(host, code, variables)

describe('aip.csv.parse_row', () => {
  it('60: removes quotes', async () => {
    expect(await csv('parse_row', 'a,"b,c",d')).toEqual(['a', 'b,c', 'd'])
  })

  it('parses only the first row, whatever the options for headers and comments', async () => {
    const options = { has_header: true, comment: '#', header_labels: { x: '#a' } }
    expect(await csv('parse_row', '#a,1\nb,2', options)).toEqual(['#a', '1'])
    expect(await csv('parse_row', '')).toEqual([])
    expect(await csv('parse_row', "ü;'😀;'; x ", { delimiter: ';;', quote: "'", trim_fields: true })).toEqual([
      'ü',
      '😀;',
      'x',
    ])
    expect(await csv('parse_row', 'a,b', { delimiter: '', quote: '', escape: '' })).toEqual(['a', 'b'])
    expect(await csv('parse_row', 5)).toEqual(['5'])
  })

  it('reports errors', async () => {
    await expect(csv('parse_row', undefined)).rejects.toThrow(
      'aip.csv.parse_row: the row must be a string, but was nil',
    )
    await expect(csv('parse_row', 'a,"b')).rejects.toThrow('aip.csv.parse_row: the row: a quote is not closed (line 1)')
    await expect(csv('parse_row', 'a', { trim_fields: 'yes' })).rejects.toThrow('the option trim_fields must be true')
    await expect(csv('parse_row', 'a', 'x')).rejects.toThrow('the options must be a table, but were string')
  })
})

describe('aip.csv.parse', () => {
  it('61: skips comments and empty lines, and returns strings', async () => {
    const text = '# comment\nname,age\nJohn,30\n\nJane,25\n'
    expect(await csv('parse', text, { has_header: true, comment: '#', skip_empty_lines: true })).toEqual({
      _type: 'CsvContent',
      headers: ['name', 'age'],
      rows: [
        ['John', '30'],
        ['Jane', '25'],
      ],
    })
  })

  it('62: returns columns under the keys of their labels', async () => {
    const options = { header_labels: { id: 'ID', name: 'Full Name' } }
    expect(await csv('parse', 'ID,Full Name,Age\n1,Alice,30', options)).toMatchObject({
      headers: ['id', 'name', 'Age'],
      rows: [['1', 'Alice', '30']],
    })
  })

  it('has no headers if configured', async () => {
    expect(await csv('parse', 'a,b\n1', { has_header: false })).toEqual({
      _type: 'CsvContent',
      headers: [],
      rows: [['a', 'b'], ['1']],
    })
    expect(await csv('parse', '')).toEqual({ _type: 'CsvContent', headers: [], rows: [] })
  })

  it('keeps rows of empty cells if configured; a line without any character is never a row', async () => {
    const text = 'a,b\n,\n\n  ,\t\n1,2'
    expect(await csv('parse', text)).toMatchObject({ rows: [['1', '2']] })
    expect(await csv('parse', text, { skip_empty_lines: false })).toMatchObject({
      rows: [
        ['', ''],
        ['  ', '\t'],
        ['1', '2'],
      ],
    })
  })

  it('reports errors', async () => {
    await expect(csv('parse', undefined)).rejects.toThrow('aip.csv.parse: the content must be a string, but was nil')
    await expect(csv('parse', null)).rejects.toThrow('the content must be a string, but was nil')
    await expect(csv('parse', 'a\n"b')).rejects.toThrow('aip.csv.parse: the content: a quote is not closed (line 2)')
    await expect(csv('parse', 'a', { header_labels: { id: 1 } })).rejects.toThrow(
      'the option header_labels.id must be a string, but was number',
    )
    await expect(csv('parse', 'a', { header_labels: ['a'] })).rejects.toThrow('must be a table of key = label')
    await expect(csv('parse', 'a', { has_header: 0 })).rejects.toThrow('the option has_header must be true or false')
  })

  it('reads many rows from Lua, and its errors can be caught', async () => {
    const code = `
      local lines = { "id,name" }
      for index = 1, 5000 do lines[#lines + 1] = index .. ',"ü ' .. index .. '"' end
      local content = aip.csv.parse(table.concat(lines, "\\n"))
      local ok, problem = pcall(aip.csv.parse, 'a,"b')
      return { #content.rows, content.rows[5000][2], ok, tostring(problem) }
    `
    expect(await lua(code)).toEqual([
      5000,
      'ü 5000',
      false,
      'aip.csv.parse: the content: a quote is not closed (line 1)',
    ])
  })
})

describe('aip.csv.values_to_row and value_lists_to_rows', () => {
  it('63: writes values as one line', async () => {
    const code = `
      return {
        aip.csv.values_to_row({ "a", 123, true, nil }),
        aip.csv.values_to_row({ "a,b", 'c "d"' }),
        aip.csv.values_to_row({ "line\\nbreak", 12.34, "" }),
        aip.csv.values_to_row({ "a", { b = 1 } }),
      }
    `
    expect(await lua(code)).toEqual(['a,123,true', '"a,b","c ""d"""', '"line\nbreak",12.34,', 'a,"{""b"":1}"'])
    await expect(lua('return aip.csv.values_to_row({ "a", function() end })')).rejects.toThrow('function')
  })

  it('64: writes lists as a list of lines', async () => {
    expect(
      await csv('value_lists_to_rows', [
        ['a', 1],
        ['b,c', 2],
      ]),
    ).toEqual(['a,1', '"b,c",2'])
    expect(await csv('value_lists_to_rows', [['a', 1]], { delimiter: '|' })).toEqual(['a|1'])
    expect(await csv('value_lists_to_rows', [])).toEqual([])
  })

  it('ends at the first nil, writes null as an empty cell and tables as data', async () => {
    const code = `
      return {
        aip.csv.values_to_row({ 1, null, 2.0, nil, 5 }),
        aip.csv.values_to_row({ {}, { 1, x = null }, -3, x = 1 }, { delimiter = ";" }),
        aip.csv.values_to_row({}),
        aip.csv.values_to_row({ 9223372036854775807 }),
      }
    `
    expect(await lua(code)).toEqual(['1,,2', '[];"{""1"":1,""x"":null}";-3', '""', '9223372036854775807'])
  })

  it('names the invalid value', async () => {
    await expect(csv('values_to_row', 'x')).rejects.toThrow(
      'aip.csv.values_to_row: the values must be a list, but was string',
    )
    await expect(csv('values_to_row', undefined)).rejects.toThrow('the values must be a list, but was nil')
    await expect(csv('values_to_row', [1, new Uint8Array([255])])).rejects.toThrow(
      'the values[2] is a string that is not',
    )
    await expect(csv('values_to_row', [{ a: Number.NaN }])).rejects.toThrow('the values[1]: the value.a is NaN')
    await expect(csv('value_lists_to_rows', [[1], 2])).rejects.toThrow(
      'aip.csv.value_lists_to_rows: row 2 must be a list, but was number',
    )
    await expect(csv('value_lists_to_rows', [[1], [{ a: Number.NaN }]])).rejects.toThrow('row 2[1]: the value.a is NaN')
    await expect(csv('value_lists_to_rows', 5)).rejects.toThrow('the rows must be a list, but was number')
  })

  it('survives a round trip', async () => {
    const code = `
      local row = { "a", "", "b\\r\\n", '"', "ü, 😀" }
      return aip.csv.parse_row(aip.csv.values_to_row(row))
    `
    expect(await lua(code)).toEqual(['a', '', 'b\r\n', '"', 'ü, 😀'])
  })
})
