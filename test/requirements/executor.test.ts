import { describe, expect, it } from 'vitest'
import type { ModelAgent, ModelResult, Tool } from '../../src/event/agent.ts'
import { BatonError } from '../../src/base/error.ts'
import { below, withScope } from '../../src/event/context.ts'
import { textMessage, toolCallsOf } from '../../src/event/message.ts'
import { part } from '../../src/event/place.ts'
import { createFakeProvider, type FakeProvider, type FakeScript, type FakeTurn } from '../helpers/fake-model.ts'
import { agentWorld } from '../helpers/agents.ts'
import { sessionWorld } from '../helpers/session-world.ts'

interface Asked {
  readonly result: Promise<ModelResult>
  readonly provider: FakeProvider
}

/** Runs a model agent with a first prompt. */
function ask(script: FakeScript, agent: Partial<ModelAgent> = {}): Asked {
  const provider = createFakeProvider(script)
  const { context } = agentWorld({}, { provider })
  const asked = {
    kind: 'model',
    agent: { kind: 'llm', name: 'main', settings: {}, ...agent },
    messages: [textMessage('user', 'Count the files.')],
  } as const
  return { result: context.services.agents.run(asked, below(context, part('ask'))), provider }
}

function tool(name: string, text: string): Tool {
  const parameters = { type: 'object' }
  return { name, description: `Gives ${name}.`, parameters, run: async () => ({ text }) }
}

describe('running an agent', () => {
  it('takes a first prompt and returns a result, or the error of the agent (R21)', async () => {
    const { result, provider } = ask([{ text: ['There are 3.'] }])
    await expect(result).resolves.toMatchObject({ kind: 'model', end: 'done', text: 'There are 3.' })
    expect(provider.requests.map(({ messages }) => messages)).toEqual([[textMessage('user', 'Count the files.')]])
    await expect(ask([]).result).rejects.toMatchObject({ name: 'BatonError', code: 'MODEL_FAILED' })
  })

  it('returns the whole conversation: the prompt, every answer and every tool result, in order (R27)', async () => {
    const script = [{ text: ['I look.'], toolCalls: ['list', 'count'] }, { text: ['There are 3.'] }]
    const { result, provider } = ask(script, { tools: [tool('list', 'a b c'), tool('count', '3')] })
    const { messages } = await result
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant'])
    expect(messages[0]).toEqual(textMessage('user', 'Count the files.'))
    expect(messages[1]?.parts.map(({ type }) => type)).toEqual(['text', 'tool_call', 'tool_call'])
    const calls = toolCallsOf({ parts: messages[1]?.parts ?? [] })
    expect(messages.slice(2, 4).flatMap(({ parts }) => parts)).toEqual([
      { type: 'tool_result', id: calls[0]?.id, parts: [{ type: 'text', text: 'a b c' }] },
      { type: 'tool_result', id: calls[1]?.id, parts: [{ type: 'text', text: '3' }] },
    ])
    expect(messages[4]).toEqual(textMessage('assistant', 'There are 3.'))
    // the second request is the conversation without its last answer
    expect(provider.requests[1]?.messages).toEqual(messages.slice(0, -1))
  })

  it('counts the tool calls (R25)', async () => {
    const script = [{ text: [], toolCalls: ['list', 'list'] }, { text: [], toolCalls: ['list'] }, { text: ['3'] }]
    await expect(ask(script, { tools: [tool('list', 'a')] }).result).resolves.toMatchObject({
      calls: [{ name: 'list', output: 'a' }, { name: 'list' }, { name: 'list' }],
      text: '3',
    })
  })

  it('offers exactly the tools it is given, and runs no others (R28)', async () => {
    const script = [{ text: [], toolCalls: ['delete'] }, { text: ['No.'] }]
    const { result, provider } = ask(script, { tools: [tool('list', 'a'), tool('read', 'b')] })
    const { messages } = await result
    expect(provider.requests.map(({ tools = [] }) => tools.map(({ name }) => name))).toEqual([
      ['list', 'read'],
      ['list', 'read'],
    ])
    expect(messages[2]?.parts).toMatchObject([{ type: 'tool_result', is_error: true }])
    expect(JSON.stringify(messages[2])).toContain('Tool \\"delete\\" not found')
  })
  it('has its own model, tools, config and event sender, even when two agents run at once (R13, R29)', async () => {
    const provider = createFakeProvider(({ model }) => ({ text: [`said by ${model}`] }))
    const world = await sessionWorld({ provider })
    const { agents } = world.context.services
    const open = (name: string, config: Partial<ModelAgent>) =>
      agents.open(
        { kind: 'llm', name, settings: { model: name, temperature: name.length / 10 }, ...config },
        withScope(world.context, { at: [...world.context.scope.at, { kind: 'agent', name }] }),
      )
    const one = await open('a', { tools: [tool('list', 'a')] })
    const two = await open('bcd', {})
    const ask = async (session: typeof one) => session.answer(await session.send([textMessage('user', 'Hi.')]))
    const results = await Promise.all([ask(one), ask(two)])
    expect(results.map(({ text }) => text)).toEqual(['said by a', 'said by bcd'])
    const asked = provider.requests.map(({ model, temperature, tools = [] }) => [model, temperature, tools.length])
    expect(asked.toSorted()).toEqual([
      ['a', 0.1, 1],
      ['bcd', 0.3, 0],
    ])
    for (const name of ['a', 'bcd']) {
      const own = world.sent.filter(({ agent }) => agent === `task/0/ask/agent/${name}`)
      expect(own.flatMap((event) => (event.type === 'item.completed' ? [event.item.text] : []))).toEqual([
        `said by ${name}`,
      ])
      expect(own.map(({ type }) => type)).toEqual(expect.arrayContaining(['agent.started', 'prompt.completed']))
    }
  })

  it.each<[string, FakeTurn, Partial<ModelAgent>]>([
    ['done', { text: ['All.'] }, {}],
    ['max_tokens', { text: ['Cut'], finish: 'length' }, {}],
    ['incomplete', { text: ['Half'], finish: 'content_filter' }, {}],
    ['max_turns', { text: [], toolCalls: ['list'] }, { maxTurns: 1 }],
    ['max_rounds', { text: [], toolCalls: ['list'] }, { maxRounds: 2 }],
    ['repeated_calls', { text: [], toolCalls: ['list'] }, { maxRounds: 99 }],
  ])('says why it stopped: %s (R26)', async (end, turn, agent) => {
    await expect(ask(() => turn, { tools: [tool('list', 'a')], ...agent }).result).resolves.toMatchObject({ end })
  })

  it('reports an error, a time limit, a missing approval or a cancellation as the reason why it stopped (R26)', async () => {
    const slow: FakeTurn = { text: [], gate: new Promise<void>(() => {}) }
    const failure = new BatonError('MODEL_FAILED', 'the server is away')
    const turns = { failed: { text: [], failure }, 'too slow': slow, cancelled: slow }
    for (const [how, turn] of Object.entries(turns)) {
      const stop = new AbortController()
      const world = await sessionWorld({ provider: createFakeProvider([turn]), signal: stop.signal })
      const session = await world.open({ kind: 'llm', name: 'helper', settings: {} })
      const answer = session.answer(await session.send([textMessage('user', 'Hi.')]))
      if (how === 'cancelled') session.interrupt()
      if (how === 'too slow') stop.abort(new BatonError('LIMIT', 'it took longer than its timeout'))
      const code = { failed: 'MODEL_FAILED', 'too slow': 'LIMIT', cancelled: undefined }[how]
      await expect(answer, how).rejects.toMatchObject(code === undefined ? { name: 'AbortError' } : { code })
      expect(
        world.sent.find(({ type }) => type === 'prompt.error'),
        how,
      ).toMatchObject({
        state: how === 'failed' ? 'failed' : 'cancelled',
      })
    }
    const provider = createFakeProvider([{ text: [], toolCalls: ['list'] }])
    const world = await sessionWorld({ provider })
    const waiting: Tool = {
      ...tool('list', 'a'),
      run: () => Promise.reject(new BatonError('WAITING_FOR_APPROVAL', 'waiting for an approval')),
    }
    const session = await world.open({ kind: 'llm', name: 'helper', settings: {}, tools: [waiting] })
    const answer = session.answer(await session.send([textMessage('user', 'Hi.')]))
    await expect(answer).rejects.toMatchObject({ code: 'WAITING_FOR_APPROVAL' })
    expect(session.prompts().at(-1)?.state).toBe('waiting_for_approval')
    expect(world.sent.map(({ type }) => type)).toContain('agent.suspended')
  })
})
