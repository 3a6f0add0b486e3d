import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isBatonError, type SourcePlace } from '../../src/base/error.ts'
import { displayPath } from '../../src/base/files.ts'
import type { RunEvent } from '../../src/event/event.ts'
import { startRun } from '../../src/runner.ts'
import { tempTree } from '../helpers/temp.ts'

interface Failed {
  readonly message: string
  readonly hint: string | undefined
  /** Innermost first: the place, and the lines that led to it. */
  readonly places: readonly string[]
  readonly events: readonly RunEvent[]
}

const aip = (lua: string): string => `# Output\n\n\`\`\`lua\n${lua}\`\`\`\n`

const prompt = (entries: string): string => `+++\nsub_agents = [${entries}]\n+++\nDo it.\n`

async function failure(files: { readonly [path: string]: string }, overrides: readonly string[] = []): Promise<Failed> {
  const folder = tempTree({ '.git/HEAD': 'x\n', ...files })
  const home = tempTree()
  const events: RunEvent[] = []
  const env = { BATON_HOME: join(home, 'baton'), BATON_LOCAL_SERVERS: 'off' }
  const options = { cwd: folder, env, home, model: 'offline::extractive', overrides }
  const { error } = await startRun('ask.md', options, (event) => events.push(event))
  if (!isBatonError(error)) throw new Error(`the run did not fail: ${String(error)}`)
  const shown = ({ file, line, column }: SourcePlace): string =>
    [displayPath(folder, file), line, column].filter((part) => part !== undefined).join(':')
  const places = [...(error.place === undefined ? [] : [error.place]), ...error.trail].map(shown)
  return { message: error.message, hint: error.hint, places, events }
}

describe('the hint of an error of a script', () => {
  const mistake = 'local x = = 1\n'
  const reading = 'Lua stopped reading here; the mistake is on this line or above it.'
  const running = 'Fix this line of the agent, or catch the error with pcall.'
  it.each([
    ['a sub-agent that cannot be compiled', { 'a.lua': mistake }, reading],
    ['the same in an .aip file', { 'a.lua': 'return aip.agent.run("b.aip")', 'b.aip': aip(mistake) }, reading],
    ['a module that cannot be compiled', { 'a.lua': 'require("m")', 'lua/m.lua': mistake }, reading],
    ['a line that fails when it runs', { 'a.lua': 'nosuch.field = 1' }, running],
    ['an error that only sounds like one', { 'a.lua': `error("unexpected symbol near '='")` }, running],
  ])('fits %s, in both engines', async (_, files, hint) => {
    const all = { 'ask.md': prompt('"a.lua"'), ...files }
    expect((await failure(all)).hint).toBe(hint)
    expect((await failure(all, ['lua.engine="fengari"'])).hint).toBe(hint)
  })
})

describe('the lines that led to an error of a script', () => {
  const chain = {
    'ask.md': prompt('"agents/outer.lua"'),
    'agents/outer.lua': '-- runs another\nlocal r = aip.agent.run("inner.aip", { input = 1 })\nreturn r\n',
    'agents/inner.aip': '# Output\n\n```lua\nlocal r = aip.agent.run("deep", { input = input })\nreturn r\n```\n',
    'agents/deep.lua': 'local function go()\n  error("boom")\nend\n\ngo()\n',
  }
  const places = ['agents/deep.lua:2', 'agents/deep.lua:5', 'agents/inner.aip:4', 'agents/outer.lua:2', 'ask.md:2:15']

  it.each([[[]], [['lua.engine="fengari"']]])(
    'lead from the raised error up to the prompt file (%j)',
    async (overrides) => {
      expect(await failure(chain, overrides)).toMatchObject({ message: expect.stringContaining('boom'), places })
    },
  )

  it('are in the last event as data', async () => {
    const { events } = await failure(chain)
    expect(events.at(-1)).toMatchObject({
      type: 'run.failed',
      error: { line: 2, chain: [{ line: 5 }, { line: 4 }, { line: 2 }, { file: 'ask.md', line: 2, column: 15 }] },
    })
  })

  it('include lines in a module', async () => {
    const { places: through } = await failure({
      'ask.md': prompt('"a.lua"'),
      'a.lua': 'local m = require("m")\nlocal r = m.go()\nreturn r\n',
      'lua/m.lua': 'local M = {}\nfunction M.go()\n  local t = nil\n  return t.x\nend\nreturn M\n',
    })
    expect(through).toEqual(['lua/m.lua:4:10', 'a.lua:2', 'ask.md:2:15'])
  })

  it('name the agent of a module that was called in a tail call, whose line Lua loses', async () => {
    const { places: through } = await failure({
      'ask.md': prompt('"a.lua"'),
      'a.lua': 'return require("m").go()\n',
      'lua/m.lua': 'return { go = function() error("boom") end }\n',
    })
    expect(through).toEqual(['lua/m.lua:1', 'a.lua', 'ask.md:2:15'])
  })

  it('include a module with a syntax error, and a pack', async () => {
    const { places: through } = await failure({
      'ask.md': prompt('"ns@tools/sub"'),
      '.baton/packs/ns/tools/sub.aip': '# Output\n\n```lua\n\nlocal m = require("m")\n```\n',
      '.baton/packs/ns/tools/lua/m.lua': 'local a = 1\nlocal b = 2 3\n',
    })
    const pack = '.baton/packs/ns/tools'
    expect(through).toEqual([`${pack}/lua/m.lua:2:13`, `${pack}/sub.aip:5`, 'ask.md:2:15'])
  })

  it('include prompt files that are agents', async () => {
    const { places: through } = await failure({
      'ask.md': prompt('"./middle.md"'),
      'middle.md': prompt('{ name = "a.lua" }'),
      'a.lua': 'local t = {}\nt.x.y = 1\n',
    })
    expect(through).toEqual(['a.lua:2:3', 'middle.md:2:24', 'ask.md:2:15'])
  })

  it('begin with the line that called a failed host function', async () => {
    const { places: through } = await failure({
      'ask.md': prompt('"a.lua"'),
      'a.lua':
        'local function read(path)\n  local f = aip.file.load(path)\n  return f\nend\nlocal x = read("none.txt")\n',
    })
    expect(through).toEqual(['a.lua:2', 'a.lua:5', 'ask.md:2:15'])
  })

  it('begin at the agent for an invalid result, and at its entry for an unusable one', async () => {
    expect((await failure({ 'ask.md': prompt('"a.lua"'), 'a.lua': 'return 42' })).places).toEqual([
      'a.lua',
      'ask.md:2:15',
    ])
    const { places: through } = await failure({
      'ask.md': `+++\nagent = "main.lua"\nsub_agents = ["a.lua"]\n+++\nDo it.\n`,
      'a.lua': 'return nil',
      'main.lua': '\nerror({ message = "told" })',
    })
    expect(through).toEqual(['main.lua:2', 'ask.md:2:9'])
  })
})

describe('an invalid return value of a section', () => {
  it('is located where it is created', async () => {
    const { places } = await failure({
      'ask.md': prompt('"a.aip"'),
      'a.aip': '# Output\n\n```lua\nlocal x = 1\nreturn aip.flow.redo_run()\n```\n',
    })
    expect(places).toEqual(['a.aip:5:8', 'ask.md:2:15'])
  })

  it('is located at the section when the line is uncertain', async () => {
    const { places } = await failure({
      'ask.md': prompt('"a.aip"'),
      'a.aip': '# Before All\n\n```lua\nlocal r = aip.flow.before_all_response\nreturn r({ inputs = 3 })\n```\n',
    })
    expect(places).toEqual(['a.aip:4:11', 'ask.md:2:15'])
  })
})

describe('a value that cannot be returned from its section', () => {
  it.each([[[]], [['lua.engine="fengari"']]])('is located at the only return (%j)', async (overrides) => {
    const files = {
      'ask.md': prompt('"a.aip"'),
      'a.aip': '# Output\n\n```lua\n-- what to return\nlocal t = { print }\nreturn t\n```\n',
    }
    expect(await failure(files, overrides)).toMatchObject({
      message: expect.stringContaining('[1] is a function, which cannot leave Lua'),
      places: ['a.aip:6', 'ask.md:2:15'],
    })
  })

  it('is located the same way in a Lua agent, and for values that JSON lacks', async () => {
    const { message, places } = await failure({ 'ask.md': prompt('"a.lua"'), 'a.lua': '\nreturn { x = 0/0 }' })
    expect(message).toContain('the value.x is')
    expect(places).toEqual(['a.lua:2', 'ask.md:2:15'])
  })

  it('is located at the section, or in the file, when there are several', async () => {
    const code = 'local x = 1\nif not x then return 1 end\nreturn print'
    const aip = { 'ask.md': prompt('"a.aip"'), 'a.aip': `# Output\n\n\`\`\`lua\n${code}\n\`\`\`\n` }
    expect((await failure(aip)).places).toEqual(['a.aip:4', 'ask.md:2:15'])
    const lua = { 'ask.md': prompt('"a.lua"'), 'a.lua': code }
    expect((await failure(lua)).places).toEqual(['a.lua', 'ask.md:2:15'])
  })
})

describe('an unknown model', () => {
  it('is located where it is named', async () => {
    const folder = tempTree({ '.git/HEAD': 'x\n', 'ask.md': '+++\nmodel = "opnai::gpt"\n+++\nDo it.\n' })
    const home = tempTree()
    const env = { BATON_HOME: join(home, 'baton'), BATON_LOCAL_SERVERS: 'off' }
    const { error } = await startRun('ask.md', { cwd: folder, env, home }, () => {})
    expect(error).toMatchObject({
      code: 'CONFIG_INVALID',
      place: { file: 'ask.md', line: 2, column: 9, endColumn: 21 },
    })
  })

  it('is located in the prompt file that is an agent, with the entry that led to it', async () => {
    const { places } = await failure({
      'ask.md': prompt('"./child.md"'),
      'child.md': '+++\nmodel = "opnai::gpt"\n+++\nDo it.\n',
    })
    expect(places).toEqual(['child.md:2:9', 'ask.md:2:15'])
  })
})
