import { textIn } from '../helpers/messages.ts'
import { textOf } from '../../src/event/message.ts'
import { describe, expect, it } from 'vitest'
import { requestFor } from '../../src/agent/agent-call.ts'
import { callPromptInput } from '../../src/agent/prompt-input.ts'
import { defined, type Json, type JsonObject } from '../../src/base/json.ts'
import { type RunScope, withScope } from '../../src/event/context.ts'
import { createFakeProvider, type FakeTurn } from '../helpers/fake-model.ts'
import type { ModelRequest } from '../../src/model/provider.ts'
import { resolveAgent } from '../../src/pack/resolve.ts'
import { runPrompt } from '../../src/run/prompt-run.ts'
import { agentWorld, type AgentWorld, builtInDir, endOf, loadPromptFile } from '../helpers/agents.ts'
import { placeAt } from '../helpers/effects.ts'
import { allRights } from '../../src/event/permission.ts'
import { strategies } from '../../src/strategies/strategies.ts'
import type { TaskOutcome } from '../../src/run/strategy.ts'

type Files = { readonly [path: string]: string }

interface World extends AgentWorld {
  readonly requests: readonly ModelRequest[]
  /** Runs ask.md to its end. */
  readonly ask: (
    overrides?: readonly string[],
    flags?: { readonly model?: string; readonly env?: { readonly [name: string]: string } },
  ) => Promise<readonly TaskOutcome[]>
}

/** The instruction in angle brackets. */
function echo(request: ModelRequest): FakeTurn {
  return { text: [`<${last(request)}>`] }
}

function last({ messages }: ModelRequest): string {
  return textIn(messages.at(-1))
}

interface WorldParts {
  readonly answer?: (request: ModelRequest) => FakeTurn
  /** Further fields of the context. */
  readonly extra?: Partial<RunScope>
  /** `-c` of the run. */
  readonly overrides?: readonly string[]
}

function world(files: Files, { answer = echo, extra = {}, overrides: runOverrides = [] }: WorldParts = {}): World {
  const provider = createFakeProvider(answer)
  const made = agentWorld({ '.git/HEAD': 'x', ...files }, { provider, overrides: runOverrides })
  const context = withScope(made.context, extra)
  return {
    ...made,
    async run(name) {
      const agent = resolveAgent(name, { baseDir: made.folder, builtInDir, packRoots: [] })
      const request = requestFor({ agent, inputs: null, options: {} }, callPromptInput)
      return endOf(await context.services.agents.run(request, withScope(context, { at: placeAt('main') })))
    },
    requests: provider.requests,
    async ask(overrides = [], { model, env } = {}) {
      const target = await loadPromptFile('ask.md', made.folder, { overrides, ...defined({ env, model }) })
      const outcomes: TaskOutcome[] = []
      await runPrompt({ strategies, target, inputs: [], onOutcome: (task) => outcomes.push(task) }, context)
      return outcomes
    },
  }
}

describe('a prompt file as a sub-agent', () => {
  it('gets the instruction as the message "Input" and appends its answer', async () => {
    const { ask, requests } = world({
      'ask.md': '+++\nsub_agents = ["prompts/tone.md"]\n+++\nRewrite it.\n',
      'prompts/tone.md': 'Which tone?\n',
    })
    await ask()
    expect(requests.map(({ messages }) => messages.slice(1).map(textOf))).toEqual([
      ['# Input\n\nRewrite it.', 'Which tone?'],
      ['Rewrite it.\n\n<Which tone?>'],
    ])
  })

  it('has its own model and settings, which the options of its entry override; BATON_MODEL and -m do not apply', async () => {
    const { ask, requests } = world({
      'baton.toml': 'model = "configured"\ntop_p = 0.5\n',
      'ask.md':
        '+++\nmodel = "main"\nsub_agents = ["a.md", "b.md", { name = "c.md", options = { model = "given", temperature = 0.1 } }]\n+++\nHi\n',
      'a.md': 'A\n',
      'b.md': '+++\nmodel = "own"\n+++\nB\n',
      'c.md': '+++\nmodel = "own"\n+++\nC\n',
    })
    await ask([], { model: 'flagged', env: { BATON_MODEL: 'named' } })
    expect(requests.map(({ model, temperature, top_p }) => [model, temperature, top_p])).toEqual([
      ['configured', undefined, 0.5],
      ['own', undefined, 0.5],
      ['given', 0.1, 0.5],
      ['flagged', undefined, 0.5],
    ])
  })

  it('has the model settings that -c gives the run, below its own', async () => {
    const overrides = ['model="run"', 'max_tokens=9', 'context_globs=["b.md"]', 'write_mode=true']
    const files = {
      'baton.toml': 'model = "configured"\n',
      'ask.md': '+++\nsub_agents = ["a.md", "b.md"]\n+++\nHi\n',
      'a.md': '+++\nsub_agents = ["deep/a.md"]\n+++\nA\n',
      'deep/a.md': 'Deep\n',
      'b.md': '+++\nmodel = "own"\n+++\nB\n',
    }
    const { ask, requests } = world(files, { overrides })
    await ask(overrides)
    expect(requests.map(({ model, max_tokens }) => [model, max_tokens])).toEqual([
      ['run', 9],
      ['run', 9],
      ['own', 9],
      ['run', 9],
    ])
    const seesFiles = requests.map(({ messages }) =>
      messages.some((message) => textOf(message).includes('path="b.md"')),
    )
    expect(seesFiles).toEqual([false, false, false, true])
  })

  it('runs its own sub-agents, files and tasks, and returns all answers in order', async () => {
    const { ask, requests } = world({
      'ask.md': '+++\nsub_agents = [{ name = "each.md", as = "result" }, "show.lua"]\n+++\nHi\n',
      'each.md': '+++\nworking_globs = ["src/*.txt"]\nsub_agents = ["twice.lua"]\n+++\nSum up.\n',
      'twice.lua': 'return { coder_prompts_append = "In one line." }',
      'show.lua': 'return { coder_prompt = input.sub_agents_prev[1].agent_result }',
      'src/a.txt': 'A',
      'src/b.txt': 'B',
    })
    await ask()
    expect(requests).toHaveLength(3)
    expect(last(requests[2]!)).toBe('<Sum up.\n\nIn one line.>\n\n<Sum up.\n\nIn one line.>')
  })

  it('has its own places below those of its entry', async () => {
    const { ask, context } = world({
      'ask.md': '+++\nsub_agents = [{ name = "check.md", stage = "post_task" }]\n+++\nHi\n',
      'check.md': 'Is it right?\n',
    })
    const [outcome] = await ask()
    expect(outcome).toMatchObject({ content: '<Hi>', agentResult: '<Is it right?>' })
    const places = context.records.flatMap((record) => (record.k === 'started' ? [record.p] : []))
    expect(places).toEqual(['task/0/agent/ask/turn/0#0', 'task/0/post_task/0:check.md/task/0/agent/ask/turn/0#0'])
    expect(context.sent.filter(({ type }) => type === 'agent.started')).toMatchObject([
      { kind: 'llm', agent: 'task/0/ask' },
      { kind: 'prompt', name: 'check.md', agent: 'task/0/post_task/0:check.md' },
      { kind: 'llm' },
    ])
    expect(context.sent.some(({ type }) => type === 'answer')).toBe(false)
  })

  it('changes nothing when its instruction is empty', async () => {
    const { ask, requests } = world({
      'ask.md': '+++\nsub_agents = [{ name = "none.md", as = "replace" }]\n+++\nHi\n',
      'none.md': '+++\nmodel = "m"\n+++\n',
    })
    expect(await ask()).toMatchObject([{ content: '<Hi>' }])
    expect(requests).toHaveLength(1)
  })

  it('fails as the sub-agent it is', async () => {
    const { ask } = world({
      'ask.md': '+++\nsub_agents = ["bad.md"]\n+++\nHi\n',
      'bad.md': '+++\nsub_agents = ["no.lua"]\n+++\nHi\n',
      'no.lua': 'return { success = false, error_msg = "no" }',
    })
    await expect(ask()).rejects.toMatchObject({
      code: 'AGENT_FAILED',
      message: 'Sub-agent [bad.md] failed: Sub-agent [no.lua] failed: no',
    })
  })

  it('omits failed tasks if it allows that, and fails when none is left', async () => {
    const files = {
      'ask.md': '+++\nsub_agents = ["each.md"]\n+++\nHi\n',
      'each.md':
        '+++\nallow_run_on_task_fail = true\nworking_globs = ["src/*.txt"]\nsub_agents = [{ name = "no.lua", stage = "pre_task" }]\n+++\nSum up.\n',
      'src/a.txt': 'A',
      'src/b.txt': 'B',
    }
    const some = world({ ...files, 'no.lua': 'if input.task.index == 0 then error("no a") end' })
    await some.ask()
    expect(last(some.requests.at(-1)!)).toBe('Hi\n\n<Sum up.>')
    const all = world({ ...files, 'no.lua': 'error("none")' })
    await expect(all.ask()).rejects.toThrow(/^Sub-agent \[each\.md\] failed: every task of "each\.md" failed: .*none/)
    expect(all.requests).toEqual([])
  })

  it('asks no model and changes nothing in a dry run', async () => {
    const files = { 'ask.md': '+++\nsub_agents = ["a.md"]\n+++\nHi\n', 'a.md': 'A\n' }
    const { ask, requests } = world(files, { extra: { dry: 'req' } })
    expect(await ask()).toMatchObject([{ content: expect.stringMatching(/==== user\n\nHi$/) }])
    expect(requests).toEqual([])
  })
})

describe('a prompt file that a script runs', () => {
  const one = (call: string): Files => ({ 'a.lua': `return aip.agent.run(${call})`, 'p.md': 'Do it.\n' })

  it.each([
    ['"p.md", { input = "text" }', '# Input\n\ntext'],
    ['"p.md", { input = { n = 1 } }', '# Input\n\n{\n  "n": 1\n}'],
  ])('%s', async (call, given) => {
    const { run, requests } = world(one(call))
    expect((await run('a.lua')).outputs).toEqual([{ outputs: ['<Do it.>'], redo_requested: false }])
    expect(requests[0]?.messages.slice(1).map(textOf)).toEqual([given, 'Do it.'])
  })

  it('gets no message "Input" without an input', async () => {
    const { run, requests } = world(one('"p.md"'))
    await run('a.lua')
    expect(requests[0]?.messages.slice(1).map(textOf)).toEqual(['Do it.'])
  })

  it('is run once for each input, outputs in input order, whichever ends first', async () => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const answer = (request: ModelRequest): FakeTurn => {
      if (textIn(request.messages.at(-2)) === '# Input\n\nslow') return { text: ['slow'], gate }
      setTimeout(open, 10)
      return { text: ['fast'] }
    }
    const { run, context } = world(one('"p.md", { inputs = { "slow", "fast" } }'), { answer })
    expect((await run('a.lua')).outputs).toMatchObject([{ outputs: ['slow', 'fast'] }])
    const places = context.records.flatMap((record) => (record.k === 'started' ? [record.p] : []))
    expect(places.toSorted()).toEqual([
      'main/chunk#0/agent/p.md/task/0/task/0/agent/ask/turn/0#0',
      'main/chunk#0/agent/p.md/task/1/task/0/agent/ask/turn/0#0',
    ])
  })

  it('accepts options of the call, and reports unsupported ones', async () => {
    const { run, requests } = world(one('"p.md", { options = { model = "given" } }'))
    await run('a.lua')
    expect(requests[0]?.model).toBe('given')
    await expect(world(one('"p.md", { options = { modle = "x" } }')).run('a.lua')).rejects.toThrow(
      'options of "p.md": unknown key "modle"',
    )
    await expect(world(one('"p.md", { options = { write_mode = true } }')).run('a.lua')).rejects.toThrow(
      'options of "p.md": "write_mode" cannot be set by the caller',
    )
  })

  it('counts its costs for itself and for the run', async () => {
    const { run, context } = world({ ...one('"p.md"'), 'q.md': '+++\nsub_agents = ["p.md"]\n+++\nQ\n' })
    expect((await run('q.md')).spent.usage.calls).toBe(2)
    expect(context.services.meter.total().usage.calls).toBe(2)
  })

  it('counts for the depth limit and for cycles', async () => {
    const { run } = world({
      'a.lua': 'return aip.agent.run("p.md", { input = "x" })',
      'p.md': '+++\nsub_agents = ["b.lua"]\n+++\nP\n',
      'b.lua': 'aip.agent.run("p.md", { input = "x" })',
    })
    await expect(run('a.lua')).rejects.toMatchObject({
      message: expect.stringContaining('agents run each other in a cycle: a.lua → p.md → b.lua → p.md'),
    })
  })
})

describe('tools', () => {
  const offered = (requests: readonly ModelRequest[]): readonly (readonly string[])[] =>
    requests.map(({ tools = [] }) => tools.map(({ name }) => name))
  const child = (keys: string): string => `+++\n${keys}\n+++\nC\n`
  const parent = (keys: string): string => `+++\nsub_agents = ["c.md"]\n${keys}\n+++\nHi\n`

  it.each<readonly [parent: string, child: string, ofChild: readonly string[]]>([
    ['', 'tools = ["todo"]', ['todo']],
    ['tools = ["t*"]', 'tools = ["todo"]', ['todo']],
    ['tools = ["read"]', 'tools = ["todo"]', []],
    ['tools = []', 'tools = ["t*"]', []],
    ['disallowed_tools = ["to*"]', 'tools = ["todo"]', []],
    ['tools = ["todo"]', 'tools = ["todo"]\n[permission]\ntodo = "deny"', []],
    ['tools = ["todo"]', 'tools = ["todo"]\n[permission]\n"*" = "deny"\ntodo = "allow"', ['todo']],
  ])('of a file with %j for one with %j', async (above, own, expected) => {
    const { ask, requests } = world({ 'ask.md': parent(above), 'c.md': child(own) })
    await ask()
    expect(offered(requests)[0]).toEqual(expected)
  })

  it('that the calling file does not have are reported if they are named', async () => {
    const { ask, context } = world({
      'ask.md': parent('disallowed_tools = ["grep", "todo"]'),
      'c.md': child('tools = ["todo", "grep", "w*"]'),
    })
    await ask()
    expect(context.sent.filter(({ type }) => type === 'warning')).toMatchObject([
      { message: 'c.md is not given the tools todo, grep: the file that runs it does not have them' },
    ])
  })

  it('of nested children are those that both have', async () => {
    const { ask, requests } = world({
      'ask.md': parent('tools = ["t*"]'),
      'c.md': '+++\nsub_agents = ["d.md"]\ndisallowed_tools = ["todo"]\n+++\nC\n',
      'd.md': child('tools = ["todo"]'),
    })
    await ask()
    expect(offered(requests)).toEqual([[], [], ['todo']])
  })
})

describe('rights', () => {
  const files = {
    'ask.md': '+++\nsub_agents = [{ name = "w.md", stage = "post" }]\n+++\nHi\n',
    'w.md': '+++\nwrite_mode = true\n+++\nWrite.\n',
    'a.lua': 'return aip.agent.run("w.md")',
  }
  const rules = (requests: readonly ModelRequest[]): string => textIn(requests.at(-1)?.messages[0])

  it('never exceed those of the calling file', async () => {
    const { run, requests, context } = world(files, { extra: { rights: { ...allRights, write: false } } })
    await run('a.lua')
    const readOnly = rules(requests)
    expect(context.sent.filter(({ type }) => type === 'warning')).toMatchObject([
      { message: 'w.md cannot change files, because the file that runs it may not' },
    ])
    const free = world(files)
    await free.run('a.lua')
    expect(rules(free.requests)).not.toBe(readOnly)
    expect(free.context.sent.filter(({ type }) => type === 'warning')).toEqual([])
  })

  it('and keys that apply to the whole run are reported when they have no effect', async () => {
    const { run, context } = world({
      'a.lua': 'aip.agent.run("p.md")\naip.agent.run("p.md")',
      'p.md': '+++\n[retry]\nmax_attempts = 1\n[lua]\ntimeout = "1s"\n+++\nHi\n',
    })
    await run('a.lua')
    expect(context.sent.filter(({ type }) => type === 'warning')).toMatchObject([
      { message: 'lua, retry in p.md have no effect if it is run as an agent' },
    ])
  })
})

describe('a template', () => {
  it('gets the input of its caller as a variable, without the message "Input"', async () => {
    const { run, requests } = world({
      'a.lua': 'return aip.agent.run("p.md", { input = { name = "parser" } })',
      'p.md': '+++\ntemplate = true\ntone = "calm"\n+++\nExplain the {{input.name}}, {{params.tone}}.\n',
    })
    await run('a.lua')
    expect(requests[0]?.messages.slice(1).map(textOf)).toEqual(['Explain the parser, calm.'])
  })

  it('of a sub-agent sees what scripts see', async () => {
    const { ask, requests } = world({
      'ask.md': '+++\nsub_agents = ["p.md"]\ntone = "dry"\n+++\nHi\n',
      'p.md': '+++\ntemplate = true\n+++\nIs "{{input.coder_prompt}}" {{input.coder_params.tone}}?\n',
    })
    await ask()
    expect(last(requests[0]!)).toBe('Is "Hi" dry?')
  })
})

describe('the variables of scripts in a child', () => {
  it('include the input of its caller and the options of config files', async () => {
    const seen = (outputs: readonly Json[]): JsonObject =>
      JSON.parse(String((outputs[0] as JsonObject)['r'])) as JsonObject
    const { run } = world({
      'baton.toml': 'temperature = 0.25\n',
      'a.lua': 'return { r = aip.agent.run("p.md", { input = "x" }).outputs[1] }',
      'p.md': '+++\nsub_agents = [{ name = "s.lua", stage = "post_task" }]\ntop_p = 0.5\n+++\nP\n',
      's.lua':
        'return { ai_response = aip.json.stringify({ input = input.input, t = options.temperature, p = options.top_p, redo = input.coder_redo_count }) }',
    })
    expect(seen((await run('a.lua')).outputs)).toEqual({ input: 'x', t: 0.25, p: 0.5, redo: 0 })
  })
})

it('its model is asked no more often than its caller says', async () => {
  const answer = (): FakeTurn => ({ text: [], toolCalls: ['todo'], toolInput: ['{"todos": []}'], finish: 'tool_calls' })
  const made = world({ 'a.md': '+++\nmodel = "m"\ntools = ["todo"]\nmax_turns = 5\n+++\nFind.\n' }, { answer })
  const agent = resolveAgent('a.md', { baseDir: made.folder, builtInDir, packRoots: [] })
  const request = requestFor({ agent, inputs: null, options: {} }, callPromptInput)
  if (request.kind !== 'prompt') throw new Error('a prompt file')
  const context = withScope(made.context, { at: placeAt('main') })
  await expect(context.services.agents.run({ ...request, maxTurns: 2 }, context)).rejects.toThrow('max_turns')
  expect(made.requests).toHaveLength(2)
})
