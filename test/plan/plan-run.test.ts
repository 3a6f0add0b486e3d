import { describe, expect, it } from 'vitest'
import { loadPrices } from '../../src/model/prices.ts'
import { strategies } from '../../src/strategies/strategies.ts'
import type { WorkflowPlan } from '../../src/strategies/workflow/plan.ts'
import { planIn, planPromptIn, workspaceOf } from './helpers.ts'

const offline = 'model = "offline::extractive"\n'
const prompt = (front: string, text = 'Explain.'): string => `+++\n${front}\n+++\n${text}\n`
const lua = 'return { agent_result = 1 }\n'

describe('the minimum and the maximum of a plan', () => {
  it('are complete without a script: tries, corrections and questions after no answer count in the maximum', async () => {
    const folder = workspaceOf({
      'ask.md': prompt(`${offline}write_mode = true\nmax_tokens = 100\n[retry]\nmax_attempts = 2`),
    })
    const { total, open } = await planIn(folder)
    const input = total.input_tokens.as_written
    expect(open).toEqual([])
    expect(total.requests).toEqual({ at_least: 1, as_written: 1, at_most: 2 * 2 * 3 })
    expect(total.output_tokens).toEqual({ at_least: 0, as_written: 100, at_most: 1200 })
    expect(total.input_tokens).toEqual({
      at_least: input,
      as_written: input,
      // a correction has the answer and the files; a note of 100 tokens follows an answer that is none
      at_most: 2 * (3 * input + 200 + 300 + 3 * (input + input + 100) + 300 + 500 + 600),
    })
    const once = await planIn(workspaceOf({ 'ask.md': prompt(`${offline}max_rounds = 1\n[retry]\nmax_attempts = 1`) }))
    expect(once.total.requests.at_most).toBe(1)
  })

  it('are priced per model, from cached input to the most expensive rate', async () => {
    const folder = workspaceOf({ 'ask.md': prompt('model = "openai::gpt-5-mini"\nmax_tokens = 1000') })
    const { total, asks } = await planIn(folder, { env: { OPENAI_API_KEY: 'k' } })
    const model = { provider: 'openai', baseUrl: 'https://api.openai.com/v1', model: 'gpt-5-mini', isFree: false }
    const rate = (await loadPrices()).perToken(model, total.input_tokens.as_written)
    expect(rate).toBeDefined()
    expect(asks).toMatchObject([{ model: 'openai::gpt-5-mini', output_assumed: false }])
    expect(total.usd.as_written).toBeCloseTo(
      total.input_tokens.as_written * (rate?.input ?? 0) + 1000 * (rate?.output ?? 0),
      12,
    )
    const notes = 1100 + 1200
    expect(total.usd.at_most).toBeCloseTo(9 * total.usd.as_written + 3 * notes * (rate?.input ?? 0), 12)
    expect(total.usd.at_least).toBeGreaterThan(0)
    expect(total.usd.at_least).toBeLessThan(total.usd.as_written)
  })

  it('have no upper limit and a minimum of zero after a pre script', async () => {
    const folder = workspaceOf({ 'ask.md': prompt(`${offline}sub_agents = ["a.lua"]`), 'a.lua': lua })
    const { total, open, target } = await planPromptIn(folder)
    expect(total.requests).toEqual({ at_least: 0, as_written: 1, at_most: null })
    expect(open).toEqual([
      { by: 'pre/0:a.lua', what: ['params', 'files', 'model', 'instruction', 'the agents after it'] },
    ])
    expect(target).toMatchObject({ decided_by: ['pre/0:a.lua'], answer: { decided_by: ['pre/0:a.lua'] } })
  })

  it('ignore the model of the file when a flag names one', async () => {
    const folder = workspaceOf({ 'ask.md': prompt('sub_agents = ["a.lua"]'), 'a.lua': lua })
    const { open } = await planIn(folder, { model: 'offline::extractive' })
    expect(open[0]?.what).not.toContain('model')
  })

  it('include what is asked before a script, and the tasks before a post script, which may start them again', async () => {
    const agents = `sub_agents = ["./p.md", { name = "a.lua", stage = "post" }]`
    const files = { 'ask.md': prompt(`${offline}${agents}`), 'p.md': prompt(offline, 'Plan.'), 'a.lua': lua }
    const { total, limits } = await planIn(workspaceOf(files))
    expect(total.requests).toEqual({ at_least: 2, as_written: 2, at_most: null })
    expect(limits.redo).toBe(20)
  })

  it('include the longest answer of a prompt file in what is asked after it', async () => {
    const plan = (as: string): Promise<Awaited<ReturnType<typeof planPromptIn>>> =>
      planPromptIn(
        workspaceOf({
          'ask.md': prompt(
            `${offline}sub_agents = [{ name = "./p.md", as = "${as}" }]\nmax_rounds = 1\n[retry]\nmax_attempts = 1`,
          ),
          'p.md': prompt(`${offline}max_tokens = 70`, 'Plan.'),
        }),
      )
    const main = ({ target }: Awaited<ReturnType<typeof planPromptIn>>) =>
      target.answer.by === 'model' ? target.answer.asks[0]?.input_tokens : undefined
    const [appended, replaced, result, params] = await Promise.all(['append', 'replace', 'result', 'params'].map(plan))
    const written = appended?.target.tasks.list[0]?.input_tokens ?? 0
    expect(written).toBeGreaterThan(0)
    expect(appended && main(appended)).toEqual({ at_least: written, as_written: written, at_most: written + 70 })
    const instruction = 3
    expect(replaced && main(replaced)).toEqual({
      at_least: written - instruction,
      as_written: written,
      at_most: written + 70,
    })
    expect(result && main(result)).toEqual({ at_least: written, as_written: written, at_most: written })
    expect(params && main(params)).toEqual({ at_least: 0, as_written: written, at_most: null })
    expect(params?.open).toEqual([{ by: 'pre/0:.%2Fp.md', what: ['params', 'files', 'model'] }])
  })

  it('include fallback models in the maximum', async () => {
    const folder = workspaceOf({ 'ask.md': prompt(`${offline}fallback_models = ["ollama::x"]`) })
    const { asks } = await planIn(folder)
    expect(asks.map(({ model, requests }) => [model, requests])).toEqual([
      ['offline::extractive', { at_least: 1, as_written: 1, at_most: 9 }],
      ['ollama::x', { at_least: 0, as_written: 0, at_most: 9 }],
    ])
  })
})

describe('the tree', () => {
  it('contains the agents of all stages in order, including disabled ones, over all tasks', async () => {
    const agents = `sub_agents = [
  { name = "off.lua", enabled = false },
  { name = "a.lua", stage = ["pre_task", "post"], depth = 2 },
  { name = "./note.md", stage = "post_task" },
]`
    const folder = workspaceOf({
      'ask.md': prompt(`${offline}working_globs = ["src/*"]\n${agents}`),
      'a.lua': lua,
      'note.md': prompt(offline, 'Note it.'),
      'src/1': 'one',
      'src/2': 'two',
    })
    const { target } = await planPromptIn(folder)
    const { pre, pre_task, post_task, post } = target.stages
    expect(pre).toMatchObject([{ at: 'pre/0:off.lua', enabled: false, runs: 0, agent: null }])
    expect(pre_task).toMatchObject([{ at: 'task/*/pre_task/0:a.lua', runs: 2, entry: { depth: 2 } }])
    expect(post_task).toMatchObject([{ runs: 2, agent: { kind: 'prompt' }, asks: [{ requests: { as_written: 2 } }] }])
    expect(post).toMatchObject([{ at: 'post/0:a.lua', runs: 1 }])
    expect(target.tasks).toMatchObject({ from: 'working_globs', list: [{ label: 'src/1' }, { label: 'src/2' }] })
  })

  it('says what the code of an agent leaves open, and which agents it runs by name', async () => {
    const folder = workspaceOf({
      'say.aip':
        '# Before All\n\n```lua\naip.agent.run("a.lua")\n```\n\n# User\n\nSay {{before_all.x.y}}.\n\n# Output\n\n```lua\nreturn 1\n```\n',
      'a.lua': lua,
    })
    const { target, total } = await planIn(folder, { file: 'say.aip', model: 'offline::extractive' })
    expect(target).toMatchObject({
      kind: 'aip',
      sections: ['Before All', 'User', 'Output'],
      options: { model: 'offline::extractive' },
      runs_agents: ['a.lua'],
      decides: ['its inputs', 'its options', 'what its prompt contains', 'the agents it runs'],
    })
    expect(total.requests).toEqual({ at_least: 0, as_written: 1, at_most: null })
  })

  it('counts the request of a prompt that is empty without its code', async () => {
    const code = '# Data\n\n```lua\nreturn { text = "x" }\n```\n\n# User\n\n{{data.text}}\n'
    const folder = workspaceOf({ 'say.aip': code })
    const { total } = await planIn(folder, { file: 'say.aip', model: 'offline::extractive', inputs: ['a', 'b'] })
    expect(total.requests).toEqual({ at_least: 0, as_written: 2, at_most: null })
  })

  it('shows that an agent without prompt sections asks no model', async () => {
    const folder = workspaceOf({ 'a.aip': '# Output\n\n```lua\nreturn aip.text.trim(input or "")\n```\n' })
    const { total, open } = await planIn(folder, { file: 'a.aip', inputs: ['x', 'y'] })
    expect({ open, requests: total.requests }).toEqual({
      open: [],
      requests: { at_least: 0, as_written: 0, at_most: 0 },
    })
  })
})

describe('problems of a plan', () => {
  it('are skipped tasks without an instruction, unless an agent may write one', async () => {
    const empty = await planPromptIn(workspaceOf({ 'ask.md': prompt(offline, '') }))
    expect(empty.target.skipped).toMatchObject({ reason: 'the instruction is empty' })
    expect(empty.total.requests.at_most).toBe(0)
    const files = { 'ask.md': prompt(`${offline}sub_agents = ["a.lua"]`, ''), 'a.lua': lua }
    const open = await planPromptIn(workspaceOf(files))
    expect(open.target.skipped).toBeNull()
    expect(open.total.requests).toMatchObject({ at_least: 0, at_most: null })
  })

  it('are errors of the run if no script can prevent them, and notes otherwise', async () => {
    const big = { 'big.txt': 'x'.repeat(3000) }
    const front = `${offline}context_globs = ["*.txt"]\nmax_files_size_kb = 1\n`
    await expect(planIn(workspaceOf({ ...big, 'ask.md': prompt(front) }))).rejects.toMatchObject({ code: 'LIMIT' })
    const folder = workspaceOf({ ...big, 'ask.md': prompt(`${front}sub_agents = ["a.lua"]`), 'a.lua': lua })
    const { target } = await planPromptIn(folder)
    expect(target.tasks.list).toMatchObject([{ problem: expect.stringContaining('max_files_size_kb') }])
  })

  it('are a model that no provider accepts, at its place, and a note for a model of an agent', async () => {
    const wrong = workspaceOf({ 'ask.md': prompt('model = "nobody::x"') })
    await expect(planIn(wrong)).rejects.toMatchObject({ code: 'CONFIG_INVALID', place: { line: 2 } })
    const folder = workspaceOf({
      'ask.md': prompt(`${offline}sub_agents = [{ name = "./p.md", options = { model = "nobody::x" } }]`),
      'p.md': 'Plan.\n',
    })
    const { notes, asks } = await planIn(folder)
    expect(notes).toEqual([expect.stringContaining('nobody')])
    expect(asks[0]).toMatchObject({ model: 'nobody::x', model_kind: 'unknown', usd: null })
  })

  it('include no limit for a team with a task list: its leader and workers may ask any number of times', async () => {
    const { asks } = await planIn(workspaceOf({ 'ask.md': prompt(`${offline}[delegate]\nteam = "docs"`) }))
    expect(asks).toMatchObject([{ requests: { at_least: 1, as_written: 1, at_most: null } }])
  })

  it('do not ask a server for a model when none is named', async () => {
    const { asks, total } = await planIn(workspaceOf({ 'ask.md': 'Hi\n' }))
    expect(asks).toMatchObject([{ model: 'a local server, else offline::extractive', model_kind: 'at_start' }])
    expect(total.usd.at_most).toBe(0)
  })

  it('include a missing key, and a budget in dollars that an unpriced model cannot keep', async () => {
    const folder = workspaceOf({ 'ask.md': prompt('model = "openai::no-such-model"') })
    const { notes } = await planIn(folder, { overrides: ['budget.usd=1'] })
    expect(notes).toEqual([
      expect.stringContaining('OPENAI_API_KEY is not set'),
      'no price is known for openai::no-such-model: budget.usd refuses it',
    ])
  })
})

it('a plan gives the schema of [output] to the step that answers, and corrections for it to no other', async () => {
  const steps =
    '[[workflow.step]]\nid = "a"\ninstructions = "One."\n[[workflow.step]]\nid = "b"\nneeds = ["a"]\ninstructions = "Two."\n'
  const fields = ['summary', 'findings', 'recommendations'].map((name) => `${name} = { type = "string" }`).join(', ')
  const output = `[output]\nschema = { type = "object", properties = { ${fields} }, required = ["summary"] }\n`
  const folder = workspaceOf({
    'plain.md': `+++\nmodel = "gpt-5-mini"\n${steps}+++\n`,
    'schema.md': `+++\nmodel = "gpt-5-mini"\n${output}${steps}+++\n`,
  })
  const [plain, schema] = await Promise.all(['plain.md', 'schema.md'].map((file) => planPromptIn(folder, { file })))
  const asksOf = (plan: typeof plain): WorkflowPlan['steps'][number]['asks'][] => {
    const answer = plan?.target.answer
    return answer?.by === 'workflow' ? (answer as WorkflowPlan).steps.map(({ asks }) => asks) : []
  }
  const [[first, last], [firstOfSchema, lastOfSchema]] = [asksOf(plain), asksOf(schema)]
  expect(first).toHaveLength(1)
  expect(firstOfSchema).toEqual(first)
  expect(lastOfSchema?.[0]?.input_tokens.as_written).toBeGreaterThan(last?.[0]?.input_tokens.as_written ?? Infinity)
})

it('a plan counts the same requests for a strategy that says nothing of how it is shown', async () => {
  const step = (id: string, keys: string): string =>
    `[[workflow.step]]\nid = "${id}"\ninstructions = "Do it."\n${keys}\n`
  const folder = workspaceOf({
    'spare.md': '+++\nmodel = "gpt-5-mini"\n+++\nHelp.\n',
    'ask.md': `+++\nmodel = "gpt-5-mini"\n${[
      step('first', 'fallback = ["spare.md"]'),
      step('mend', 'needs = ["first"]\nwhen = "failure"'),
      step('last', 'needs = ["first"]\ninput = "{{ steps.first.output }}"'),
    ].join('')}+++\n`,
  })
  const shapeless = strategies.map(({ shape, ...row }) =>
    row.key === 'workflow' || shape === undefined ? row : { ...row, shape },
  )
  const [shown, bare] = [await planIn(folder), await planIn(folder, { strategies: shapeless })]
  expect(shown.target).toMatchObject({ answer: { by: 'workflow' } })
  expect(bare.target).toMatchObject({ answer: { by: 'parts', strategy: 'workflow' } })
  expect(bare.total).toEqual(shown.total)
  expect(shown.total.requests).toMatchObject({ at_least: 1, as_written: 2 })
})
