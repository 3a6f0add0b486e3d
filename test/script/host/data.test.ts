import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { fileModule } from '../../../src/script/host/file.ts'
import { tomlModule, yamlModule } from '../../../src/script/host/data.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const workspace = tempTree({
  'a.toml': 'title = "ü"\n[owner]\nage = 5\n',
  'bad.toml': 'ok = 1\nbad = [1,,]\n',
  'a.yaml': 'a: 1\n---\n- x\n- null\n',
  'bad.yaml': 'a: 1\nb: [1\n',
  'rows.ndjson': '{"a":1}\n\n[null, 2.5]\r\n"ü"\n',
  'bad.ndjson': '{"a":1}\n{a:2}\n',
})
const host = hostSection(workspace)
const toml = (name: string, value: LuaValue): Promise<LuaValue> => host.wait(tomlModule, name, value)
const yaml = (name: string, value: LuaValue): Promise<LuaValue> => host.wait(yamlModule, name, value)

function saved(path: string): string {
  return readFileSync(join(workspace, path), 'utf8')
}

describe('aip.toml', () => {
  it('parses a document', async () => {
    const text = 'title = "Example"\nyear = 2024\nratio = 0.5\nday = 2024-05-06\n[owner]\nname = "J"\n[[rows]]\nx = 1\n'
    expect(await toml('parse', text)).toEqual({
      title: 'Example',
      year: 2024,
      ratio: 0.5,
      day: '2024-05-06',
      owner: { name: 'J' },
      rows: [{ x: 1 }],
    })
    expect(await toml('parse', '')).toEqual({})
  })

  it('keeps integers of 64 bits, and refuses larger ones', async () => {
    const text = 'a = 9007199254740993\nb = [-9223372036854775808]\nc = 9007199254740991\nd = 0x7fffffffffffffff'
    expect(await toml('parse', text)).toEqual({
      a: 9007199254740993n,
      b: [-9223372036854775808n],
      c: 9007199254740991,
      d: 9223372036854775807n,
    })
    await expect(toml('parse', 'x = 1\na = 9223372036854775808')).rejects.toThrow(
      'the text sets a to an integer beyond 64 bits (line 2, column 1)',
    )
  })

  it('locates errors in a document', async () => {
    await expect(toml('parse', 'a = 1\nb = [1, 2,,]')).rejects.toThrow(
      /^aip\.toml\.parse failed: .*\(line 2, column \d+\)$/,
    )
    await expect(toml('parse', undefined)).rejects.toThrow('the text must be a string, but was nil')
  })

  it('writes sorted keys, tables last', async () => {
    const value = {
      title: 'E "ü"',
      year: 2024,
      owner: { name: 'J', email: 'e' },
      tags: ['b', 'a'],
      A: true,
      none: undefined,
    }
    const text = String(await toml('stringify', value))
    expect(text).toBe(
      'A = true\ntags = [ "b", "a" ]\ntitle = "E \\"ü\\""\nyear = 2024\n\n[owner]\nemail = "e"\nname = "J"\n',
    )
    expect(await toml('parse', text)).toEqual({
      title: 'E "ü"',
      year: 2024,
      owner: { name: 'J', email: 'e' },
      tags: ['b', 'a'],
      A: true,
    })
  })

  it('writes big integers completely, and an empty table as nothing', async () => {
    expect(await toml('stringify', { n: 9223372036854775807n })).toBe('n = 9223372036854775807\n')
    expect(String(await toml('stringify', [])).trim()).toBe('')
  })

  it('refuses what TOML cannot represent', async () => {
    await expect(toml('stringify', { a: { b: null } })).rejects.toThrow(
      'the value.a.b is null, which TOML cannot represent',
    )
    await expect(toml('stringify', { a: [1, null] })).rejects.toThrow('the value.a[2] is null')
    await expect(toml('stringify', { a: Number.NaN })).rejects.toThrow('the value.a is NaN')
    await expect(toml('stringify', [1])).rejects.toThrow('but was a list')
    await expect(toml('stringify', 'x')).rejects.toThrow('but was string')
    await expect(toml('stringify', undefined)).rejects.toThrow('but was nil')
  })
})

describe('aip.yaml', () => {
  it('parses all documents', async () => {
    expect(await yaml('parse', 'name: Doc1\nn: null\n---\nname: Doc2\n')).toEqual([
      { name: 'Doc1', n: null },
      { name: 'Doc2' },
    ])
    expect(await yaml('parse', '- 1\n- 2.5\n- yes\n- "ü"\n')).toEqual([[1, 2.5, 'yes', 'ü']])
    expect(await yaml('parse', 'a: &x [1]\nb: *x\n---\ntext\n---\n')).toEqual([{ a: [1], b: [1] }, 'text', undefined])
    expect(await yaml('parse', '')).toEqual([])
    expect(await yaml('parse', undefined)).toBeUndefined()
  })

  it('keeps integers of 64 bits, and converts larger ones to floats', async () => {
    expect(await yaml('parse', 'a: 9007199254740993\nb: -9223372036854775808\nc: 18446744073709551616')).toEqual([
      { a: 9007199254740993n, b: -9223372036854775808n, c: 18446744073709551616 },
    ])
  })

  it('treats << as an ordinary key, and tagged dates and bytes as text', async () => {
    expect(await yaml('parse', 'a: &b {x: 1}\nc:\n  <<: *b\n  y: !!timestamp 2024-01-01\n  z: !!binary aGk=')).toEqual([
      { a: { x: 1 }, c: { '<<': { x: 1 }, y: '2024-01-01', z: 'aGk=' } },
    ])
    await expect(yaml('parse', 'a: !mine x')).rejects.toThrow('Unresolved tag: !mine (line 1, column 4)')
  })

  it('locates errors in a document', async () => {
    await expect(yaml('parse', 'a: 1\n---\nb: [1\nc: 2')).rejects.toThrow(
      /^aip\.yaml\.parse failed: .*\(line [34], column \d+\)$/,
    )
    await expect(yaml('parse', 'a: 1\na: 2')).rejects.toThrow('has the key "a" twice (line 2, column 1)')
    await expect(yaml('parse', {})).rejects.toThrow('the text must be a string or nil, but was table')
  })

  it('writes one document, or several', async () => {
    expect(await yaml('stringify', { name: 'John', age: 30, list: [1, 'two', null], e: [] })).toBe(
      'age: 30\ne: []\nlist:\n  - 1\n  - two\n  - null\nname: John\n',
    )
    expect(await yaml('stringify_multi_docs', [{ name: 'D1' }, { name: 'D2' }])).toBe('name: D1\n---\nname: D2\n')
    expect(await yaml('stringify_multi_docs', {})).toBe('')
    expect(await yaml('stringify', undefined)).toBe('null\n')
  })

  it('survives a round trip', async () => {
    const value = { text: 'a: b\n# no comment\n', yes: 'yes', number: '5', nested: { ü: [{ a: [] }, 'x'.repeat(300)] } }
    expect(await yaml('parse', await yaml('stringify', value))).toEqual([value])
  })

  it('refuses what is not data', async () => {
    await expect(yaml('stringify', { a: [Number.POSITIVE_INFINITY] })).rejects.toThrow('the value.a[1] is Infinity')
    await expect(yaml('stringify', [new Uint8Array([0xff])])).rejects.toThrow(
      'the value[1] is a string that is not UTF-8',
    )
    await expect(yaml('stringify_multi_docs', { a: 1 })).rejects.toThrow('the documents must be a list')
  })

  it('handles null and large lists in Lua', async () => {
    const code = `
      local docs = aip.yaml.parse("a: null\\nb: 4")
      local rows = {}
      for index = 1, 5000 do rows[index] = { id = index } end
      return { is_null(docs[1].a), math.type(docs[1].b), #aip.yaml.parse(aip.yaml.stringify(rows))[1],
        aip.toml.parse(aip.toml.stringify({ n = 3 })).n }
    `
    expect(await runLua(host, code)).toEqual([true, 'integer', 5000, 3])
  })
})

describe('aip.file and data', () => {
  it('loads TOML and YAML', async () => {
    expect(await host.wait(fileModule, 'load_toml', 'a.toml')).toEqual({ title: 'ü', owner: { age: 5 } })
    expect(await host.wait(fileModule, 'load_yaml', 'a.yaml')).toEqual([{ a: 1 }, ['x', null]])
  })

  it('names the file and the line of an error', async () => {
    await expect(host.wait(fileModule, 'load_toml', 'bad.toml')).rejects.toThrow(
      /^aip\.file\.load_toml: bad\.toml .*\(line 2,/,
    )
    await expect(host.wait(fileModule, 'load_yaml', 'bad.yaml')).rejects.toThrow(
      /^aip\.file\.load_yaml: bad\.yaml .*\(line [23],/,
    )
    await expect(host.wait(fileModule, 'load_toml', 'nope')).rejects.toThrow('there is no file nope')
    await expect(host.wait(fileModule, 'load_yaml', undefined)).rejects.toThrow(
      'the path must be a string, but was nil',
    )
  })

  it('loads lines of JSON', () => {
    expect(host.call(fileModule, 'load_ndjson', 'rows.ndjson')[0]).toEqual([{ a: 1 }, [null, 2.5], 'ü'])
    expect(() => host.call(fileModule, 'load_ndjson', 'bad.ndjson')).toThrow(
      /^aip\.file\.load_ndjson: bad\.ndjson: line 2 is not JSON: expected a key but found "a:2}" \(column 2\)$/,
    )
    expect(() => host.call(fileModule, 'load_ndjson', '../x')).toThrow('there is no file')
  })

  it('appends lines of JSON with sorted keys (vector 54)', async () => {
    const code = `
      aip.file.append_json_line("new/out.ndjson", { name = "item2", active = true, tags = { "a", "b" }, x = nil })
      aip.file.append_json_lines("new/out.ndjson", { { b = null, a = "ü" }, {}, 5 })
      aip.file.append_json_line("new/out.ndjson", nil)
      local info = aip.file.append_json_lines("new/empty.ndjson", {})
      return { info._type, info.size, #aip.file.load_ndjson("new/out.ndjson") }
    `
    expect(await runLua(host, code)).toEqual(['FileInfo', 0, 5])
    expect(saved('new/out.ndjson')).toBe(
      '{"active":true,"name":"item2","tags":["a","b"]}\n{"a":"ü","b":null}\n[]\n5\nnull\n',
    )
    expect(saved('new/empty.ndjson')).toBe('')
  })

  it('appends nothing when a value cannot be written', () => {
    const append =
      (name: string, ...args: readonly LuaValue[]) =>
      () =>
        host.call(fileModule, name, ...args)
    expect(append('append_json_lines', 'x.ndjson', [1, Number.NaN])).toThrow(
      'aip.file.append_json_lines: the value is NaN',
    )
    expect(append('append_json_lines', 'x.ndjson', { a: 1 })).toThrow('the values must be a list')
    expect(append('append_json_line', '../x.ndjson', 1)).toThrow('outside the workspace')
    expect(append('load_ndjson', 'x.ndjson')).toThrow('there is no file x.ndjson')
  })
})
