import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/base/json.ts'
import { agentWorld } from '../helpers/agents.ts'
import { luaCall, luaResult } from './lua-calls.ts'

it.each([
  ['   Lead.\n', { trim_start: true }, 'Lead.\n'],
  ['x.   \n\t', { trim_end: true }, 'x.'],
  ['x', { single_trailing_newline: true }, 'x\n'],
  ['x\n\n\n', { single_trailing_newline: true }, 'x\n'],
  ['   x.  \n\n', { trim_start: true, trim_end: true, single_trailing_newline: true }, 'x.\n'],
])('48: save writes %j with %j as %j', async (content, options, saved) => {
  const code = 'aip.file.save("out.md", input[1], input[2]) return aip.file.load("out.md").content'
  expect(await luaResult(code, [content, options])).toBe(saved)
})

it('49: save refuses .. and allows the support folder of the base', async () => {
  const code = `
    local ok, err = pcall(aip.file.save, "../outside.txt", "x")
    aip.file.save("ns@p$base/notes.txt", "kept")
    return { ok = ok, err = tostring(err) }`
  const { run, folder } = agentWorld({ 'a.lua': code })
  const [result] = (await run('a.lua')).outputs
  expect(result).toEqual({ ok: false, err: expect.stringContaining('outside the workspace') })
  expect(existsSync(join(folder, '../outside.txt'))).toBe(false)
  expect(readFileSync(join(folder, 'home/.aipack-base/support/pack/ns/p/notes.txt'), 'utf8')).toBe('kept')
})

it('50: ensure_dir reports whether it created the folder, and fails on a file', async () => {
  const code = `
    local made, again = aip.file.ensure_dir("new/dir"), aip.file.ensure_dir("new/dir")
    return { made, again, (pcall(aip.file.ensure_dir, "a.txt")) }`
  expect(await luaResult(code, null, { 'a.txt': '' })).toEqual([true, false, false])
})

it('51: exists for folders, files of packs and missing packs', async () => {
  const paths = ['docs', 'docs/', './docs/..', 'ns@p/main.aip', 'ns@p$workspace/extra/test.txt', 'no@pack']
  const code = 'local found = {} for i, path in ipairs(input) do found[i] = aip.file.exists(path) end return found'
  const files = {
    'docs/a.md': '',
    '.aipack/pack/custom/ns/p/main.aip': '',
    '.aipack/support/pack/ns/p/extra/test.txt': '',
  }
  expect(await luaResult(code, paths, files)).toEqual([true, true, true, true, true, false])
})

const tree = {
  'main.aip': '',
  'other/b.aip': '',
  'sub-dir-a/one.aip': '',
  'sub-dir-a/sub-sub-dir/two.aip': '',
  'sub-dir-a/sub-sub-dir/three.aip': '',
}

async function listed(globs: Json, options: JsonObject): Promise<readonly string[]> {
  const [infos] = await luaCall('file.list', [globs, options], tree)
  return (infos as readonly { readonly path: string }[]).map(({ path }) => path)
}

it('52: list omits what a glob excludes, also with absolute paths', async () => {
  const paths = await listed(['**/*.aip', '!sub-dir-a/**/*.aip'], { absolute: true })
  expect(paths.map((path) => path.split('/').at(-1)).toSorted()).toEqual(['b.aip', 'main.aip'])
  expect(paths.filter((path) => !path.startsWith('/') || path.includes('sub-dir-a'))).toEqual([])
})

it('53: list returns paths relative to base_dir', async () => {
  const paths = await listed(['**/*.*'], { base_dir: 'sub-dir-a' })
  expect(paths.toSorted()).toEqual(['one.aip', 'sub-sub-dir/three.aip', 'sub-sub-dir/two.aip'])
})

const sections = 'Preface\n\n# Heading 1\ntext\n## sub heading 1-a\nof a\n## sub heading 1-b\nof b\n# Heading 2\nlast\n'

it('72: load_md_sections by heading', async () => {
  const contents = async (heading: string): Promise<readonly string[]> => {
    const [found] = await luaCall('file.load_md_sections', ['a.md', [heading]], { 'a.md': sections })
    return (found as readonly { readonly content: string }[]).map(({ content }) => content)
  }
  expect(await contents('# Heading 1')).toEqual(['text\n## sub heading 1-a\nof a\n## sub heading 1-b\nof b\n'])
  expect(await contents('## sub heading 1-a')).toEqual(['of a\n'])
  expect(await contents('')).toEqual(['Preface\n\n'])
})

it('73: load_md_split_first returns parts that rebuild the text', async () => {
  const code = `
    local parts = aip.file.load_md_split_first("a.md")
    local first = parts.first
    return { parts.before, parts.before .. first.heading_raw .. first.content .. parts.after }`
  for (const text of [sections, sections.slice(sections.indexOf('#'))]) {
    expect(await luaResult(code, null, { 'a.md': text })).toEqual(['', text])
  }
})
