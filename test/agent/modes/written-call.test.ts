import { describe, expect, it } from 'vitest'
import { classic } from '../../../src/agent/modes/classic.ts'
import { writtenCall } from '../../../src/agent/modes/written-call.ts'
import type { ModelAgent, ModelResult, Tool } from '../../../src/event/agent.ts'
import { withServices } from '../../../src/event/context.ts'
import { textMessage, textOf } from '../../../src/event/message.ts'
import { createFakeProvider, type FakeTurn } from '../../helpers/fake-model.ts'
import { sessionWorld, type SessionWorld } from '../../helpers/session-world.ts'

const json = '{"name": "look", "arguments": {"path": "b.txt", "content": "x"}}'
const fence = '```'

describe('a call that is written in the text of an answer', () => {
  it.each([
    ['a tag', `<tool_call>\n${json}\n</tool_call>`],
    ['a tag that is not closed', `<tool_call>${json}`],
    ['two tags', `<tool_call>${json}</tool_call>\n<tool_call>${json}</tool_call>`],
    ['a tag behind text', `I will look now.\n\n<tool_call>\n${json}\n</tool_call>`],
    ['a tag in a line of text', `Looking: <tool_call>${json}</tool_call>`],
    ['another tag', `<function_call>${json}</function_call>`],
    ['a tag with bars', `<|python_tag|>${json}`],
    ['JSON', json],
    ['JSON on several lines', JSON.stringify(JSON.parse(json), null, 2)],
    ['JSON behind text', `Sure:\n\n${json}\n`],
    ['JSON behind a fence', `${fence}\nls\n${fence}\n${json}`],
    ['JSON with parameters', '{"name": "look", "parameters": {}}'],
    ['JSON with a type', '{"type": "function", "name": "look", "parameters": {"path": "a"}}'],
    ['JSON of an API', '{"type": "function", "id": "1", "function": {"name": "look", "arguments": "{}"}}'],
    ['JSON of a list of calls', `[${json}, ${json}]`],
    ['JSON of a list of an API', '{"tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}]}'],
    ['JSON on each line', `${json}\n${json}`],
    ['JSON with an owner', '{"name": "functions.look", "arguments": {}}'],
    ['a function tag', '<function=look>\n<parameter=path>\nb.txt\n</parameter>\n</function>'],
    ['a function tag in a tag', '<tool_call>\n<function=look>\n</function>\n</tool_call>'],
    [
      'an invoke tag',
      '<function_calls>\n<invoke name="look">\n<parameter name="a">1</parameter>\n</invoke>\n</function_calls>',
    ],
    ['a name in a tag', '<tool_call>look\n<arg_key>path</arg_key>\n<arg_value>b</arg_value>\n</tool_call>'],
    ['a mark with a list', `[TOOL_CALLS] [${json}]`],
    ['a mark with a name', '[TOOL_CALLS]look{"path": "b.txt"}'],
    ['a mark with a name and arguments', '[TOOL_CALLS]look[ARGS]{"path": "b.txt"}'],
  ])('is found: %s', (_, text) => {
    expect(writtenCall(text, ['read', 'look'])).toBe('look')
  })

  it.each([
    ['plain text', 'I have looked.'],
    ['another tool', '{"name": "write", "arguments": {}}'],
    ['another tool in a tag', '<tool_call>{"name": "write", "arguments": {"name": "look"}}</tool_call>'],
    ['in a fence', `${fence}json\n${json}\n${fence}`],
    ['a tag in a fence', `So:\n${fence}\n<tool_call>${json}</tool_call>\n${fence}`],
    ['in a quotation', `> ${json}`],
    ['in inline code', `Write \`<tool_call>${json}</tool_call>\``],
    ['in quotation marks', `It said "<tool_call>${json}</tool_call>`],
    ['text behind the tag', `<tool_call>${json}</tool_call>\nThat is how it looks.`],
    ['text behind JSON', `${json} is a call.`],
    ['JSON within a line', `The call is ${json}`],
    ['JSON without arguments', '{"name": "look"}'],
    ['JSON with more', '{"name": "look", "input": 1, "price": 2}'],
    ['data', '[{"name": "look", "parameters": {}}, {"title": "other"}]'],
  ])('is not found: %s', (_, text) => {
    expect(writtenCall(text, ['read', 'look'])).toBeUndefined()
  })

  it('is not found in JSON if the answer must be JSON', () => {
    expect(writtenCall(json, ['look'], { json: false })).toBeUndefined()
    expect(writtenCall(`<tool_call>${json}</tool_call>`, ['look'], { json: false })).toBe('look')
  })
})

const look: Tool = {
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object' },
  run: async () => ({ text: 'a b c' }),
}

interface Asked {
  readonly result: Promise<ModelResult>
  readonly world: SessionWorld
  readonly provider: ReturnType<typeof createFakeProvider>
}

async function ask(turns: readonly FakeTurn[], agent: Partial<ModelAgent> = {}): Promise<Asked> {
  const provider = createFakeProvider(turns)
  const world = await sessionWorld({ provider })
  const session = await world.open({
    kind: 'llm',
    name: 'helper',
    settings: { model: 'small' },
    tools: [look],
    ...agent,
  })
  const result = session.send([textMessage('user', 'Look.')]).then((id) => session.answer(id))
  result.catch(() => undefined)
  return { result, world, provider }
}

const written: FakeTurn = { text: [json] }
const called: FakeTurn = { text: [], toolCalls: ['look'], finish: 'tool_calls' }
const done: FakeTurn = { text: ['done'] }

it('a written call is queried once, and again only after another call', async () => {
  const { take } = await classic.open({
    signal: new AbortController().signal,
    tools: [look],
    offered: ['look'],
    rounds: 1,
    options: {},
    say: () => {},
  })
  const answer = { text: json, calls: [], end: 'done', itemId: 'i', isLast: false } as const
  const call = { type: 'tool_call', id: 'c', name: 'look', input: '{}' } as const
  const steps = [answer, { ...answer, text: 'No.' }, answer, { ...answer, calls: [call] }, answer]
  expect(steps.map((one) => take(one).kind)).toEqual(['again', 'end', 'fail', 'calls', 'again'])
})

describe('a model whose answer is a fenced call', () => {
  const fenced: FakeTurn = { text: [`${fence}json\n${json}\n${fence}\n`] }

  it('is told to call the tool, and its answer is used', async () => {
    const { result, provider } = await ask([fenced, called, done])
    expect(await result).toMatchObject({ end: 'done', text: 'done', calls: [{ name: 'look' }] })
    expect(textOf(provider.requests[1]?.messages.at(-1) ?? textMessage('user', ''))).toContain(
      'a call of the tool "look"',
    )
  })

  it('may mean to show one', async () => {
    const { result } = await ask([fenced, fenced])
    expect(await result).toMatchObject({ end: 'done', text: expect.stringContaining('"look"') as unknown, calls: [] })
  })

  it.each([
    ['text around it', `So:\n${fence}json\n${json}\n${fence}`],
    ['another tool', `${fence}json\n{"name": "write", "arguments": {}}\n${fence}`],
    ['data', `${fence}json\n{"name": "look", "price": 1}\n${fence}`],
    ['another language', `${fence}python\n${json}\n${fence}`],
    ['a refusal', 'I cannot call look here.'],
    ['another language of people', '\u6211\u4e0d\u80fd\u4f7f\u7528 look\u3002'],
  ])('is not asked because of %s', async (_, text) => {
    const { result, provider } = await ask([{ text: [text] }])
    expect(await result).toMatchObject({ text })
    expect(provider.requests).toHaveLength(1)
  })
})

describe('a model that writes a call as text', () => {
  it('is told to call the tool, and its answer is used', async () => {
    const { result, provider } = await ask([written, called, done])
    expect(await result).toMatchObject({ end: 'done', text: 'done', calls: [{ name: 'look', output: 'a b c' }] })
    const [, second] = provider.requests
    expect(second?.messages.slice(-2).map(({ role }) => role)).toEqual(['assistant', 'user'])
    expect(textOf(second?.messages.at(-1) ?? textMessage('user', ''))).toContain('a call of the tool "look" as text')
  })

  it('may answer with text instead', async () => {
    const { result } = await ask([written, done])
    expect(await result).toMatchObject({ end: 'done', text: 'done', calls: [] })
  })

  it('fails if it does so again, and its text is an output of the prompt', async () => {
    const { result, provider } = await ask([written, written, done])
    await expect(result).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('wrote a call of the tool "look" as text again') as unknown,
    })
    expect(provider.requests).toHaveLength(2)
  })

  it('is told again after it has made a call', async () => {
    const { result } = await ask([written, called, written, done])
    expect(await result).toMatchObject({ text: 'done' })
  })

  it('reaches a limit of rounds or turns like a model that calls a tool', async () => {
    expect(await (await ask([written, done], { maxRounds: 1 })).result).toMatchObject({ end: 'max_rounds' })
    expect(await (await ask([written, done], { maxTurns: 1 })).result).toMatchObject({ end: 'max_turns' })
  })

  it('has answered in a replay of a run without the further request', async () => {
    const provider = createFakeProvider([written])
    const { context } = await sessionWorld({ provider })
    const effects = { ...context.services.effects, lacks: () => true }
    const helper = { kind: 'llm', name: 'helper', settings: { model: 'small' }, tools: [look] } as const
    const session = await context.services.agents.open(helper, withServices(context, { effects }))
    const result = await session.answer(await session.send([textMessage('user', 'Look.')]))
    expect(result).toMatchObject({ end: 'done', text: json })
    expect(provider.requests).toHaveLength(1)
  })

  it('has answered if no tools are offered and it may be data', async () => {
    const { result } = await ask([written], { tools: [] })
    expect(await result).toMatchObject({ end: 'done', text: json })
  })

  it.each([
    ['no tools are offered', []],
    ['it does not have that tool', [look]],
  ])('is asked for an answer if %s, and fails if it does so again', async (_, tools) => {
    const stray: FakeTurn = { text: ['<tool_call>{"name": "read_file", "arguments": {}}</tool_call>'] }
    const { result, provider } = await ask([stray, done], { tools })
    expect(await result).toMatchObject({ end: 'done', text: 'done' })
    expect(textOf(provider.requests[1]?.messages.at(-1) ?? textMessage('user', ''))).toContain('"read_file"')
    const again = await ask([stray, stray, done], { tools })
    await expect(again.result).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('"read_file" as text again') as unknown,
    })
  })
})

describe('a model with an empty answer', () => {
  const empty: FakeTurn = { text: ['  '] }
  const warningsOf = (world: SessionWorld) => world.sent.filter(({ type }) => type === 'warning')

  it('is asked once more, without the empty message, and one warning says so', async () => {
    const { result, provider, world } = await ask([empty, done])
    expect(await result).toMatchObject({ end: 'done', text: 'done' })
    const [first, second] = provider.requests
    expect(second?.messages.slice(0, -1)).toEqual(first?.messages)
    expect(textOf(second?.messages.at(-1) ?? textMessage('user', ''))).toBe('Your last answer was empty. Answer now.')
    expect(warningsOf(world)).toEqual([
      expect.objectContaining({ message: expect.stringContaining('once more') as unknown }),
    ])
  })

  it('fails if it is empty again', async () => {
    const { result, provider } = await ask([empty, empty, done])
    await expect(result).rejects.toMatchObject({ code: 'MODEL_FAILED', reason: 'EMPTY_ANSWER' })
    expect(provider.requests).toHaveLength(2)
  })

  it('is told that it has no tools, if it called one', async () => {
    const { result, provider } = await ask([called, done], { tools: [] })
    expect(await result).toMatchObject({ text: 'done' })
    expect(textOf(provider.requests[1]?.messages.at(-1) ?? textMessage('user', ''))).toContain('there are none')
  })

  it('is not asked again after a refusal, at its output limit, at the last turn, or if the caller takes it', async () => {
    for (const finish of ['refusal', 'length', 'content_filter'] as const) {
      const { result, provider } = await ask([{ text: [], finish }, done])
      await expect(result).rejects.toMatchObject({ reason: 'EMPTY_ANSWER' })
      expect(provider.requests).toHaveLength(1)
    }
    await expect((await ask([empty, done], { maxTurns: 1 })).result).rejects.toMatchObject({ reason: 'EMPTY_ANSWER' })
    expect(await (await ask([empty, done], { acceptsEmpty: true })).result).toMatchObject({ end: 'done' })
  })

  it('has failed in a replay of a run that did not ask again', async () => {
    const provider = createFakeProvider([empty])
    const { context } = await sessionWorld({ provider })
    const effects = { ...context.services.effects, lacks: () => true }
    const helper = { kind: 'llm', name: 'helper', settings: { model: 'small' }, tools: [look] } as const
    const session = await context.services.agents.open(helper, withServices(context, { effects }))
    const id = await session.send([textMessage('user', 'Look.')])
    await expect(session.answer(id)).rejects.toMatchObject({ reason: 'EMPTY_ANSWER' })
    expect(provider.requests).toHaveLength(1)
  })
})
