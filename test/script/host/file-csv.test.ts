import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { fileModule } from '../../../src/script/host/file.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const workspace = tempTree({
  'example.csv': 'id,name,email\n1,Alice,alice@example.com\n2,Bob,bob@example.com\n',
  'only.csv': '\uFEFFid,"full\nname"',
  'empty.csv': '',
  'open.csv': 'a,b\n1,"2\n',
  'spans.csv': 'a,b\r\n"x\n""y""\n",ü\n\nlast,row',
})
writeFileSync(join(workspace, 'latin1.csv'), Buffer.from('Gr\u00f6\u00dfe,b\n1,2\n', 'latin1'))
const host = hostSection(workspace)
const file = (name: string, ...args: readonly LuaValue[]): Promise<LuaValue> => host.wait(fileModule, name, ...args)
const saved = (path: string): string => readFileSync(join(workspace, path), 'utf8')

describe('aip.file and reading CSV', () => {
  it('loads rows with and without a header', async () => {
    const rows = [
      ['1', 'Alice', 'alice@example.com'],
      ['2', 'Bob', 'bob@example.com'],
    ]
    const headers = ['id', 'name', 'email']
    expect(await file('load_csv', 'example.csv')).toEqual({ _type: 'CsvContent', headers, rows })
    expect(await file('load_csv', 'example.csv', { has_header: false })).toMatchObject({
      headers: [],
      rows: [headers, ...rows],
    })
    expect(await file('load_csv', 'example.csv', { header_labels: { ID: 'id' } })).toMatchObject({
      headers: ['ID', 'name', 'email'],
    })
    expect(await file('load_csv', 'empty.csv')).toMatchObject({ headers: [], rows: [] })
  })

  it('loads only headers', async () => {
    expect(await file('load_csv_headers', 'example.csv')).toEqual(['id', 'name', 'email'])
    expect(await file('load_csv_headers', 'only.csv')).toEqual(['id', 'full\nname'])
    expect(await file('load_csv_headers', 'empty.csv')).toEqual([])
    expect(await file('load_csv_headers', 'open.csv')).toEqual(['a', 'b'])
  })

  it('finds the header of a large file, wherever its chunks end', async () => {
    const long = `"${'ü\n'.repeat(50_000)}"`
    writeFileSync(join(workspace, 'large.csv'), `id,${long},x\n${'1,2,3\n'.repeat(60_000)}"never closed`)
    expect(await file('load_csv_headers', 'large.csv')).toEqual(['id', 'ü\n'.repeat(50_000), 'x'])
    await expect(file('load_csv', 'large.csv')).rejects.toThrow(
      'aip.file.load_csv: large.csv: a quote is not closed (line 110002)',
    )
  })

  it('reports errors', async () => {
    await expect(file('load_csv', 'open.csv')).rejects.toThrow('open.csv: a quote is not closed (line 2)')
    await expect(file('load_csv', 'nope.csv')).rejects.toThrow('there is no file nope.csv')
    await expect(file('load_csv', undefined)).rejects.toThrow('the path must be a string, but was nil')
    await expect(file('load_csv', 'latin1.csv')).rejects.toThrow('latin1.csv is not UTF-8 text')
    await expect(file('load_csv_headers', 'latin1.csv')).rejects.toThrow('latin1.csv is not UTF-8 text')
    await expect(file('load_csv_headers', undefined)).rejects.toThrow('the path must be a string, but was nil')
  })

  it('returns the byte range of each row, for read_span', () => {
    const [spans] = host.call(fileModule, 'csv_row_spans', 'spans.csv')
    expect(spans).toEqual([
      [0, 3],
      [5, 18],
      [19, 19],
      [20, 28],
    ])
    const texts = (spans as readonly (readonly [number, number])[]).map(
      ([start, end]) => host.call(fileModule, 'read_span', 'spans.csv', start, end)[0],
    )
    expect(texts).toEqual(['a,b', '"x\n""y""\n",ü', '', 'last,row'])
    expect(host.call(fileModule, 'csv_row_spans', 'empty.csv')).toEqual([[]])
  })

  it('returns the same rows wherever the chunks of a large file end', () => {
    const row = '"a ""quoted"" line\r\nand another",x\r\n'
    writeFileSync(join(workspace, 'spans-large.csv'), row.repeat(20_000))
    const [spans] = host.call(fileModule, 'csv_row_spans', 'spans-large.csv')
    const expected = Array.from({ length: 20_000 }, (_, index) => [index * row.length, (index + 1) * row.length - 2])
    expect(spans).toEqual(expected)
  })

  it('returns no rows of an unreadable file', () => {
    const spans = (path: LuaValue) => () => host.call(fileModule, 'csv_row_spans', path)
    execFileSync('mkfifo', [join(workspace, 'pipe.csv')])
    expect(spans('pipe.csv')).toThrow('pipe.csv is a device or pipe, not a file')
    expect(spans('.')).toThrow('is a folder, not a file')
    expect(spans('nope.csv')).toThrow('there is no file nope.csv')
    expect(spans(undefined)).toThrow('the path must be a string, but was nil')
  })
})

describe('aip.file and writing CSV', () => {
  it('saves rows, with the first as the header only if configured', async () => {
    const rows = [
      ['name', 'age'],
      ['Alice', 30],
      ['B, "ü"', null],
    ]
    const labels = { header_labels: { name: 'Full Name' } }
    expect(await file('save_as_csv', 'new/a.csv', rows, labels)).toMatchObject({ _type: 'FileInfo', path: 'new/a.csv' })
    expect(saved('new/a.csv')).toBe('name,age\nAlice,30\n"B, ""ü""",\n')
    await file('save_as_csv', 'new/a.csv', rows, { ...labels, has_header: true })
    expect(saved('new/a.csv')).toBe('Full Name,age\nAlice,30\n"B, ""ü""",\n')
    await file('save_as_csv', 'new/a.csv', rows, { has_header: true, skip_header_row: true, delimiter: ';' })
    expect(saved('new/a.csv')).toBe('Alice;30\n"B, ""ü""";\n')
  })

  it('saves headers and rows, separately, or nothing', async () => {
    const code = `
      aip.file.save_as_csv("s/both.csv", { headers = { "a", "b" }, rows = { { 1, { x = 1 } } } }, { header_labels = { a = "A" } })
      aip.file.save_as_csv("s/headers.csv", { headers = { "a", "b" } })
      aip.file.save_as_csv("s/rows.csv", { rows = { { 1, 2 }, {} } })
      return aip.file.save_as_csv("s/empty.csv", {}).size
    `
    expect(await runLua(host, code)).toBe(0)
    expect(saved('s/both.csv')).toBe('A,b\n1,"{""x"":1}"\n')
    expect(saved('s/headers.csv')).toBe('a,b\n')
    expect(saved('s/rows.csv')).toBe('1,2\n""\n')
    expect(saved('s/empty.csv')).toBe('')
  })

  it('saves records under the given keys', async () => {
    const code = `
      local records = { { id = 1, name = "Alice", more = 1 }, { name = null, id = 2 }, {}, { "list" } }
      return aip.file.save_records_as_csv("r.csv", records, { "name", "id", "length" }, { header_labels = { id = "ID" } }).path
    `
    expect(await runLua(host, code)).toBe('r.csv')
    expect(saved('r.csv')).toBe('name,ID,length\nAlice,1,\n,2,\n,,\n,,\n')
    await file('save_records_as_csv', 'r.csv', [], [])
    expect(saved('r.csv')).toBe('')
  })

  it('appends rows and never a header', async () => {
    const code = `
      aip.file.append_csv_row("new/log.csv", { "Alice", 30 }, { has_header = true })
      aip.file.append_csv_rows("new/log.csv", { { "Bob", 25 }, { "C;D", true } }, { delimiter = ";" })
      return aip.file.append_csv_rows("new/log.csv", {}).path
    `
    expect(await runLua(host, code)).toBe('new/log.csv')
    expect(saved('new/log.csv')).toBe('Alice,30\nBob;25\n"C;D";true\n')
    await file('append_csv_rows', 'new/none.csv', [])
    expect(saved('new/none.csv')).toBe('')
  })

  it('begins a new line if a file ends within one', async () => {
    writeFileSync(join(workspace, 'no-end.csv'), 'a,b')
    await file('append_csv_row', 'no-end.csv', [1, 2])
    await file('append_csv_row', 'no-end.csv', [3, 4])
    expect(saved('no-end.csv')).toBe('a,b\n1,2\n3,4\n')
  })

  it('changes nothing after an error', async () => {
    await expect(file('save_as_csv', '../x.csv', [[1]])).rejects.toThrow('outside the workspace')
    await expect(file('append_csv_row', '../x.csv', [1])).rejects.toThrow('outside the workspace')
    await expect(file('append_csv_row', 'new', [1])).rejects.toThrow('new is a folder, not a file')
    await expect(file('save_as_csv', 'x.csv', 'text')).rejects.toThrow('the data must be a table, but was string')
    await expect(file('save_as_csv', 'x.csv', { a: 1 })).rejects.toThrow('the data must be a list of rows, or a table')
    await expect(file('save_as_csv', 'x.csv', [[1], 'no'])).rejects.toThrow(
      'aip.file.save_as_csv: row 2 must be a list, but was string',
    )
    await expect(file('save_as_csv', 'x.csv', { headers: [1] })).rejects.toThrow('headers[1] must be a string')
    await expect(file('save_as_csv', 'x.csv', { rows: null })).rejects.toThrow(
      'the rows must be a list, but was userdata',
    )
    await expect(file('save_records_as_csv', 'x.csv', [{}], undefined)).rejects.toThrow(
      'header_keys must be a list, but was nil',
    )
    await expect(file('save_records_as_csv', 'x.csv', [1], ['a'])).rejects.toThrow('record 1 must be a table')
    await expect(file('append_csv_rows', 'x.csv', undefined)).rejects.toThrow('the rows must be a list, but was nil')
    await expect(file('append_csv_row', 'x.csv', 'a')).rejects.toThrow('the values must be a list, but was string')
    expect(host.call(fileModule, 'exists', 'x.csv')).toEqual([false])
  })

  it('records each change at the place of the call', async () => {
    const { records, ...fresh } = hostSection(tempTree({ 'a.csv': 'x' }))
    await fresh.wait(fileModule, 'append_csv_row', 'a.csv', ['y'])
    expect(records.map(({ k, ...rest }) => [k, 'p' in rest ? rest.p : ''])).toEqual([
      ['obs', 'call/read'],
      ['started', 'call'],
      ['ended', 'call'],
    ])
  })
})
