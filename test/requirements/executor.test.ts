import { describe, expect, it } from 'vitest'
import type { ModelAgent, ModelResult, Tool } from '../../src/event/agent.ts'
import { below } from '../../src/event/context.ts'
import { textMessage, toolCallsOf } from '../../src/event/message.ts'
import { part } from '../../src/event/place.ts'
import { createFakeProvider, type FakeProvider, type FakeScript } from '../helpers/fake-model.ts'
import { agentWorld } from '../helpers/agents.ts'

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
  it('takes a first prompt and gives a result, or the error of the agent (R21)', async () => {
    const { result, provider } = ask([{ text: ['There are 3.'] }])
    await expect(result).resolves.toMatchObject({ kind: 'model', end: 'done', text: 'There are 3.' })
    expect(provider.requests.map(({ messages }) => messages)).toEqual([[textMessage('user', 'Count the files.')]])
    await expect(ask([]).result).rejects.toMatchObject({ name: 'BatonError', code: 'MODEL_FAILED' })
  })

  it('gives the whole conversation: what was asked, every answer and every result of a tool, in order (R27)', async () => {
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

  it('counts the tools that were called (R25)', async () => {
    const script = [{ text: [], toolCalls: ['list', 'list'] }, { text: [], toolCalls: ['list'] }, { text: ['3'] }]
    await expect(ask(script, { tools: [tool('list', 'a')] }).result).resolves.toMatchObject({
      calls: [{ name: 'list', output: 'a' }, { name: 'list' }, { name: 'list' }],
      text: '3',
    })
  })

  it('offers exactly the tools it is given, and runs no other one (R28)', async () => {
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
})
