import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createCheckParts } from '../../../src/load/check/agent.ts'
import { checkFile } from '../../../src/load/check/check.ts'
import { displayPath } from '../../../src/base/files.ts'
import { root } from '../../helpers/baton.ts'
import { tempTree } from '../../helpers/temp.ts'
import { strategies } from '../../../src/strategies/strategies.ts'

const builtInDir = join(root, 'agents')

interface Asked {
  readonly file?: string
  readonly env?: Readonly<Record<string, string>>
  readonly overrides?: readonly string[]
  readonly prepare?: (folder: string) => void
}

/** `severity file:line:column message < line that led there < …` for every finding. */
async function check(files: { readonly [path: string]: string }, asked: Asked = {}): Promise<readonly string[]> {
  const folder = tempTree({ '.git/HEAD': 'x\n', ...files })
  asked.prepare?.(folder)
  const { file = 'ask.md', env = {}, overrides = [] } = asked
  const parts = createCheckParts({ builtInDir })
  const options = { strategies, cwd: folder, env, home: tempTree(), file, builtInDir, flags: { overrides } }
  const { problems } = await checkFile(options, parts)
  await parts.close()
  const shown = (place: { readonly file: string; readonly line?: number; readonly column?: number }): string =>
    [displayPath(folder, place.file), place.line, place.column].filter((part) => part !== undefined).join(':')
  return problems.map(({ severity, message, place, trail }) =>
    [`${severity} ${shown(place)} ${message.replaceAll(folder, '')}`, ...trail.map(shown)].join(' < '),
  )
}

const prompt = (keys: string, text = 'Do it.'): string => `+++\n${keys}\n+++\n${text}\n`
const section = (code: string): string => `# Output\n\n\`\`\`lua\n${code}\n\`\`\`\n`

describe('checking a prompt file', () => {
  it('reports nothing for a valid one', async () => {
    const keys =
      'context_globs = ["src/*.ts"]\nsub_agents = ["a.aip", "context-builder"]\nmodel = "offline::extractive"'
    expect(await check({ 'ask.md': prompt(keys), 'src/a.ts': 'x', 'a.aip': section('return 1') })).toEqual([])
  })

  it('warns of rules in # Options of an agent that can never apply', async () => {
    const rules = [
      'permission.webftch = "deny"',
      'permission.todo."x" = "deny"',
      'permission.read."docs/**" = "allow"',
      'permission.bash."npm *" = "ask"',
      'permission.bash."git *" = "deny"',
      'permission.bash."git log*" = "allow"',
      'permission.grep."a/*" = "deny"',
      'permission.grep."**" = "ask"',
    ]
    const aip = `# Options\n\n\`\`\`toml\n${rules.join('\n')}\n\`\`\`\n\n${section('return 1')}`
    expect(
      await check({ 'ask.md': prompt('sub_agents = ["a.aip"]\nmodel = "offline::extractive"'), 'a.aip': aip }),
    ).toEqual([
      expect.stringMatching(
        /^warning a\.aip:4\S* \[permission\] names a tool "webftch", which does not exist < ask\.md:2/,
      ),
      expect.stringMatching(/^warning a\.aip:5\S* permission\.todo\.x = "deny" matches nothing/),
      expect.stringMatching(
        /^warning a\.aip:6\S* permission\.read\."docs\/\*\*" = "allow" changes nothing: rules of an agent only tighten/,
      ),
      expect.stringMatching(/^warning a\.aip:7\S* permission\.bash\."npm \*" = "ask" changes nothing/),
      expect.stringMatching(/^warning a\.aip:10\S* permission\.grep\."a\/\*" = "deny" never decides/),
    ])
  })

  it('continues after wrong keys, missing agents and broken templates, and reports all in the order of the lines', async () => {
    const keys = [
      'temperature = "hot"',
      'working_glob = []',
      'sub_agents = ["nope", { name = "a.aip" }, "nope2"]',
      'context_globs = ["../x"]',
      'template = true',
    ]
    const found = await check({
      'ask.md': prompt(keys.join('\n'), '{{#if a}}\n{{nope b}'),
      'a.aip': section('x = = 1'),
    })
    expect(found).toEqual([
      expect.stringContaining('error ask.md:2:15 "temperature" must be'),
      expect.stringContaining('error ask.md:3:1 unknown key "working_glob"'),
      expect.stringContaining('error ask.md:4:15 there is no agent "nope"'),
      expect.stringContaining('error ask.md:4:43 there is no agent "nope2"'),
      expect.stringContaining('error ask.md:5:18 context_globs[0]: the glob "../x" leaves base_dir'),
      'error ask.md:8:1 the template cannot be rendered: {{#if}} is not closed',
      'error ask.md:9:1 the template cannot be rendered: the {{ is not closed',
      "error a.aip:4 unexpected symbol near '=' < ask.md:4:32",
    ])
  })

  it('stops at front matter that cannot be parsed, and at an untrusted file', async () => {
    expect(await check({ 'ask.md': prompt('a = = 1\nsub_agents = ["nope"]') })).toEqual([
      'error ask.md:2:5 the front matter is not valid TOML: invalid value',
    ])
    expect(await check({ 'ask.md': prompt('sub_agents = ["nope"]\n[providers.x]\nbase_url = "http://x"') })).toEqual([
      expect.stringMatching(/^error ask\.md:3:2 .*providers/),
    ])
  })

  it('reports errors in the config around it', async () => {
    expect(await check({ 'ask.md': prompt('temperature = 9'), 'baton.toml': 'modle = "x"\n' })).toEqual([
      expect.stringContaining('error ask.md:2:15 "temperature" must be'),
      expect.stringContaining('error baton.toml:1:1 unknown key "modle"'),
    ])
  })

  it('fails when the file is missing', async () => {
    expect(await check({})).toEqual([expect.stringContaining('error ask.md there is no file')])
  })

  it('warns of each glob that matches no file', async () => {
    const keys =
      'context_globs = ["none/*.ts", "src/*.ts", "!src/b.ts"]\nworking_globs = ["src/b.ts", ["docs/x.md", "src/a.ts"]]'
    expect(await check({ 'ask.md': prompt(keys), 'src/a.ts': 'x', 'src/b.ts': 'x' })).toEqual([
      'warning ask.md:2:18 the glob "none/*.ts" matches no file',
      'warning ask.md:3:31 the glob "docs/x.md" matches no file',
    ])
  })

  it('checks only the first thousand globs of a list, and says so', async () => {
    const globs = Array.from({ length: 3000 }, (_, index) => `"none${index}/*"`)
    const found = await check({ 'ask.md': prompt(`context_globs = [${globs.join(', ')}]`) })
    expect(found).toHaveLength(1001)
    expect(found.at(-1)).toMatch(/^warning ask\.md:2:\d+ only the first 1000 globs of a list are checked$/)
  })

  it('treats names without a folder as alternatives, unless nothing of their list exists', async () => {
    const keys = 'context_globs = ["README*", "none.toml"]\nknowledge_globs = ["none.md", "NONE*"]'
    expect(await check({ 'ask.md': prompt(keys), 'README.md': 'x' })).toEqual([
      'warning ask.md:3:20 the glob "none.md" matches no file',
      'warning ask.md:3:31 the glob "NONE*" matches no file',
    ])
  })

  it('finds a glob that leads outside through a link', async () => {
    const outside = tempTree({ 'a.ts': 'x' })
    const prepare = (folder: string): void => symlinkSync(outside, join(folder, 'link'))
    expect(await check({ 'ask.md': prompt('context_globs = ["link/*.ts"]') }, { prepare })).toEqual([
      expect.stringMatching(/^error ask\.md:2:18 a glob leads outside the workspace through the link/),
    ])
  })

  it('reports unknown models, and missing keys, wherever a model is named', async () => {
    const files = {
      'ask.md': prompt(
        'model = "opnai::x"\nfallback_models = ["openai::x"]\nsub_agents = [{ name = "a.aip", options = { model = "nobody::x" } }]',
      ),
      'a.aip': `# Options\n\n\`\`\`toml\nmodel = "mine"\n[model_aliases]\nmine = "somebody::x"\n\`\`\`\n\n${section('return 1')}`,
    }
    const missing = 'warning ask.md:3:20 openai::x needs a key, but OPENAI_API_KEY is not set'
    const others = [
      'error ask.md:2:9 unknown model "opnai::x"',
      'error ask.md:4:53 unknown model "nobody::x"',
      'error a.aip:4:9 unknown model "mine" (alias for "somebody::x") < ask.md:4:24',
    ]
    expect(await check(files)).toEqual([others[0], missing, others[1], others[2]])
    expect(await check(files, { env: { OPENAI_API_KEY: 'a-key-that-is-set' } })).toEqual(others)
    expect(await check(files, { env: { BATON_GATEWAY_URL: 'http://127.0.0.1:9' } })).toEqual([])
  })

  it('locates a model of a config file there, and one of a flag at the prompt file', async () => {
    const config = { 'ask.md': 'Do it.\n', 'baton.toml': 'seed = 1\nmodel = "nobody::x"\n' }
    expect(await check(config)).toEqual(['error baton.toml:2:9 unknown model "nobody::x"'])
    expect(await check({ 'ask.md': 'Do it.\n' }, { overrides: ['model=nobody::x'] })).toEqual([
      'error ask.md unknown model "nobody::x"',
    ])
  })

  it('reports all errors in the schema of [output], in the front matter or in its file', async () => {
    expect(await check({ 'ask.md': prompt('[output.schema]\ntype = "text"\nminLength = -1') })).toEqual([
      expect.stringMatching(/^error ask\.md:3:8 the schema of \[output\] is not valid: \$\.type must be one of/),
      expect.stringMatching(/^error ask\.md:4:13 .*\$\.minLength must be at least 0/),
    ])
    const files = { 'ask.md': prompt('[output]\nschema = "s.json"'), 's.json': '{\n  "type": "text"\n}\n' }
    expect(await check(files)).toEqual([expect.stringMatching(/^error s\.json:2:11 .* < ask\.md:3:10$/)])
  })

  it.each([
    ['ensemble', '[[ensemble.agents]]\nname = "a"\nagent = "a.lua"\n[[ensemble.agents]]\nname = "b"\nagent = "a.lua"'],
    ['workflow', '[[workflow.step]]\nid = "a"\ninstructions = "Look."'],
    ['delegate', 'team = "a"'],
  ])('reports once that [iterate] and [%s] cannot be combined', async (other, table) => {
    const text = prompt(`[iterate]\ncondition = "3"\n[${other}]\n${table}`)
    expect(await check({ 'ask.md': text, 'a.lua': 'return 1\n' })).toEqual([
      `error ask.md:4:2 [iterate] and [${other}] cannot be combined: a file has one strategy`,
    ])
  })

  it('reports a gate without a work tree, and commits of iterations in one, which a run refuses', async () => {
    expect(await check({ 'ask.md': prompt('gate = "npm test"') })).toEqual([
      'error ask.md:2:1 "gate" needs isolation = "worktree"',
    ])
    const keys = 'isolation = "worktree"\n[iterate]\ncondition = "3"\ncommits = true'
    expect(await check({ 'ask.md': prompt(keys) })).toEqual([
      'error ask.md:5:1 "iterate.commits" and isolation = "worktree" cannot be combined',
    ])
  })

  it('reports errors in what [iterate] names, and what it lacks', async () => {
    const keys = [
      'sub_agents = ["a.aip"]',
      '[iterate]',
      'condition = "3"',
      'plan = "plan.md"',
      'summarizer = "sum.aip"',
    ].join('\n')
    const agents = { 'a.aip': section('return 1'), 'sum.aip': section('x = = 1') }
    expect(await check({ 'ask.md': prompt(keys), ...agents })).toEqual([
      'error plan.md there is no file /plan.md < ask.md:5:8',
      expect.stringMatching(/^error sum\.aip:4.* < ask\.md:6:14$/),
    ])
    const missing = prompt('sub_agents = ["a.aip"]\n[iterate]\nuntil = "true"\nsummarizer = "nobody"')
    expect(await check({ 'ask.md': missing, ...agents })).toEqual([
      expect.stringContaining('error ask.md:5:14 there is no agent "nobody"'),
    ])
    expect(await check({ 'ask.md': prompt('[iterate]\nscore_goal = 3') })).toEqual([
      'error ask.md:3:1 "iterate.score_goal" needs "score", a command that prints the score',
    ])
    const told = { 'plan.md': 'A, then B.' }
    expect(
      await check({ 'ask.md': prompt('[iterate]\ncondition = "3"\nplan = "plan.md"\ncontext = false'), ...told }),
    ).toEqual(['error ask.md:4:1 "iterate.plan" is part of the context, which context = false disables'])
    expect(await check({ 'ask.md': prompt('[iterate]\ncondition = "3"\ncontinuation = "Go on."') })).toEqual([
      'error ask.md:4:1 "iterate.continuation" replaces the context, and needs context = false',
    ])
    expect(await check({ 'ask.md': prompt('[iterate]\nstall = 3') })).toEqual([
      expect.stringContaining('error ask.md:2:2 "iterate" needs a condition that ends it'),
    ])
    // the problem with the key is the only error that is reported
    expect(await check({ 'ask.md': prompt('[iterate]\ncondition = "3 apples"') })).toEqual([
      expect.stringContaining('error ask.md:3:13 "iterate.condition"'),
    ])
  })

  it('checks prompt files that it names as agents, and their agents', async () => {
    const files = {
      'ask.md': prompt('sub_agents = ["./child.md"]\nagent = "main.lua"'),
      'child.md': prompt('temperature = "hot"\nsub_agents = ["a.lua"]\ncontext_globs = ["none"]'),
      'a.lua': 'return )',
      'main.lua': 'if x then',
    }
    expect(await check(files)).toEqual([
      expect.stringMatching(/^error a\.lua:1:8 .* < child\.md:3:15 < ask\.md:2:15$/),
      expect.stringMatching(/^error child\.md:2:15 "temperature" must be .* < ask\.md:2:15$/),
      expect.stringMatching(/^warning child\.md:4:18 the glob "none" matches no file < ask\.md:2:15$/),
      expect.stringMatching(/^error main\.lua:1 .* < ask\.md:3:9$/),
    ])
  })

  it('ends when prompt files name each other in a cycle', async () => {
    const files = { 'ask.md': prompt('sub_agents = ["./b.md"]'), 'b.md': prompt('sub_agents = ["./ask.md"]') }
    expect(await check(files)).toEqual([
      'error b.md:2:15 prompt files run each other in a cycle: ask.md → b.md → ask.md < ask.md:2:15',
    ])
  })

  it('ignores disabled agents', async () => {
    expect(await check({ 'ask.md': prompt('sub_agents = [{ name = "nope", enabled = false }]') })).toEqual([])
  })

  it('warns of a file that is probably a mistake', async () => {
    expect(await check({ 'a.ts': 'export const a = 1\n' }, { file: 'a.ts' })).toEqual([
      'warning a.ts:1 a.ts does not look like a prompt file: it ends in .ts and has no front matter',
    ])
    const unmarked = 'this looks like front matter, but is not marked as such: it is sent to the model as text'
    for (const text of [
      '```toml\nmodel = "m"\n```\nHi\n',
      '\n```toml #!meta\nmodel = "m"\n```\nHi\n',
      '~~~yaml\nmodel: m\n~~~\nHi\n',
      '++++\nmodel = "m"\n++++\nHi\n',
      '----\nmodel: m\n----\nHi\n',
    ])
      expect(await check({ 'a.md': text }, { file: 'a.md' })).toEqual([
        `warning a.md:${text.startsWith('\n') ? 2 : 1} ${unmarked}`,
      ])
    for (const text of [
      '```toml\n[package]\nname = "m"\n```\nHi\n',
      '----\nNote: m\n----\nHi\n',
      '```js\nmodel = 1\n```\n',
    ])
      expect(await check({ 'a.md': text }, { file: 'a.md' })).toEqual([])
    expect(await check({ 'a.ts': prompt('temperature = 0') }, { file: 'a.ts' })).toEqual([])
    expect(await check({ 'notes.txt': 'Do it.\n' }, { file: 'notes.txt' })).toEqual([])
  })
})

describe('checking an agent', () => {
  it('reports everything in its options, headings, templates and code', async () => {
    const text = [
      '# Options\n\n```toml\ntemperature = "hot"\nmodle = "x"\n```\n',
      '# Usr\n\nHi\n',
      '# System `cache = `\n\n{{nope a}}\n{{nope b}}\n',
      '# Data\n\n```lua\nlocal x =\n```\n',
      section('if then'),
    ].join('\n')
    expect(await check({ 'a.aip': text }, { file: 'a.aip' })).toEqual([
      'error a.aip:4:15 "temperature" must be a number, not "hot"',
      'warning a.aip:5:1 nothing reads the option "modle"',
      'warning a.aip:8:1 the heading "# Usr" does not start a section',
      expect.stringMatching(/^error a\.aip:12:\d+ the option of this heading is not valid TOML/),
      'error a.aip:14:1 the template cannot be rendered: unknown helper "nope"',
      'error a.aip:15:1 the template cannot be rendered: unknown helper "nope"',
      expect.stringMatching(/^error a\.aip:2[01] unexpected symbol near <eof>$/),
      expect.stringMatching(/^error a\.aip:26:4 unexpected symbol near 'then'$/),
    ])
  })

  it('warns of one without any section, but not of a heading inside a fence', async () => {
    expect(await check({ 'a.aip': '# Notes\n\n```sh\n# Outputs\n```\n' }, { file: 'a.aip' })).toEqual([
      'warning a.aip:1 the agent has no section that does anything',
    ])
  })

  it('compiles the modules it names, and theirs, each once', async () => {
    const files = {
      'a.aip': section('local one = require("one")\nlocal gone = require("gone")\nlocal text = require("string")'),
      'lua/one.lua': '#!/usr/bin/lua\nlocal two = require("two")\nlocal again = require("one")\n',
      'lua/two.lua': 'return {\n',
    }
    expect(await check(files, { file: 'a.aip' })).toEqual([
      'warning a.aip:5:22 the module "gone" does not exist',
      expect.stringMatching(/^error lua\/two\.lua:\d .*<eof> < lua\/one\.lua:2:21 < a\.aip:4:21$/),
    ])
  })

  it('finds the modules of a module that is checked on its own', async () => {
    const files = {
      'agents/lua/one.lua': 'return require("sub.two")',
      'agents/lua/sub/two.lua': 'return require("one")',
    }
    expect(await check(files, { file: 'agents/lua/one.lua' })).toEqual([])
    expect(await check(files, { file: 'agents/lua/sub/two.lua' })).toEqual([])
  })

  it('checks the agents that its code runs by name, relative to its folder', async () => {
    const files = {
      'agents/a.lua': 'local r = aip.agent.run("b")\nlocal s = aip.agent.run("none.aip")\n',
      'agents/b.aip': section('return aip.agent.run("a.lua") +'),
    }
    expect(await check(files, { file: 'agents/a.lua' })).toEqual([
      expect.stringMatching(/^warning agents\/a\.lua:2:25 there is no agent "none\.aip"/),
      expect.stringMatching(/^error agents\/b\.aip:\d .* < agents\/a\.lua:1:25$/),
    ])
  })

  it('finds it in a pack, with its modules', async () => {
    const files = {
      '.baton/packs/ns/tools/main.aip': section('local m = require("m")'),
      '.baton/packs/ns/tools/lua/m.lua': 'return 1 2\n',
    }
    expect(await check(files, { file: 'ns@tools' })).toEqual([
      expect.stringMatching(
        /^error \.baton\/packs\/ns\/tools\/lua\/m\.lua:1:10 .* < \.baton\/packs\/ns\/tools\/main\.aip:4:19$/,
      ),
    ])
  })

  it('runs nothing', async () => {
    const folder = tempTree({ 'a.lua': 'aip.file.save("made.txt", "x")\nerror("ran")' })
    const parts = createCheckParts({ builtInDir })
    const options = {
      cwd: folder,
      env: {},
      home: tempTree(),
      file: 'a.lua',
      builtInDir,
      strategies,
      flags: { overrides: [] },
    }
    expect((await checkFile(options, parts)).problems).toEqual([])
    await parts.close()
  })
})

describe('checking a file whose programs need a sandbox, without one', () => {
  const missing = 'there is no sandbox for'

  it('warns at the tools, with the message of a run', async () => {
    expect(await check({ 'ask.md': prompt('tools = ["bash"]\nwrite_mode = true') })).toEqual([
      `warning ask.md:2:9 ${missing} "workspace-write": bwrap not found`,
    ])
    expect(await check({ 'ask.md': prompt('tools = ["*"]') })).toEqual([
      `warning ask.md:2:9 bash is not offered to models: ${missing} "read-only": bwrap not found`,
    ])
    const entry = 'sub_agents = [{ name = "a.aip", options = { tools = ["bash_output"] } }]'
    expect(await check({ 'ask.md': prompt(entry), 'a.aip': '# User\n\nLook.\n' })).toEqual([
      `warning ask.md:2:53 ${missing} "read-only": bwrap not found`,
    ])
  })

  it('warns of commands of scripts', async () => {
    expect(await check({ 'ask.md': prompt('[sandbox]\nscripts = true') })).toEqual([
      `warning ask.md:3:11 ${missing} "read-only": bwrap not found`,
    ])
  })

  it.each([
    'tools = ["read", "grep"]',
    'tools = ["*"]\ndisallowed_tools = ["bash"]',
    'tools = ["*"]\n[permission]\nbash = "deny"',
    'tools = ["read"]\nmode = "code"',
  ])('does not warn if no tool needs one: %s', async (keys) => {
    expect(await check({ 'ask.md': prompt(keys) })).toEqual([])
  })

  it('does not warn if the user disabled it', async () => {
    const files = { 'ask.md': prompt('tools = ["bash"]') }
    expect(await check(files, { overrides: ['sandbox.mode="danger-full-access"'] })).toEqual([])
  })
})

describe('checking many files', () => {
  it('loads and checks the agents that their models may start only once', async () => {
    const agent = (name: string): string =>
      `---\ndescription: ${name}\ntools: Task\nmodel: offline::extractive\ntemprature: 1\n---\nDo ${name}.\n`
    const cwd = tempTree({ '.git/HEAD': 'x\n', 'agents/one.md': agent('one'), 'agents/two.md': agent('two') })
    const parts = createCheckParts({ builtInDir })
    const options = { cwd, env: {}, home: tempTree(), builtInDir, flags: { overrides: [] } }
    const first = await checkFile({ strategies, ...options, file: 'agents/one.md' }, parts)
    const misspelled = ({ problems }: typeof first): readonly string[] => [
      ...new Set(
        problems.flatMap(({ place, message }) => (message.includes('temprature') ? displayPath(cwd, place.file) : [])),
      ),
    ]
    expect(misspelled(first)).toEqual(['agents/one.md', 'agents/two.md'])
    // what a second reading would find
    writeFileSync(join(cwd, 'agents/one.md'), agent('one').replace('temprature', 'temperature'))
    const second = await checkFile({ strategies, ...options, file: 'agents/two.md' }, parts)
    await parts.close()
    expect(misspelled(second).toSorted()).toEqual(['agents/one.md', 'agents/two.md'])
  })
})
