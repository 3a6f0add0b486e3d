import { writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { agentWorld, aip } from '../helpers/agents.ts'

/** Snippets, and the results of AIPack 0.8.34. `<WS>` is the workspace. */
type Snippets = readonly (readonly [snippet: string, given: Json | undefined])[]

const files = {
  'a.md': '# A\n',
  'z.txt': 'z',
  'docs/readme.md': '# Read me\n',
  'docs/b.md': 'b',
  'docs/deep/c.txt': 'c',
  'home/page.html': '<p>x</p>',
}

const list = `
local function P(globs, options)
  local paths = {}
  for index, file in ipairs(aip.file.list(globs, options)) do paths[index] = file.path end
  return paths
end
`

describe.each(['lua54', 'fengari'] as const)('behaves as measured, on %s', (engine) => {
  const world = agentWorld(files, { engine })

  async function check(snippet: string, given: Json | undefined): Promise<void> {
    writeFileSync(join(world.folder, 'snippet.lua'), list + snippet)
    const { outputs } = await world.run('snippet.lua')
    const text = JSON.stringify(outputs[0]).replaceAll(world.folder, '<WS>').replaceAll(dirname(world.folder), '<SIDE>')
    expect(JSON.parse(text)).toEqual(given ?? null)
  }

  it.each<Snippets[number]>([
    ['return P("no@pack/*.md")', {}],
    ['return P("*", { base_dir = "no@pack" })', {}],
    ['return P({ "no@pack/x.md", "*.md" })', ['a.md']],
    ['return P({ "*.md", "!no@pack/**" })', ['a.md']],
    ['return aip.file.first("no@pack/*.md")', undefined],
    ['return aip.file.stats("no@pack/**").number_of_files', 0],
    ['return aip.file.list_load("no@pack/**")', []],
    ['return (pcall(aip.file.load, "no@pack/x.md"))', false],
  ])('globs of a missing pack: %s', check)

  it.each<Snippets[number]>([
    [
      'return aip.path.sort_by_globs({"x.md", "bz", "ac/z", "z", "ax.md"}, {"*"})',
      ['ac/z', 'ax.md', 'bz', 'x.md', 'z'],
    ],
    [
      'return aip.path.sort_by_globs({"bz", "y.rs", "aa", "az", "ac/x.md"}, {"a*"})',
      ['aa', 'ac/x.md', 'az', 'bz', 'y.rs'],
    ],
    [
      'return aip.path.sort_by_globs({"b.md", "x.md", "dx.md", "e/z", "x.md"}, {"*"})',
      ['b.md', 'dx.md', 'e/z', 'x.md', 'x.md'],
    ],
    ['return aip.path.sort_by_globs({"./e/x", "!a", "b"}, {"!a", "e/?"})', ['!a', './e/x', 'b']],
    ['return aip.path.sort_by_globs({"a/b/c.md", "c.md"}, {"**/*.md", "*.md"}, true)', ['a/b/c.md', 'c.md']],
    ['return P({ "docs/*.md", "*.md" })', ['a.md', 'docs/b.md', 'docs/readme.md']],
    ['return P({ "*.md", "docs/b*" })', ['a.md', 'docs/b.md']],
    ['return P({ "docs/*.md", "**/b.md", "docs/**/*.txt" })', ['docs/readme.md', 'docs/b.md', 'docs/deep/c.txt']],
  ])('order: %s', check)

  it.each<Snippets[number]>([
    ['return P("docs\\\\*.md")', ['docs/b.md', 'docs/readme.md']],
    ['return aip.file.load("docs\\\\readme.md").path', 'docs/readme.md'],
    ['return P("*.md", { base_dir = "docs\\\\" })', ['b.md', 'readme.md']],
    ['return aip.file.info("docs\\\\b.md").dir', 'docs'],
    ['return aip.path.parse("a\\\\b.txt").path', 'a/b.txt'],
    ['return aip.path.parse("C:\\\\x\\\\y.txt").stem', 'y'],
    ['return { aip.path.split("a\\\\b\\\\c.txt") }', ['a/b', 'c.txt']],
    ['return aip.path.join("a\\\\b", "c\\\\d")', 'a/b/c/d'],
    ['return aip.path.diff("a\\\\b\\\\c", "a/b")', 'c'],
    ['return aip.path.parent("a\\\\b")', ''],
    ['return aip.path.exists("docs\\\\deep")', true],
    ['aip.file.save("made\\\\x.txt", "x") return P("made/*")', ['made/x.txt']],
    ['return aip.file.save_html_to_md("home\\\\page.html").path', 'home/page.md'],
  ])('backslashes: %s', check)

  it.each<Snippets[number]>([
    [
      `local o = {} for i, p in ipairs({"a", "./a", "../a", "/a", "a/../b", "", ".", "a//b", "a/", "$x", "a$tmp", "a/b/../", "a/.", "./", "/", "/a/"}) do o[i] = aip.path.resolve(p) end return o`,
      [
        '<WS>/a',
        '<WS>/a',
        '<SIDE>/a',
        '/a',
        '<WS>/b',
        '<WS>/',
        '<WS>/.',
        '<WS>/a/b',
        '<WS>/a/',
        '<WS>/$x',
        '<WS>/a$tmp',
        '<WS>/a',
        '<WS>/a/.',
        '<WS>/',
        '/',
        '/a/',
      ],
    ],
    [
      'return { aip.path.resolve("~/x"), aip.path.resolve("~"), aip.path.resolve("~/") }',
      [`${homedir()}/x`, `${homedir()}/`, `${homedir()}/`],
    ],
    ['return aip.path.matches_glob("a.rs", {"*.rs", "!a.rs"})', true],
    ['return aip.path.matches_glob("a.rs", {"!b.rs"})', false],
    ['return aip.path.matches_glob("!a.rs", "!a.rs")', true],
  ])('paths: %s', check)

  it.each<Snippets[number]>([
    ['return aip.file.append_json_lines("w/m.ndjson", {{a = 1}, "x", 3, null}).path', 'w/m.ndjson'],
    ['return aip.file.append_json_line("w/l.ndjson", {b = 1}).path', 'w/l.ndjson'],
  ])('appended lines: %s', check)

  const redo = { _aipack_: { kind: 'Redo' } }
  const child = 'return aip.agent.run("sub.aip")'

  it.each<readonly [caller: string, sub: string, given: Json]>([
    [child, 'text only', { redo_requested: false }],
    [child, aip({ 'Before All': 'return 5' }), { redo_requested: false }],
    [child, aip({ 'Before All': 'return 5', 'After All': 'return 6' }), { after_all: 6, redo_requested: false }],
    [
      child,
      aip({ Output: 'return 1', 'After All': 'return aip.flow.redo_run()' }),
      { after_all: redo, outputs: [1], redo_requested: true },
    ],
    [child, aip({ 'Before All': 'return aip.flow.redo_run()', Output: 'return 1' }), { redo_requested: true }],
    [child, aip({ 'Before All': 'return aip.flow.skip()', Output: 'return 1' }), { redo_requested: false }],
    [
      'return aip.agent.run("sub.aip", { inputs = { aip.file.info("a.md") } }).outputs',
      aip({ Output: 'return { input._type, input._display, input.path }' }),
      [['FileInfo', 'a.md', 'a.md']],
    ],
    [
      'return aip.agent.run("sub.aip", { input = { _type = "FileInfo", path = "a.md", _display = "own" } }).outputs',
      aip({ Output: 'return input._display' }),
      ['own'],
    ],
    [
      'return aip.agent.run("sub.aip").outputs',
      aip({
        'Before All':
          'return aip.flow.before_all_response({ inputs = { aip.file.info("a.md"), aip.file.load("a.md"), { path = "a.md" } } })',
        Output: 'return tostring(input._display) .. " " .. tostring(input._type)',
      }),
      ['a.md FileInfo', 'a.md FileRecord', 'nil nil'],
    ],
    [
      'return aip.agent.run("sub.aip", { input = aip.file.info("a.md") }).after_all',
      aip({
        'Before All': 'return inputs[1]._display == nil',
        Data: '',
        'After All': 'return { before_all, inputs[1]._display }',
      }),
      [true, 'a.md'],
    ],
    [
      'return aip.agent.run("sub.aip").after_all',
      aip({ Data: 'return 1', 'After All': 'return { #inputs, inputs[1] == null }' }),
      [1, true],
    ],
    [
      'return aip.agent.run("sub.aip").after_all',
      aip({ 'After All': 'return { inputs == nil, outputs == nil }' }),
      [true, true],
    ],
    [
      'return aip.agent.run("sub.aip", { input = "a" }).outputs',
      aip({
        Data: 'return aip.flow.data_response({ input = null, data = null })',
        Output: 'return { input == nil, data == nil }',
      }),
      [[true, true]],
    ],
    [
      'return aip.agent.run("sub.aip", { input = "a" }).outputs',
      aip({ Data: 'return aip.flow.data_response({ data = 2 })', Output: 'return { input, data }' }),
      [['a', 2]],
    ],
  ])('flow: %s with %j', async (caller, sub, given) => {
    writeFileSync(join(world.folder, 'sub.aip'), sub)
    await check(caller, given)
  })

  it.each<readonly [call: string, pin: Json]>([
    ['aip.run.pin("a", 1, {"x", "y"})', { label: 'Pin:', content: 'No Content', priority: 1 }],
    ['aip.run.pin("a", 1, {label = "L"})', { label: 'L', content: 'No Content' }],
    ['aip.run.pin("a", 1, {content = null})', { label: 'Pin:', content: 'No Content' }],
    ['aip.run.pin("a", 1, {label = {}, content = "x"})', { label: 'Pin:', content: 'x' }],
    ['aip.run.pin("a", 1, {})', { label: 'Pin:', content: 'No Content' }],
    ['aip.run.pin("a", 1, {label = true, content = false})', { label: 'Pin:', content: 'No Content' }],
  ])('pins: %s', async (call, pin) => {
    const before = world.context.sent.length
    await check(call, undefined)
    expect(world.context.sent.slice(before).filter(({ type }) => type === 'pin')).toMatchObject([pin])
  })
})
