import { textIn } from '../helpers/messages.ts'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFakeProvider } from '../helpers/fake-model.ts'
import type { ModelRequest } from '../../src/model/provider.ts'
import { runPrompt } from '../../src/run/prompt-run.ts'
import type { PromptTarget } from '../../src/load/prompt-target.ts'
import { loadTarget } from '../../src/load/target.ts'
import { agentWorld, builtInDir } from '../helpers/agents.ts'
import { strategies } from '../../src/strategies/strategies.ts'

interface Given {
  readonly vars?: readonly string[]
  readonly inputs?: readonly string[]
  /** The prompt instead of ask.md. */
  readonly text?: string
}

type Files = { readonly [path: string]: string }

async function load(folder: string, { vars = [], text }: Given): Promise<PromptTarget> {
  const target = await loadTarget({
    strategies,
    file: text === undefined ? 'ask.md' : '-p',
    ...(text === undefined ? {} : { text }),
    cwd: folder,
    env: { BATON_HOME: join(folder, '.state') },
    home: folder,
    flags: { overrides: [], vars },
    builtInDir,
  })
  if (target.kind !== 'prompt') throw new Error('a prompt')
  return target
}

/** The last message of each model call; the model answers it in angle brackets. */
async function run(files: Files, given: Given = {}): Promise<readonly string[]> {
  const last = ({ messages }: ModelRequest): string => textIn(messages.at(-1))
  const provider = createFakeProvider((request) => ({ text: [`<${last(request)}>`] }))
  const { folder, context } = agentWorld({ '.git/HEAD': 'x', ...files }, { provider })
  const target = await load(folder, given)
  await runPrompt({ strategies, target, inputs: given.inputs ?? [], onOutcome: () => {} }, context)
  return provider.requests.map(last)
}

const greeting = `+++
[input.name]
required = true
description = "whom to greet"
[input.words]
type = "list"
default = ["Hello"]
+++
{{#each input.words}}{{this}} {{/each}}{{input.name}}!
`

describe('[input]', () => {
  it('makes the instruction a template that its variables fill', async () => {
    expect(await run({ 'ask.md': greeting }, { vars: ['name={{data}}', 'words=Hi,dear'] })).toEqual([
      'Hi dear {{data}}!',
    ])
    expect(await run({ 'ask.md': greeting }, { vars: ['name=Ada'] })).toEqual(['Hello Ada!'])
  })

  it('leaves the instruction as it is with template = false', async () => {
    expect(await run({ 'ask.md': '+++\ntemplate = false\n[input.x]\n+++\n{{input.x}}\n' }, { vars: ['x=1'] })).toEqual([
      '{{input.x}}',
    ])
  })

  it('keeps the input of the task in data.task.input, where templates without variables find it too', async () => {
    const template = '{{input}} {{data.task.input}} {{input.x}}'
    const inputs = ['one', 'two']
    expect(await run({ 'ask.md': `+++\n[input.x]\n+++\n${template}\n` }, { vars: ['x=1'], inputs })).toEqual([
      '[object] one 1',
      '[object] two 1',
    ])
    expect(await run({ 'ask.md': `+++\ntemplate = true\n+++\n${template}\n` }, { inputs: ['one'] })).toEqual([
      'one one ',
    ])
  })

  it('passes its values to the agents of all stages as vars, with their types', async () => {
    const requests = await run(
      {
        'ask.md': `+++
sub_agents = [{ name = "see.lua", stage = ["pre", "pre_task"] }, { name = "check.lua", stage = ["post_task", "post"] }]
[input.count]
type = "integer"
[input.none]
+++
Go.
`,
        'see.lua':
          'return { coder_prompts_append = input.stage .. " " .. (input.vars.count + 1) .. tostring(input.vars.none) }',
        'check.lua': 'if input.vars.count ~= 2 then error("no vars in " .. input.stage) end',
      },
      { vars: ['count=2'] },
    )
    expect(requests).toEqual(['Go.\n\npre 3nil\n\npre_task 3nil'])
  })

  it('passes no vars without [input]', async () => {
    const files = {
      'ask.md': '+++\nsub_agents = ["see.lua"]\n+++\nGo.\n',
      'see.lua': 'return { coder_prompts_append = tostring(input.vars) }',
    }
    expect(await run(files)).toEqual(['Go.\n\nnil'])
  })

  it('passes its values to the agent that answers', async () => {
    const files = {
      'ask.md': '+++\nagent = "x.lua"\nsub_agents = [{ name = "y.lua", stage = "post_task" }]\n[input.a]\n+++\nGo.\n',
      'x.lua': 'return input.vars.a',
      'y.lua': 'if input.ai_response.content ~= "1" then error("not given") end',
    }
    expect(await run(files, { vars: ['a=1'] })).toEqual([])
  })

  it('is requested before anything runs', async () => {
    const { folder } = agentWorld({ '.git/HEAD': 'x', 'ask.md': greeting })
    await expect(load(folder, {})).rejects.toMatchObject({
      code: 'USAGE',
      message: 'missing variable "name": whom to greet',
      place: { file: 'ask.md', line: 2 },
    })
  })

  it('is refused for scripts, like an output schema', async () => {
    const { folder } = agentWorld({ 'a.lua': 'return 1' })
    const loadScript = (flags: object): Promise<unknown> =>
      loadTarget({
        strategies,
        file: 'a.lua',
        cwd: folder,
        env: { BATON_HOME: join(folder, '.state') },
        home: folder,
        flags: { overrides: [], ...flags },
        builtInDir,
      })
    await expect(loadScript({ vars: ['a=1'] })).rejects.toThrow('--var is for prompt files, and a.lua is an agent')
    await expect(loadScript({ outputSchema: 's.json' })).rejects.toThrow('--output-schema is for prompt files')
    await expect(loadScript({ vars: [] })).resolves.toMatchObject({ kind: 'agent' })
  })
})

describe('a prompt file with [input] as a sub-agent', () => {
  it('is filled by its entry', async () => {
    const files = {
      'ask.md': '+++\nsub_agents = [{ name = "greet.md", name2 = 1 }]\n+++\nGo.\n',
      'greet.md': '+++\n[input.name2]\ntype = "integer"\n+++\n{{input.name2}}: {{data.task.input.coder_prompt}}\n',
    }
    expect(await run(files)).toEqual(['1: Go.', 'Go.\n\n<1: Go.>'])
  })

  it.each([
    ['', 'CONFIG_INVALID "greet.md" needs the input variable "who": whom to greet', 2],
    ['who = 3', 'CONFIG_INVALID the input variable "who" of "greet.md" must be text', 2],
    ['who = "Ada", whom = 1', 'CONFIG_INVALID "greet.md" has no input variable "whom"', 2],
  ])('is refused before anything runs when its entry says: %s', async (extra, text, line) => {
    const { folder } = agentWorld({
      '.git/HEAD': 'x',
      'ask.md': `+++\nsub_agents = [{ name = "greet.md"${extra === '' ? '' : `, ${extra}`} }]\n+++\nGo.\n`,
      'greet.md': '+++\n[input.who]\nrequired = true\ndescription = "whom to greet"\n+++\n{{input.who}}\n',
    })
    const [code, ...message] = text.split(' ')
    await expect(load(folder, {})).rejects.toMatchObject({
      code,
      message: message.join(' '),
      place: { file: 'ask.md', line },
    })
  })

  it('is checked again when an agent makes the entry', async () => {
    const files = {
      'ask.md': '+++\nsub_agents = ["make.lua"]\n+++\nGo.\n',
      'make.lua': 'return { sub_agents_next = { { name = "greet.md", typo = 1 } } }',
      'greet.md': '+++\n[input.who]\n+++\n{{input.who}}\n',
    }
    await expect(run(files)).rejects.toThrow('Sub-agent [greet.md] failed: "greet.md" has no input variable "typo"')
  })

  it('needs no values to be checked on its own', async () => {
    const { folder } = agentWorld({ '.git/HEAD': 'x', 'ask.md': greeting })
    const options = { file: 'ask.md', cwd: folder, env: { BATON_HOME: join(folder, '.s') }, home: folder, builtInDir }
    await expect(loadTarget({ strategies, ...options, flags: { overrides: [] } })).resolves.toMatchObject({
      vars: undefined,
    })
  })
})

describe('a prompt file with [input] that a script runs', () => {
  const greet =
    '+++\n[input.who]\nrequired = true\n[input.list]\ntype = "list"\n+++\n{{input.who}} {{len input.list}}\n'

  it('is filled by its input, one call each', async () => {
    const files = {
      'ask.md': '+++\nagent = "x.lua"\n+++\nGo.\n',
      'greet.md': greet,
      'x.lua':
        'return aip.agent.run("greet.md", { inputs = { { who = "a", list = {} }, { who = "b", list = { 1, 2 }, _display = "b" } } }).outputs[2]',
    }
    expect((await run(files)).toSorted()).toEqual(['a 0', 'b 2'])
  })

  it.each([
    ['{ whom = "a" }', 'has no input variable "whom"'],
    ['{ who = 1 }', 'the input variable "who" of "greet.md" must be text'],
    ['"a"', '"greet.md" needs the input variable "who"'],
  ])('fails for %s, naming it', async (input, message) => {
    const files = {
      'ask.md': '+++\nagent = "x.lua"\n+++\nGo.\n',
      'greet.md': greet,
      'x.lua': `return aip.agent.run("greet.md", { input = ${input} }).outputs[1]`,
    }
    await expect(run(files)).rejects.toThrow(message)
  })
})

describe('a prompt file with [input] that answers', () => {
  it('is filled by the variables and params of the file that names it', async () => {
    const files = {
      'ask.md': '+++\nagent = "greet.md"\ntone = "calm"\nmore = 1\n[input.who]\n+++\nGo.\n',
      'greet.md': '+++\n[input]\nwho = {}\ntone = { required = true }\n+++\n{{input.who}} {{input.tone}}\n',
    }
    expect(await run(files, { vars: ['who=Ada'] })).toEqual(['Ada calm'])
    const without = { ...files, 'ask.md': '+++\nagent = "greet.md"\n+++\nGo.\n' }
    await expect(run(without)).rejects.toThrow('agent "greet.md" failed: "greet.md" needs the input variable "tone"')
  })
})

describe('a prompt that is not a file', () => {
  it('is run in the current folder, with front matter and agents', async () => {
    const text = '+++\nsub_agents = ["./a.lua"]\ncontext_globs = ["*.txt"]\n[input.x]\n+++\nGo {{input.x}}.\n\n====\n'
    const files = { 'a.lua': 'return { coder_prompts_append = "in " .. input.coder_prompt_dir }', 'a.txt': 'A' }
    const [request] = await run(files, { text, vars: ['x=on'] })
    expect(request).toMatch(/^Go on\.\n\nin \/.*[^/]$/)
  })

  it('is called -p in errors, and has no path', async () => {
    const { folder } = agentWorld({ '.git/HEAD': 'x' })
    await expect(load(folder, { text: '+++\ntemprature = 1\n+++\nHi\n' })).rejects.toMatchObject({
      place: { file: '-p', line: 2, column: 1 },
    })
    const { spec } = await load(folder, { text: 'Hi\n' })
    expect(spec).toMatchObject({ source: 'text', file: '-p', promptDir: folder })
  })

  it('does not become the text of the prompt files it names', async () => {
    const text = '+++\nsub_agents = ["b.md"]\n+++\nGo.\n'
    expect(await run({ 'b.md': 'B\n' }, { text })).toEqual(['B', 'Go.\n\n<B>'])
  })
})
