import { expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { luaCall, luaResult } from './lua-calls.ts'

const fence = '```'

it('67: extract_blocks of one language keeps the others in the rest', async () => {
  const text = `a\n${fence}lua\nreturn 1\n${fence}\nb\n${fence}rust\nfn x() {}\n${fence}\nc\n`
  const [blocks, rest] = await luaCall('md.extract_blocks', [text, { lang: 'lua', extrude: 'content' }])
  expect(blocks).toEqual([expect.objectContaining({ lang: 'lua', content: 'return 1\n' })])
  expect(rest).toContain(`${fence}rust\nfn x() {}\n${fence}`)
  expect(rest).not.toContain('return 1')
})

it('68: extract_meta merges two blocks and removes both from the text', async () => {
  const block = (line: string): string => `${fence}toml\n#!meta\n${line}\n${fence}\n`
  const text = `before\n${block('some = "stuff"')}between\n${block('num = 123')}after\n`
  const [meta, rest] = await luaCall('md.extract_meta', [text])
  expect(meta).toEqual({ some: 'stuff', num: 123 })
  expect(rest).toMatch(/before\n[^]*between\n[^]*after/)
  expect(rest).not.toContain(fence)
})

it.each([
  ['[this link](https://example.com)', 'https://example.com', 'Url', false],
  ['[docs](docs/page.md)', 'docs/page.md', 'File', false],
  ['![image](assets/photo.jpg)', 'assets/photo.jpg', 'File', true],
  ['[go](#my-section)', '#my-section', 'Anchor', false],
  ['[x](//example.com)', '//example.com', 'Url', false],
])('69: extract_refs describes what %s refers to', async (text, target, kind, inline) => {
  const [refs] = await luaCall('md.extract_refs', [text])
  expect(refs).toEqual([expect.objectContaining({ target, kind, inline })])
})

it('70: extract_refs skips code, and returns an empty list for nil', async () => {
  expect(await luaCall('md.extract_refs', [`${fence}\n[a](b)\n${fence}\n\`[c](d)\` end`])).toEqual([[]])
  expect(await luaResult('return #aip.md.extract_refs(nil)')).toBe(0)
})

it('71: outer_block_content_or_raw ends at the last fence, and preserves text before a fence', async () => {
  const raw = (text: string): Promise<readonly Json[]> => luaCall('md.outer_block_content_or_raw', [text])
  expect(await raw(`${fence}\n${fence}\nText before.\nText after.`)).toEqual(['\n'])
  const unchanged = `Text before.\n${fence}lua\nreturn 1\n${fence}\n`
  expect(await raw(unchanged)).toEqual([unchanged])
})

it('74: json.parse accepts comments, returns nil for nil, and reports errors', async () => {
  expect(await luaCall('json.parse', ['{\n // a comment\n "a": [1, 2]\n}'])).toEqual([{ a: [1, 2] }])
  expect(await luaResult('return aip.json.parse(nil) == nil')).toBe(true)
  await expect(luaCall('json.parse', ['{invalid_json}'])).rejects.toThrow('json.parse failed')
})

it('75: parse_ndjson skips blank lines and names an invalid line', async () => {
  expect(await luaCall('json.parse_ndjson', ['{"a":1}\n\n{"a":2}\n\n{"a":3}\n'])).toEqual([
    [{ a: 1 }, { a: 2 }, { a: 3 }],
  ])
  await expect(luaCall('json.parse_ndjson', ['{"a":1}\nnot json\n'])).rejects.toThrow('line 2')
})

it('83: merge and merge_deep modify their first table and return it', async () => {
  const code = `
    local flat, deep = { a = 1 }, { a = 1, b = { x = 10, y = 20 } }
    local merged = aip.lua.merge(flat, { b = 2 }, { c = 3, a = 10 })
    local joined = aip.lua.merge_deep(deep, { b = { y = 22, z = 30 }, c = 3 })
    return { flat = flat, deep = deep, same = merged == flat and joined == deep }`
  expect(await luaResult(code)).toEqual({
    flat: { a: 10, b: 2, c: 3 },
    deep: { a: 1, b: { x: 10, y: 22, z: 30 }, c: 3 },
    same: true,
  })
})
