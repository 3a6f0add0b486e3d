import { textMessage } from '../../src/event/message.ts'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import type { ModelFailure } from '../../src/model/errors.ts'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { agentWorld } from '../helpers/agents.ts'
import { placeAt } from '../helpers/effects.ts'
import { withScope } from '../../src/event/context.ts'

const usage = { calls: 1, input: 11, output: 3, cached: 0, reasoning: 0 }

describe('a model agent', () => {
  it('returns its answer, its tokens and the whole conversation (R23, R24, R27)', async () => {
    const provider = createFakeProvider([{ text: ['an ', 'answer'], usage }])
    const { context } = agentWorld({}, { provider })
    const messages = [textMessage('user', 'Hi')]
    const result = await context.services.agents.run(
      { kind: 'model', agent: { kind: 'llm', name: 'main', settings: {} }, messages },
      context,
    )
    expect(result).toMatchObject({ end: 'done', text: 'an answer', spent: { usage }, calls: [] })
    expect(result.messages).toEqual([...messages, textMessage('assistant', 'an answer')])
  })

  it('streams its answer as events, and counts tokens of the call and of the run', async () => {
    const provider = createFakeProvider([
      { text: ['an ', 'answer'], usage },
      { text: ['x'], usage },
    ])
    const { context } = agentWorld({}, { provider })
    const request = { kind: 'model', agent: { kind: 'llm', name: 'main', settings: {} }, messages: [] } as const
    await context.services.agents.run(request, context)
    await context.services.agents.run(request, context)
    const deltas = context.sent.flatMap((event) => (event.type === 'item.delta' ? [event.text] : []))
    expect(deltas.join('')).toBe('an answerx')
    expect(context.sent.filter(({ type }) => type === 'usage')).toMatchObject([
      { call: usage, total: usage },
      { call: usage, total: { calls: 2, input: 22, output: 6 } },
    ])
  })

  it('reports an answer that was truncated at its limit', async () => {
    const { context } = agentWorld({}, { provider: createFakeProvider([{ text: ['cut'], finish: 'length' }]) })
    const result = await context.services.agents.run(
      { kind: 'model', agent: { kind: 'llm', name: 'main', settings: {} }, messages: [] },
      context,
    )
    expect(result.end).toBe('max_tokens')
  })

  it.each([
    [{ text: ['half'], finish: 'length' }, 'the answer was truncated at its output limit'],
    [
      { text: ['half'], finish: 'content_filter' },
      'fake::fake was stopped by its content filter: the answer is incomplete',
    ],
    [{ text: ['no'], finish: 'refusal' }, 'fake::fake refused to answer: its text is the refusal'],
    [{ text: ['half'], finish: 'incomplete' }, 'fake::fake stopped early: the answer is incomplete'],
    [
      { text: ['I look.'], finish: 'tool_calls' },
      'fake::fake called a tool, but none is offered: the answer may be incomplete',
    ],
  ] as const)('warns about %j', async (turn, message) => {
    const { context } = agentWorld({}, { provider: createFakeProvider([turn]) })
    await context.services.agents.run(
      { kind: 'model', agent: { kind: 'llm', name: 'main', settings: {} }, messages: [] },
      context,
    )
    expect(context.sent.filter(({ type }) => type === 'warning')).toMatchObject([{ message }])
  })

  it.each([
    [{ text: [' \n'], usage }, 2, 'fake::fake returned an empty answer'],
    [
      { text: [], toolCalls: ['read'], finish: 'tool_calls', usage },
      2,
      'fake::fake returned an empty answer: it called a tool, but none is offered',
    ],
    [{ text: [], finish: 'incomplete', usage }, 1, 'fake::fake stopped before it answered'],
    [{ text: [], finish: 'length', usage }, 1, 'fake::fake used up its output limit before it answered'],
    [
      { text: [], finish: 'content_filter', usage },
      1,
      'fake::fake was stopped by its content filter before it answered',
    ],
  ] as const)('fails, and counts each call, when the answer is empty: %j', async (turn, calls, message) => {
    const { context } = agentWorld({}, { provider: createFakeProvider(() => turn) })
    const asked = context.services.agents.run(
      { kind: 'model', agent: { kind: 'llm', name: 'main', settings: {} }, messages: [] },
      context,
    )
    await expect(asked).rejects.toMatchObject({ code: 'MODEL_FAILED', message })
    expect(context.sent.filter(({ type }) => type === 'usage')).toMatchObject(Array(calls).fill({ call: usage }))
  })

  it.each([[[]], [['read']]])(
    'uses the fallback model when the first answer is empty, and calls %j',
    async (toolCalls) => {
      const provider = createFakeProvider(({ model }) =>
        model === 'a' ? { text: [], toolCalls, usage } : { text: ['words'], usage },
      )
      const { context } = agentWorld({}, { provider })
      const agent = {
        kind: 'llm',
        name: 'main',
        settings: { model: 'a' },
        fallbackModels: ['b'],
        acceptsEmpty: true,
      } as const
      expect(await context.services.agents.run({ kind: 'model', agent, messages: [] }, context)).toMatchObject({
        text: 'words',
      })
      expect(context.sent.filter(({ type }) => type === 'usage').at(-1)).toMatchObject({
        total: { calls: 2, input: 22 },
      })
    },
  )

  it('counts every request that was sent, and estimates broken ones', async () => {
    const broken = (of: Partial<ModelFailure>): Error => {
      const cause = { kind: 'model-failure', class: 'network', retryable: true, isOverload: false, ...of }
      return new BatonError('MODEL_FAILED', 'broken', { cause })
    }
    const provider = createFakeProvider([
      { text: ['x'.repeat(36)], failure: broken({}) },
      { text: [], failure: broken({ class: 'unavailable', status: 500 }) },
      { text: ['fine'], usage },
    ])
    const { context } = agentWorld({}, { provider })
    const messages = [textMessage('user', 'y'.repeat(72))]
    await context.services.agents.run(
      { kind: 'model', agent: { kind: 'llm', name: 'main', settings: {} }, messages },
      context,
    )
    const none = { cached: 0, reasoning: 0 }
    expect(context.sent.filter(({ type }) => type === 'usage')).toMatchObject([
      { call: { calls: 1, input: 20, output: 10, ...none } },
      { call: { calls: 1, input: 0, output: 0, ...none } },
      { call: usage, total: { calls: 3, input: 31, output: 13 } },
    ])
  })

  it('records the call before and after it', async () => {
    const { context } = agentWorld({}, { provider: createFakeProvider([{ text: ['x'], usage }]) })
    await context.services.agents.run(
      { kind: 'model', agent: { kind: 'llm', name: 'main', settings: { temperature: 0.5 } }, messages: [] },
      withScope(context, { at: placeAt('task/0/ask') }),
    )
    expect(context.records).toMatchObject([
      { k: 'started', p: 'task/0/agent/ask/turn/0#0', kind: 'model', repeat: 'safe', request: { temperature: 0.5 } },
      {
        k: 'ended',
        p: 'task/0/agent/ask/turn/0#0',
        status: 'ok',
        value: { parts: [{ type: 'text', text: 'x' }], usage },
      },
    ])
  })
})
