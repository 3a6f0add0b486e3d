import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createCheckParts } from '../../src/load/check/agent.ts'
import { checkFile } from '../../src/load/check/check.ts'
import { loadPromptTarget, type PromptTarget } from '../../src/load/prompt-target.ts'
import { teamSettings } from '../../src/team/tools.ts'
import { builtInDir } from '../helpers/agents.ts'
import { strategies } from '../../src/strategies/strategies.ts'
import { tempTree } from '../helpers/temp.ts'
import { planPromptIn, workspaceOf } from '../plan/helpers.ts'

type Files = { readonly [path: string]: string }

const prompt = (keys: string): string => `+++\nmodel = "ollama::m"\n${keys}\n+++\nDo it.\n`

function optionsIn(folder: string, overrides: readonly string[] = []) {
  return {
    cwd: folder,
    env: {},
    home: join(folder, 'home'),
    file: 'ask.md',
    builtInDir,
    strategies,
    flags: { overrides },
  }
}

function load(files: Files, overrides?: readonly string[]): Promise<PromptTarget> {
  return loadPromptTarget(optionsIn(tempTree({ '.git/HEAD': '', ...files }), overrides))
}

async function check(files: Files): Promise<readonly string[]> {
  const parts = createCheckParts({ builtInDir })
  const { problems } = await checkFile(optionsIn(tempTree({ '.git/HEAD': '', ...files })), parts)
  await parts.close()
  return problems.map(({ severity, message, place }) => `${severity} ${place.line}:${place.column} ${message}`)
}

describe('roles of [collab] (R106)', () => {
  it('are default, worker and orchestrator by default: they inherit everything', async () => {
    const { roles } = await load({ 'ask.md': prompt('[collab]') })
    expect([...roles.keys()]).toEqual(['default', 'worker', 'orchestrator'])
    for (const { settings, tools, agent } of roles.values()) {
      expect([settings, tools, agent.kind]).toEqual([{}, undefined, 'prompt'])
    }
    expect((await load({ 'ask.md': prompt('') })).roles.size).toBe(0)
    expect((await load({ 'ask.md': prompt('') }, ['collab.enabled=true'])).roles.size).toBe(3)
  })

  it('are models with their own settings and instructions, and a default description', async () => {
    const keys =
      '[collab.roles.worker]\nmodel = "m"\ntools = ["read"]\nmax_turns = 3\n[collab.roles.critic]\ninstructions = "Find faults."'
    const { roles } = await load({ 'ask.md': prompt(keys) })
    expect(roles.get('worker')).toMatchObject({
      description: 'Does one piece of work and reports the result.',
      settings: { model: 'm', max_turns: 3 },
      tools: ['read'],
      maxTurns: 3,
      origin: 'ask.md:3, built-in',
    })
    expect(roles.get('critic')).toMatchObject({ instructions: 'Find faults.', description: undefined })
  })

  it('use the text of a file as instructions, or are a named agent or a prompt file', async () => {
    const keys = `[collab.roles.worker]\ninstructions = "prompts/worker.md"\n[collab.roles.finder]\nagent = "Explore"
[collab.roles.judge]\nagent = "./judge.md"\ndescription = "Judges."`
    const { roles } = await load({
      'ask.md': prompt(keys),
      'prompts/worker.md': 'Work.\n',
      'judge.md': '+++\ntools = []\n+++\nJudge.',
    })
    expect(roles.get('worker')?.instructions).toBe('Work.')
    expect(roles.get('finder')).toMatchObject({
      name: 'finder',
      agent: { name: 'Explore' },
      disallowedTools: expect.arrayContaining(['write']),
    })
    expect(roles.get('judge')).toMatchObject({
      description: 'Judges.',
      tools: [],
      agent: { name: './judge.md', text: '+++\ntools = []\n+++\nJudge.' },
    })
  })

  it.each([
    ['agent = "Explorer"', 'there is no agent "Explorer"'],
    ['agent = "a.lua"', 'the role "critic" cannot be a.lua: a script takes no messages'],
    ['agent = "./ask.md"', 'the role "critic" is this file itself'],
    ['instructions = "no.md"', 'the file no.md of instructions does not exist'],
    ['instructions = "../x.md"', 'outside the workspace'],
    ['instructions = "judge.md"', 'judge.md is a prompt file: instructions are text'],
    ['tools = ["reed"]', 'unknown tool "reed"'],
    ['model = "nobody has this"', 'unknown model "nobody has this"'],
  ])('are validated by check, and before anything runs: %s', async (keys, said) => {
    const files = {
      'ask.md': prompt(`tools = ["read"]\n[collab.roles.critic]\n${keys}`),
      'a.lua': 'return 1',
      'judge.md': '+++\n+++\nJudge.',
    }
    expect(await check(files)).toEqual([expect.stringMatching(/^error 5:\d+ /)])
    expect(await check(files)).toEqual([expect.stringContaining(said)])
    // an unknown model is reported when it is called
    if (!keys.startsWith('model')) await expect(load(files)).rejects.toThrow(said)
  })

  it('have only tools that the file has, which check reports', async () => {
    const keys = 'tools = ["read"]\n[collab.roles.worker]\ntools = ["read", "todo", "grep"]'
    expect(await check({ 'ask.md': prompt(keys) })).toEqual([
      'warning 5:9 the role "worker" does not get todo, grep: agents have at most the tools of the file',
    ])
  })

  it('have no effect if an agent answers', async () => {
    const files = { 'ask.md': prompt('agent = "./judge.md"'), 'judge.md': 'Judge.' }
    await expect(load(files, ['collab.enabled=true'])).rejects.toThrow('--collab is for the model of the file')
  })
})

it('settings of a team include its budget, and the rule of the run about models without a price', async () => {
  const { settings, roles } = await load({
    'ask.md': prompt('[budget]\nunpriced = "allow"\n[collab]\nbudget = { tokens = 9 }'),
  })
  const team = teamSettings(settings, roles)
  expect(team).toMatchObject({ maxAgents: 6, budget: { tokens: 9, unpriced: 'allow' }, roles: expect.any(Map) })
  expect(teamSettings({ budget: settings.budget }, roles)).toBeUndefined()
})

it('a plan shows the maximum number of agents, their budget, and the additional models that may be asked', async () => {
  const keys =
    'max_tokens = 10\n[collab]\nmax_agents = 3\nbudget = { calls = 7 }\n[collab.roles.worker]\nmodel = "ollama::small"\ntools = ["read"]'
  const { target, asks, total, notes } = await planPromptIn(workspaceOf({ 'ask.md': prompt(keys) }))
  expect(target.answer).toMatchObject({
    by: 'model',
    team: {
      max_agents: 3,
      max_depth: 1,
      budget: { calls: 7 },
      roles: [
        { name: 'default', agent: null, model: null, tools: null },
        { name: 'worker', agent: null, model: 'ollama::small', tools: ['read'] },
        { name: 'orchestrator', agent: null, model: null, tools: null },
      ],
    },
  })
  expect(asks.find(({ model }) => model === 'ollama::small')?.requests).toEqual({
    at_least: 0,
    as_written: 0,
    at_most: null,
  })
  expect(total.requests).toMatchObject({ at_least: 1, as_written: 1, at_most: null })
  expect(notes).toEqual([expect.stringContaining('the role worker is not given read')])
})
