import { PDFDocument } from '@cantoo/pdf-lib'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { hostModules } from '../../../src/script/host/index.ts'
import { narrow } from '../../../src/event/context.ts'
import { rawZip } from '../../helpers/raw-zip.ts'
import { core } from '../../helpers/series.ts'
import { snapshot } from '../../helpers/baton.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const outside = tempTree({
  'a.md': '# One\nfirst\n# Two\nsecond\n',
  'deep/b.md': 'b',
  'node_modules/x/c.md': '',
  'r.json': '{"n":1}',
  'r.toml': 'n = 1',
  'r.yaml': 'n: 1',
  'r.ndjson': '{"n":1}\n',
  'r.csv': 'n,m\n1,2\n',
  'r.html': '<p>text</p>',
  'no.docx': 'text',
  'z.zip': rawZip([{ name: 'in.txt', data: 'packed' }]),
})
const workspace = tempTree({ 'own.md': 'own' })
symlinkSync(outside, join(workspace, 'link'))
symlinkSync('..', join(outside, 'deep/up'))
symlinkSync('round', join(outside, 'round'))
const pdf = await PDFDocument.create()
pdf.addPage()
writeFileSync(join(outside, 'p.pdf'), await pdf.save())

const atHome = `~/${relative(homedir(), outside)}`
const spellings = { absolute: outside, 'below ~/': atHome, relative: relative(workspace, outside), 'a link': 'link' }
const surroundings = { cwd: workspace, env: { PATH: '/usr/local/bin:/usr/bin:/bin' } }

/** As scripts see an absolute path. */
function shown(path: string): string {
  return path.startsWith(`${homedir()}/`) ? `~${path.slice(homedir().length)}` : path
}

function lua(code: string, dir: string = outside): Promise<unknown> {
  return runLua(hostSection(workspace, { surroundings }), code, { dir })
}

/** Each call is tried with the absolute path and one other spelling; in the whole series with all of them. */
function isTriedWith(spelling: string): (call: unknown, index: number) => boolean {
  const place = Object.keys(spellings).indexOf(spelling)
  return (_, index) => place === 0 || core(index % 3 === place - 1, true)
}

describe.each(Object.entries(spellings))('a script reads outside the workspace, %s', (spelling, dir) => {
  const reads: readonly [string, unknown][] = [
    ['aip.file.load(dir .. "/deep/b.md").content', 'b'],
    ['aip.file.load("deep/b.md", { base_dir = dir }).content', 'b'],
    ['aip.file.exists(dir .. "/a.md")', true],
    ['aip.file.exists(dir .. "/none.md")', false],
    ['aip.file.info(dir .. "/deep/b.md").size', 1],
    ['aip.file.load_json(dir .. "/r.json").n', 1],
    ['aip.file.load_toml(dir .. "/r.toml").n', 1],
    ['aip.file.load_yaml(dir .. "/r.yaml")[1].n', 1],
    ['aip.file.load_ndjson(dir .. "/r.ndjson")[1].n', 1],
    ['#aip.file.load_md_sections(dir .. "/a.md")', 2],
    ['aip.file.load_md_split_first(dir .. "/a.md").after', '# Two\nsecond\n'],
    ['aip.file.load_csv_headers(dir .. "/r.csv")', ['n', 'm']],
    ['aip.file.load_csv(dir .. "/r.csv").rows', [['1', '2']]],
    ['#aip.file.csv_row_spans(dir .. "/r.csv")', 2],
    ['#aip.file.line_spans(dir .. "/a.md")', 4],
    ['aip.file.read_span(dir .. "/a.md", 2, 5)', 'One'],
    ['aip.file.load_html_as_md(dir .. "/r.html")', 'text'],
    ['aip.file.load_html_as_slim(dir .. "/r.html")', expect.stringContaining('text')],
    ['aip.file.hash_sha256(dir .. "/deep/b.md")', '3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d'],
    ['#aip.file.hash_blake3(dir .. "/deep/b.md")', 64],
    ['aip.path.exists(dir .. "/deep")', true],
    ['aip.path.is_file(dir .. "/deep/b.md")', true],
    ['aip.path.is_dir(dir .. "/deep")', true],
    ['aip.zip.list(dir .. "/z.zip")', ['in.txt']],
    ['aip.zip.read_text(dir .. "/z.zip", "in.txt")', 'packed'],
    ['aip.pdf.page_count(dir .. "/p.pdf")', 1],
    ['select(2, pcall(aip.file.load_docx_as_md, dir .. "/no.docx"))', expect.stringContaining('is not a zip archive')],
    ['aip.cmd.exec("pwd", "-P", { cwd = dir }).stdout', `${outside}\n`],
  ]
  it.each(reads.filter(isTriedWith(spelling)))('%s', async (code, expected) => {
    expect(await lua(`return ${code}`, dir)).toEqual(expected)
  })

  it('and copies, packs and unpacks from there into the workspace', async () => {
    const code = `
      aip.file.copy(dir .. "/deep/b.md", "in/copy.md", { overwrite = true })
      aip.zip.create(dir .. "/deep", "in/made.zip")
      aip.zip.extract(dir .. "/z.zip", "in/z")
      aip.pdf.split_pages(dir .. "/p.pdf", "in/pages")
      aip.file.save_html_to_md(dir .. "/r.html", "in/r.md")
      return aip.file.list("in/**")`
    const before = snapshot(outside)
    expect(await lua(code, dir)).toMatchObject([
      { path: 'in/copy.md' },
      { path: 'in/made.zip' },
      { path: 'in/pages/p-page-0001.pdf' },
      { path: 'in/r.md' },
      { path: 'in/z/in.txt' },
    ])
    expect(readFileSync(join(workspace, 'in/copy.md'), 'utf8')).toBe('b')
    expect(snapshot(outside)).toEqual(before)
  })

  const changes = [
    'aip.file.save(dir .. "/new.md", "x")',
    'aip.file.append(dir .. "/a.md", "x")',
    'aip.file.copy("own.md", dir .. "/new.md")',
    'aip.file.move("own.md", dir .. "/new.md")',
    'aip.file.move(dir .. "/a.md", "stolen.md")',
    'aip.file.delete(dir .. "/a.md")',
    'aip.file.ensure_exists(dir .. "/new.md")',
    'aip.file.ensure_dir(dir .. "/new")',
    'aip.file.save_changes(dir .. "/a.md", "x")',
    'aip.file.append_json_line(dir .. "/r.ndjson", 1)',
    'aip.file.append_csv_row(dir .. "/r.csv", { 1 })',
    'aip.file.save_html_to_md(dir .. "/r.html")',
    'aip.zip.create(dir .. "/deep")',
    'aip.zip.extract(dir .. "/z.zip")',
    'aip.pdf.split_pages(dir .. "/p.pdf")',
  ]
  it.each(changes.filter(isTriedWith(spelling)))('but may change nothing there: %s', async (code) => {
    const before = snapshot(outside)
    await expect(lua(code, dir)).rejects.toThrow('outside the workspace')
    expect(snapshot(outside)).toEqual(before)
  })
})

describe('globs that lead outside', () => {
  it.each([outside, atHome])('list files with their absolute paths: %s', async (dir) => {
    const found = ['a.md', 'deep/b.md'].map((name) => shown(join(outside, name)))
    expect(await lua('return aip.file.list(dir .. "/**/*.md")', dir)).toMatchObject(found.map((path) => ({ path })))
    expect(await lua('return aip.file.list({ "*.md", dir .. "/*.md" })', dir)).toMatchObject([
      { path: 'own.md' },
      { path: found[0] },
    ])
    expect(await lua('return aip.file.list_load(dir .. "/deep/*.md")', dir)).toMatchObject([
      { path: found[1], content: 'b', size: 1 },
    ])
    expect(await lua('return aip.file.first(dir .. "/*.md")', dir)).toMatchObject({ path: found[0] })
    expect(await lua('return aip.file.stats(dir .. "/**/*.md")', dir)).toMatchObject({ number_of_files: 2 })
    expect(await lua('return aip.udiffx.load_files_context(dir .. "/deep/*.md")', dir)).toBe(
      `<FILE_CONTENT path="${found[1]}">\nb\n</FILE_CONTENT>\n`,
    )
  })

  it('start from a base folder outside', async () => {
    expect(await lua('return aip.file.list("**/*.md", { base_dir = dir })')).toMatchObject([
      { path: 'a.md' },
      { path: 'deep/b.md' },
    ])
    expect(await lua('return aip.file.list("*.md", { base_dir = dir, absolute = true })')).toMatchObject([
      { path: shown(join(outside, 'a.md')) },
    ])
  })

  it('follow a link only if they name it, skip build folders, and never loop', async () => {
    expect(await lua('return aip.file.list({ "**/*.md", "!in/**" })')).toMatchObject([{ path: 'own.md' }])
    expect(await lua('return aip.file.list("link/deep/up/deep/*.md")')).toMatchObject([
      { path: 'link/deep/up/deep/b.md' },
    ])
    expect(await lua('return aip.file.list(dir .. "/node_modules/**")')).toMatchObject([{ name: 'c.md' }])
    await expect(lua('return aip.file.load(dir .. "/round")')).rejects.toThrow('its links form a loop')
  })

  it('still may not climb', async () => {
    await expect(lua('return aip.file.list("../*.md")')).rejects.toThrow('climbs out')
  })
})

describe('a pack with capabilities', () => {
  const host = hostSection(workspace)
  const granted = { read: ['**'], write: [], hosts: [], commands: ['pwd'], env: [], models: [], mcp: [] }
  const pack = {
    identity: 'demo@notes',
    granted,
    ownFolders: [join(outside, 'deep')],
    keptFolders: [],
    executed: [],
    allow: [],
  }
  const section = { ...host.section, context: narrow(host.section.context, { pack }) }
  const held = (code: string): Promise<unknown> => runLua({ ...host, section }, code, { dir: outside })

  it('reads nothing outside except its own folders', async () => {
    expect(await held('return aip.file.load(dir .. "/deep/b.md").content')).toBe('b')
    expect(await held('return { aip.file.exists(dir .. "/a.md"), aip.path.is_dir(dir) }')).toEqual([false, false])
    const refused = 'demo@notes may not read'
    await expect(held('return aip.file.load(dir .. "/a.md")')).rejects.toMatchObject({
      message: expect.stringContaining(refused),
      hint: expect.stringContaining('[capabilities]'),
    })
    await expect(held('return aip.file.load("link/a.md")')).rejects.toThrow(
      'leads outside the workspace through the link',
    )
    await expect(held('return aip.file.list(dir .. "/*.md")')).rejects.toThrow('outside the workspace')
    await expect(held('return aip.file.copy(dir .. "/a.md", "x.md")')).rejects.toThrow('may not')
    await expect(held('return aip.cmd.exec("pwd", nil, { cwd = dir })')).rejects.toThrow(refused)
    expect(await held('return aip.file.list(dir .. "/deep/*.md")')).toMatchObject([{ name: 'b.md' }])
  })
})

it('every function that lists can be stopped', () => {
  const waiting = hostModules.flatMap(({ name: module, functions }) =>
    Object.entries(functions).flatMap(([name, definition]) => ('steps' in definition ? [`${module}.${name}`] : [])),
  )
  expect(waiting.toSorted()).toEqual([
    'aip.file.first',
    'aip.file.list',
    'aip.file.list_load',
    'aip.file.stats',
    'aip.udiffx.load_files_context',
  ] satisfies LuaValue)
})
