import { expect } from 'vitest'
import { rawZip } from '../helpers/raw-zip.ts'
import { attack, isWhole } from './attempts.ts'
import { createWorld, expectHeld, type Files, type World } from './harness.ts'

/** Calls of host functions that would take minutes or never end: each reads only what the script passes. */
const calls: Readonly<Record<string, string>> = {
  'HTML whose elements are closed in a wrong order': 'aip.html.to_md(("<b k=1><p>"):rep(100000))',
  'HTML to slim': 'aip.html.slim(("<b k=1><p>"):rep(100000))',
  'selectors of selectors': 'aip.html.select(("<b k=1><p>"):rep(3000), ":has(:has(:has(:has(p))))")',
  'loops in loops of a short template':
    'aip.hbs.render(("{{#each ../a}}"):rep(30) .. ("{{/each}}"):rep(30), { a = { 1, 2, 3, 4 } })',
  'blocks in blocks of a template': 'aip.hbs.render(("{{#a}}"):rep(80000) .. ("{{/a}}"):rep(80000), { a = true })',
  'hunks that stand nowhere': `aip.file.save("a.txt", ("a\\n"):rep(500000)); aip.udiffx.apply_file_changes(
    '<FILE_CHANGES>\\n<FILE_PATCH file_path="a.txt">\\n' .. ("@@\\n-a\\n-b\\n+c\\n"):rep(60000) .. '</FILE_PATCH>\\n</FILE_CHANGES>')`,
  'blocks that stand nowhere': `aip.file.save("a.txt", ("a"):rep(1000000)); aip.file.save_changes("a.txt",
    ("<<<<<<< SEARCH\\n" .. ("a"):rep(60) .. "b\\n=======\\nx\\n>>>>>>> REPLACE\\n"):rep(3900))`,
  'rows of CSV': 'aip.csv.value_lists_to_rows({ aip.csv.parse_row(("a,"):rep(2000000)) })',
}

attack('a host function that takes long ends at the limit of the script', { core: calls, every: 5 }, async (call) => {
  const both = ['true', 'false'].map(async (isolated) => {
    const world = createWorld({ work: { 'a.lua': `while true do pcall(function() ${call} end) end\n` } })
    const end = await world.run(['a.lua', '-c', 'lua.timeout=1s', '-c', `lua.isolated=${isolated}`])
    expectHeld(world, end, [4])
    expect(end.stderr).toContain('error: the script ran longer than 1000 ms')
  })
  await Promise.all(both)
})

const changed = '"<<<<<<< SEARCH\\nx\\n=======\\nx\\n>>>>>>> REPLACE\\n"'
/** Short calls for which the script waits: all their work is on the main thread. */
const short: Readonly<Record<string, string>> = {
  'files that are changed': `aip.file.save_changes("a.txt", ${changed})`,
  'archives that are made': 'aip.zip.create("folder", "out.zip")',
  'files that are saved as CSV': 'aip.file.save_as_csv("out.csv", { { "a", "b" } })',
  'pages that are saved': 'aip.file.save_html_to_md("a.html")',
  'short templates': 'aip.hbs.render("{{a}}", { a = 1 })',
  'files that are read': 'aip.file.load("a.txt"); aip.file.list("**/*")',
  'files that are added to': 'aip.file.append("out.txt", "x")',
  'file changes': `aip.udiffx.apply_file_changes(
    '<FILE_CHANGES>\\n<FILE_NEW file_path="out.txt">\\nx\\n</FILE_NEW>\\n</FILE_CHANGES>')`,
  'rows of CSV': 'aip.csv.parse_row("a,b")',
  'files of an archive': 'aip.zip.extract("a.zip", "unpacked")',
}
const limitMs = 500
/**
 * How far past its limit a script may be ended, as a factor. Without a clock for waits it takes up to 24 times as long.
 */
const factor = 4
const engines = [
  ['lua54', 'false'],
  ['fengari', 'true'],
  ['lua54', 'true'],
  ['fengari', 'false'],
] as const

attack(
  'the limit of time ends a script that waits for short host functions again and again:',
  { core: short, every: 10 },
  async (call) => {
    // it gives up on its own long before it would be killed as hung
    const text = `local began = aip.time.now_utc_micro()
while aip.time.now_utc_micro() - began < ${limitMs * factor * 1000} do pcall(function() ${call} end) end
return "went on"
`
    const files = { 'a.txt': 'x\n', 'a.html': '<p>x</p>', 'folder/a.txt': 'x' }
    const archive = rawZip([{ name: 'a.txt', data: 'x' }])
    for (const [engine, isolated] of isWhole ? engines : engines.slice(0, 2)) {
      const world = createWorld({ work: { ...files, 'a.zip': archive, 'a.lua': text } })
      const settings = [`lua.timeout=${limitMs}ms`, `lua.engine=${engine}`, `lua.isolated=${isolated}`]
      const end = await world.run(['a.lua', ...settings.flatMap((setting) => ['-c', setting])])
      expectHeld(world, end, [4])
      expect(end.stderr).toContain(`error: the script ran longer than ${limitMs} ms`)
    }
  },
)

const shown: Readonly<Record<string, string>> = {
  prints: 'print(("x"):rep(100000))',
  'prints that are short': 'print("")',
  pins: 'n = n + 1; aip.run.pin("p" .. n, ("x"):rep(10000))',
  labels: 'aip.run.set_label(("x"):rep(100000))',
}

attack('what a loop shows meets the limit of memory', { core: shown, every: 2 }, async (line) => {
  const world = createWorld({ work: { 'a.lua': `local n = 0\nwhile true do pcall(function() ${line} end) end\n` } })
  const end = await world.run(['a.lua', '-q', '-c', 'lua.memory_mb=16'])
  expectHeld(world, end, [4])
  expect(end.stderr).toContain('error: the script has printed and pinned more than 4194304 bytes')
})

const waits: Readonly<Record<string, Files>> = {
  'a host function at work': { 'a.lua': `return ${calls['HTML to slim'] ?? ''}\n` },
  'an isolated script in a long match': { 'a.lua': 'return ("a"):rep(40):find(("a?"):rep(40) .. ("a"):rep(40))\n' },
  'a loop of short host functions': { 'a.lua': 'while true do aip.html.to_md(("<b><p>"):rep(300)) end\n' },
  'a loop that prints': { 'a.lua': 'while true do print("x") end\n' },
  'a loop that makes ids': { 'a.lua': 'while true do aip.uuid.new() end\n' },
  'a loop that saves': { 'a.lua': 'while true do aip.file.save("out.txt", "x") end\n' },
  'a file as HTML': {
    'a.lua': 'return aip.file.load_html_as_md("page.html")\n',
    'page.html': '<b k=1><p>'.repeat(100_000),
  },
}

attack('Ctrl-C stops an isolated script that is busy with', { core: waits, every: 4 }, async (work) => {
  const world = createWorld({ work })
  await interrupted(world, ['-c', 'lua.isolated=true'])
})

const change = '\'<FILE_CHANGES>\\n<FILE_APPEND file_path="out.txt">\\nx\\n</FILE_APPEND>\\n</FILE_CHANGES>\''
const loops: Readonly<Record<string, string>> = {
  'file changes': `aip.udiffx.apply_file_changes(${change})`,
  'short templates': 'aip.hbs.render("{{#each a}}{{this}}{{/each}}", { a = { 1, 2 } })',
  'short HTML': 'aip.html.to_md(("<b><p>"):rep(300))',
  'files that are saved': 'aip.file.save("out.txt", "x")',
}

attack('Ctrl-C stops a script that loops over', { core: loops, every: 4 }, async (call) => {
  const world = createWorld({ work: { 'a.lua': `while true do pcall(function() ${call} end) end\n` } })
  await interrupted(world, [])
})

const loopsInLoops = `${'{{#each @root.data.a}}'.repeat(30)}x${'{{/each}}'.repeat(30)}\n`
const templates: Readonly<Record<string, Files>> = {
  'a prompt section': { 'a.aip': `# Data\n\n\`\`\`lua\nreturn { a = {1,2,3,4} }\n\`\`\`\n\n# User\n\n${loopsInLoops}` },
  'a prompt file': {
    'a.md': `+++\ntemplate = true\n+++\n${loopsInLoops.replaceAll('data.a', 'data.files')}`,
  },
}

attack(
  'a template that multiplies is stopped',
  {
    core: { 'by Ctrl-C': { isPatient: false } },
    more: () => ({ 'by its clock': { isPatient: true } }),
  },
  async (how) => {
    await Promise.all(Object.values(templates).map((work) => multiplies(work, how)))
  },
)

async function multiplies(work: Files, { isPatient }: { readonly isPatient: boolean }): Promise<void> {
  const world = createWorld({ work })
  const [file = ''] = Object.keys(work)
  const options = isPatient ? {} : { interruptWhen: world.hasBegun }
  const end = await world.run([file, '-i', 'x', '-m', 'offline::extractive'], options)
  expectHeld(world, end, [isPatient ? 4 : 130])
  if (isPatient) expect(end.stderr).toContain('the template cannot be rendered: it took longer than 20000 ms')
}

async function interrupted(world: World, args: readonly string[]): Promise<void> {
  const end = await world.run(['a.lua', '-c', 'lua.timeout=10m', ...args], { interruptWhen: world.hasBegun })
  expectHeld(world, end, [130])
}

const pattern = '^(a+)+$'
const text = `${'a'.repeat(60)}b`

async function patternOfSchema(): Promise<void> {
  const schema = JSON.stringify({ type: 'object', properties: { a: { type: 'string', pattern } } })
  const world = createWorld({
    work: {
      'schema.json': schema,
      'answer.lua': `return '{"a": "${text}"}'\n`,
      'run.md': `+++\nagent = "./answer.lua"\n[output]\nschema = "schema.json"\n+++\nSay.\n`,
    },
  })
  const end = await world.run(['run.md'])
  expectHeld(world, end, [1])
  expect(end.stderr).toContain('cannot be checked against the patterns of the schema: it took longer than 5000 ms')
}

async function patternOfTest(): Promise<void> {
  const tests = `[[test]]\nname = "slow"\nexpect = [{ answer_matches = "${pattern}" }]\n`
  const world = createWorld({
    work: { 'answer.lua': `return "${text}"\n`, 'ask.md': `+++\nagent = "./answer.lua"\n${tests}+++\nSay.\n` },
  })
  const end = await world.run(['test', 'ask.md'])
  expectHeld(world, end, [100])
  expect(end.stdout + end.stderr).toContain('it took longer than 5000 ms')
}

// each is busy for five seconds; a short limit: test/serve/http/reading.test.ts
if (isWhole) {
  attack(
    'a pattern that takes for ever ends',
    { core: { 'of a test: it fails': patternOfTest, 'of [output]: the answer does not fit': patternOfSchema } },
    (attempt) => attempt(),
  )
}
