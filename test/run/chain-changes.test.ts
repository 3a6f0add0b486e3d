import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'

import { startRun } from '../../src/runner.ts'
import { resumeRun, type ResumeOptions } from '../../src/wiring/resume.ts'
import { type ModelScript, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

// Changes made by a chain are visible to what follows it, and a resumed run sees the same.

const servers: ModelServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

async function workspace(files: Readonly<Record<string, string>>, script: ModelScript) {
  const server = await startModelServer(script)
  servers.push(server)
  const folder = tempTree({ '.git/HEAD': '', ...files })
  const env = { BATON_HOME: join(folder, '.state'), BATON_GATEWAY_URL: server.url }
  const around = { cwd: folder, env, home: join(folder, '.home') }
  const runsFolder = (): string => {
    const runs = join(folder, '.state/state/runs')
    const [name = ''] = readdirSync(runs)
    return join(runs, name)
  }
  return {
    folder,
    prompts: () => server.requests.map(({ body }) => (body?.messages ?? []).map(({ content }) => content).join('\n')),
    models: () => server.requests.map(({ body }) => body?.model),
    tools: () => server.requests.map(({ body }) => namesOf(body?.['tools'])),
    run: (inputs: readonly string[] = []) => startRun('ask.md', { ...around, inputs }, () => {}),
    resume: (id: string, options: Partial<ResumeOptions> = {}) =>
      resumeRun({ folder: join(runsFolder(), id), ...around, ...options }, () => {}),
    journal: (id: string) => readFileSync(join(runsFolder(), id, 'j-000001.jsonl'), 'utf8'),
  }
}

function namesOf(tools: unknown): readonly string[] {
  const list = (tools ?? []) as readonly { readonly function: { readonly name: string } }[]
  return list.map((tool) => tool.function.name)
}

describe('the files of a task whose globs its pre_task agent changed', () => {
  it('are the same after a resume that skips the earlier tasks', async () => {
    let isDown = true
    const { run, resume, prompts } = await workspace(
      {
        'red.txt': 'about red things',
        'blue.txt': 'about blue things',
        'ask.md':
          '+++\nmodel = "small"\ninput_concurrency = 1\nretry = { max_attempts = 1 }\nsub_agents = [{ name = "own.lua", stage = "pre_task" }]\n+++\nSay it.\n',
        'own.lua': 'return { coder_params_patch = { context_globs = { input.task.label .. ".txt" } } }',
      },
      ({ body }) => {
        const isBlue = JSON.stringify(body).includes('blue')
        return isBlue && isDown ? { status: 400, body: 'down' } : { text: 'said' }
      },
    )
    const first = await run(['red', 'blue'])
    expect(first.exitCode).toBe(1)
    isDown = false
    const again = await resume(first.runId)
    expect(again.exitCode).toBe(0)
    expect(prompts().map((text) => [text.includes('about red things'), text.includes('about blue things')])).toEqual([
      [true, false],
      [false, true],
      [false, true],
    ])
  })
})

describe('a raised limit repeats no paid work', () => {
  const chain =
    'sub_agents = [{ name = "./plan.md", stage = "pre", as = "append" }, { name = "again.lua", stage = "post" }]'
  const prompt = (calls: number): string => `+++\nmodel = "small"\n${chain}\n[budget]\ncalls = ${calls}\n+++\nSay it.\n`

  it('of pre agents, in the first round and in a redo', async () => {
    const { folder, run, resume, prompts } = await workspace(
      {
        'ask.md': prompt(3),
        'plan.md': '+++\nmodel = "small"\n+++\nMake a plan.\n',
        'again.lua': 'return { coder_redo = input.coder_redo_count == 0 }',
      },
      () => ({ text: 'said' }),
    )
    const kinds = (): readonly string[] => prompts().map((text) => (text.includes('Make a plan.') ? 'plan' : 'ask'))
    const first = await run()
    expect(first).toMatchObject({ exitCode: 4, stopReason: 'budget' })
    expect(kinds()).toEqual(['plan', 'ask', 'plan'])

    writeFileSync(join(folder, 'ask.md'), prompt(9))
    const again = await resume(first.runId, { usesCurrent: true })
    expect(kinds()).toEqual(['plan', 'ask', 'plan', 'ask'])
    expect(again.exitCode).toBe(0)
  })
})

it('aliases that a chain changes apply to the models of its tasks', async () => {
  const { run, models } = await workspace(
    {
      'ask.md':
        '+++\nmodel = "mine"\nmodel_aliases = { mine = "gateway::one" }\nsub_agents = ["other.lua"]\n+++\nSay it.\n',
      'other.lua': 'return { coder_params_patch = { model_aliases = { mine = "gateway::two" } } }',
    },
    () => ({ text: 'said' }),
  )
  expect((await run()).exitCode).toBe(0)
  expect(models()).toEqual(['gateway::two'])
})

it('sub_agent_result is the result of the agent, under the names it used', async () => {
  const { folder, run } = await workspace(
    {
      'ask.md': '+++\nmodel = "small"\nsub_agents = ["first.lua", "second.lua"]\n+++\nSay it.\n',
      'first.lua':
        'return { coder_params_patch = { tone = "calm" }, coder_prompts_append = { "Be short." }, agent_result = 7 }',
      'second.lua': 'aip.file.save("seen.json", aip.json.stringify(input.sub_agents_prev[1].sub_agent_result))',
    },
    () => ({ text: 'said' }),
  )
  expect((await run()).exitCode).toBe(0)
  expect(JSON.parse(readFileSync(join(folder, 'seen.json'), 'utf8'))).toEqual({
    coder_params_patch: { tone: 'calm' },
    coder_prompts_append: ['Be short.'],
    agent_result: 7,
  })
})

it('a task that fails after its answer is recorded with its own error', async () => {
  const { run, journal } = await workspace(
    {
      'ask.md': '+++\nmodel = "small"\nsub_agents = [{ name = "bad.lua", stage = "post_task" }]\n+++\nSay it.\n',
      'bad.lua': 'error("this answer will not do")',
    },
    () => ({ text: 'said' }),
  )
  const { exitCode, runId } = await run()
  expect(exitCode).toBe(1)
  const failed = journal(runId)
    .split('\n')
    .filter((line) => line.includes('"k":"failed"') && line.includes('"p":"task/0"'))
  expect(failed).toHaveLength(1)
  expect(failed[0]).toContain('this answer will not do')
})

describe('rights that an agent of a chain gives up', () => {
  it.each(['pre', 'pre_task'])('apply to the model of the file: tools, in %s', async (stage) => {
    const { run, tools } = await workspace(
      {
        'ask.md': `+++\nmodel = "small"\ntools = ["read", "todo"]\nsub_agents = [{ name = "less.lua", stage = "${stage}" }]\n+++\nSay it.\n`,
        'less.lua': 'return { coder_params_patch = { tools = input.input == "none" and {} or { "todo" } } }',
      },
      () => ({ text: 'said' }),
    )
    expect((await run(['one'])).exitCode).toBe(0)
    if (stage === 'pre_task') expect((await run(['none'])).exitCode).toBe(0)
    expect(tools()).toEqual(stage === 'pre' ? [['todo']] : [['todo'], []])
  })

  it.each(['pre', 'pre_task'])('apply to later calls: a budget where there was none, in %s', async (stage) => {
    const { run, prompts } = await workspace(
      {
        'ask.md': `+++\nmodel = "small"\nsub_agents = [{ name = "less.lua", stage = "${stage}" }, { name = "more.md", stage = "post_task" }]\n+++\nSay it.\n`,
        'less.lua': 'return { coder_params_patch = { budget = { calls = 1 } } }',
        'more.md': 'Say more.\n',
      },
      () => ({ text: 'said' }),
    )
    expect(await run()).toMatchObject({ exitCode: 4, stopReason: 'budget' })
    expect(prompts()).toHaveLength(1)
  })

  it('are refused if the budget is invalid', async () => {
    const { run } = await workspace(
      {
        'ask.md': '+++\nmodel = "small"\nsub_agents = ["less.lua"]\n+++\nSay it.\n',
        'less.lua': 'return { coder_params_patch = { budget = { dollars = 1 } } }',
      },
      () => ({ text: 'said' }),
    )
    const { exitCode, error } = await run()
    expect([exitCode, String(error)]).toEqual([1, expect.stringContaining('budget')])
  })
})

it.each(['pre', 'pre_task', 'post_task', 'post'])(
  'the three lists of globs are lists for each agent of %s',
  async (stage) => {
    const lost = 'return { coder_params = { model = "small" } }'
    const seen =
      'aip.file.append("seen.txt", #input.coder_params.context_globs .. #input.coder_params.structure_globs .. #input.coder_params.knowledge_globs .. " ")\nreturn { coder_redo = input.coder_redo_count == 0 }'
    const { folder, run } = await workspace(
      {
        'ask.md': `+++\nmodel = "small"\nsub_agents = [{ name = "lost.lua", stage = ["pre", "pre_task"] }, { name = "seen.lua", stage = "${stage}" }, { name = "again.lua", stage = "post" }]\n+++\nSay it.\n`,
        'lost.lua': lost,
        'seen.lua': seen,
        'again.lua': 'return { coder_redo = input.coder_redo_count == 0 }',
      },
      () => ({ text: 'said' }),
    )
    expect((await run()).exitCode).toBe(0)
    expect(readFileSync(join(folder, 'seen.txt'), 'utf8')).toBe('000 000 ')
  },
)

it('an entry that a script returns has empty lists, although Lua cannot distinguish them from tables', async () => {
  const { run, prompts } = await workspace(
    {
      'ask.md': '+++\nmodel = "small"\nsub_agents = ["next.lua"]\n+++\nSay it.\n',
      'next.lua':
        'return { sub_agents_next = { { name = "list.md", items = {}, options = { context_globs = {} } } }, coder_prompts_append = {} }',
      'list.md': '+++\n[input.items]\ntype = "list"\n+++\nCount {{#each input.items}}x{{/each}}.\n',
    },
    () => ({ text: 'said' }),
  )
  expect((await run()).exitCode).toBe(0)
  expect(prompts()[0]).toMatch(/Count \.$/)
})
