import { textOf } from '../../src/event/message.ts'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/base/json.ts'
import { loadRunSpec } from '../../src/config/run-spec.ts'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { type AgentAnswer, type AgentQuestion, askAgent } from '../../src/run/ask.ts'
import { resolveAgent } from '../../src/pack/resolve.ts'
import { agentWorld, aip, builtInDir } from '../helpers/agents.ts'
import { placeAt } from '../helpers/effects.ts'
import { withScope } from '../../src/event/context.ts'

interface Asked {
  readonly answer: AgentAnswer
  readonly folder: string
  readonly models: readonly string[]
}

/** Asks the agent that `ask.md` would name, with these files, changes of the request and overrides of the settings. */
async function ask(
  name: string,
  files: { readonly [path: string]: string },
  { overrides = [], ...change }: Partial<AgentQuestion> & { readonly overrides?: readonly string[] } = {},
): Promise<Asked> {
  const provider = createFakeProvider(({ messages }) => {
    const shown = messages.flatMap((message) => (message.role === 'system' ? [] : [textOf(message)]))
    return { text: [shown.join('|')] }
  })
  const { folder, context } = agentWorld({ '.git/HEAD': 'x', 'ask.md': 'Hi\n', ...files }, { provider })
  const spec = await loadRunSpec({
    file: 'ask.md',
    cwd: folder,
    env: { BATON_HOME: join(folder, '.state') },
    home: folder,
    flags: { overrides },
  })
  const question: AgentQuestion = {
    agent: resolveAgent(name, { baseDir: folder, builtInDir, packRoots: [] }),
    spec,
    plan: { index: 1, count: 3, label: 'a.txt', input: { files: ['a.txt'] }, working: [{ path: 'a.txt', size: 1 }] },
    state: { params: { ...spec.params, tone: 'calm', sub_agents: ['x'] }, prompts: ['Hi', 'Be brief.'] },
    files: {
      context: [{ path: 'c.txt', size: 2 }],
      knowledge: [],
      structure: ['src/x.ts'],
      groups: [[{ path: 'a.txt', size: 1 }]],
    },
    ...change,
  }
  const answer = await askAgent(question, withScope(context, { at: placeAt('task/1/ask') }))
  return { answer, folder, models: provider.requests.map(({ model }) => model) }
}

describe('the input of an agent in place of the main agent', () => {
  it('is one input with everything that the main agent would have had', async () => {
    const { answer, folder } = await ask('x.lua', { 'x.lua': 'return aip.json.stringify(input)' })
    expect(JSON.parse(answer.text)).toEqual({
      _display: 'a.txt',
      prompt_file: join(folder, 'ask.md'),
      instruction: 'Hi\n\nBe brief.',
      prompts: ['Hi', 'Be brief.'],
      params: { tone: 'calm', context_globs: [], knowledge_globs: [], structure_globs: [] },
      input: { files: ['a.txt'] },
      task: { index: 1, count: 3, label: 'a.txt' },
      files: {
        context: [{ path: 'c.txt', size: 2 }],
        knowledge: [],
        structure: ['src/x.ts'],
        working: [{ path: 'a.txt', size: 1 }],
      },
    })
  })

  it('for a prompt file is the instruction and the task as text', async () => {
    const { answer } = await ask('x.md', { 'x.md': 'Answer.\n' })
    expect(answer.text).toBe(
      '# Input\n\n<instruction lines="3">\nHi\n\nBe brief.\n</instruction>\n\n<task task="a.txt" lines="2">\nFiles to work on:\n- a.txt\n</task>|Answer.',
    )
  })

  it.each([
    ['its own', '', [], 'own'],
    ['that of the front matter', 'model = "front"\n', [], 'front'],
    ['that of a flag', 'model = "front"\n', ['model=flag'], 'flag'],
  ])('is sent to the model: %s', async (_, keys, overrides, model) => {
    const prompt = `+++\n${keys}x = 1\nagent = "x"\n+++\nHi\n`
    const script = `${aip({ Options: 'model = "own"' })}\n# User\n\nhi\n`
    const config = { 'baton.toml': 'model = "configured"\n', 'ask.md': prompt }
    expect((await ask('x.aip', { ...config, 'x.aip': script }, { overrides, ...paramsOf(keys) })).models).toEqual([
      model,
    ])
    const own = '+++\nmodel = "own"\n+++\nHi\n'
    expect((await ask('x.md', { ...config, 'x.md': own }, { overrides, ...paramsOf(keys) })).models).toEqual([model])
  })

  function paramsOf(keys: string): Pick<AgentQuestion, 'state'> {
    return { state: { params: keys === '' ? {} : { model: 'front' }, prompts: ['Hi'] } }
  }
})

describe('its answer', () => {
  const answerOf = async (code: string): Promise<AgentAnswer> => (await ask('x.lua', { 'x.lua': code })).answer
  const failure = (code: string): Promise<unknown> =>
    answerOf(code).then(
      () => undefined,
      (error: unknown) => error,
    )

  it('can be text', async () => {
    const { text, response, fileChanges, spent } = await answerOf('return "Yes."')
    expect([text, fileChanges, spent.usage.calls]).toEqual(['Yes.', undefined, 0])
    expect(response).toMatchObject({ content: 'Yes.', usage: { prompt_tokens: 0 } })
  })

  it('can be a table with content, changes, and data for post_task agents', async () => {
    const { text, fileChanges, response } = await answerOf(
      'return { content = "Yes.", file_changes = "<F/>", score = 3 }',
    )
    expect([text, fileChanges]).toEqual(['Yes.', '<F/>'])
    expect(response).toMatchObject({ content: 'Yes.', score: 3 })
    expect(response).not.toHaveProperty('file_changes')
  })

  it('comes from After All rather than Output', async () => {
    const files = { 'x.aip': aip({ Output: 'return "out"', 'After All': 'return "all " .. outputs[1]' }) }
    expect((await ask('x.aip', files)).answer.text).toBe('all out')
    expect((await ask('x.aip', { 'x.aip': aip({ Output: 'return "out"' }) })).answer.text).toBe('out')
  })

  it('includes the usage of its model calls', async () => {
    const { answer } = await ask('x.md', { 'x.md': 'Answer.\n' })
    expect(answer.spent.usage.calls).toBe(1)
  })

  it.each<[string, string]>([
    ['return nil', 'agent "x.lua" returned nothing'],
    ['return 42', 'agent "x.lua" returned the number 42'],
    ['return { 1 }', 'agent "x.lua" returned a list'],
    ['return {}', 'agent "x.lua" returned a table without text in "content"'],
    ['return { content = 1 }', 'agent "x.lua" returned a table without text in "content"'],
    ['return { content = "x", file_changes = { 1 } }', 'agent "x.lua" returned file_changes that are a list, not text'],
  ])('cannot be %s', async (code, message) => {
    expect(await failure(code)).toMatchObject({
      code: 'AGENT_FAILED',
      message,
      place: { file: expect.stringMatching(/x\.lua$/) as Json },
    })
  })

  it('fails with the agent, at the place in its file', async () => {
    expect(await failure('\nerror("boom")')).toMatchObject({
      code: 'AGENT_FAILED',
      message: expect.stringMatching(/^agent "x\.lua" failed: .*boom/) as Json,
      place: { line: 2 } as unknown as JsonObject,
    })
  })

  it('is missing when the agent skips itself', async () => {
    const files = { 'x.aip': aip({ 'Before All': 'return aip.flow.skip("too early")' }) }
    await expect(ask('x.aip', files)).rejects.toThrow('agent "x.aip" gave no answer: too early')
  })

  it('fails even if its options tolerate failed inputs', async () => {
    const files = { 'x.aip': aip({ Options: 'allow_run_on_task_fail = true', Output: 'error("boom")' }) }
    await expect(ask('x.aip', files)).rejects.toThrow(/^agent "x\.aip" failed: .*boom/)
  })
})
