import { messageOf, resultOf } from '../helpers/messages.ts'
import { assembleAnswer } from '../../src/model/assemble.ts'
import { textMessage, toolCallsOf } from '../../src/event/message.ts'
import { describe, expect, it } from 'vitest'
import { useAimock } from '../helpers/aimock.ts'
import { modelFailureOf } from '../../src/model/errors.ts'
import type { ModelEvent, ModelRequest } from '../../src/model/provider.ts'
import { collectModelEvents, textOf } from '../contract/model-provider.ts'
import { chatProvider } from '../helpers/chat-provider.ts'

const mock = useAimock()

const tools = [
  {
    name: 'read',
    description: 'Reads a file',
    parameters: { type: 'object', properties: { path: { type: 'string' } } },
  },
]

function ask(request: Partial<ModelRequest> = {}, root = '/v1'): AsyncIterable<ModelEvent> {
  const whole: ModelRequest = { model: 'gpt-5', messages: [textMessage('user', 'Hello')], ...request }
  return chatProvider(`${mock.url}${root}`, { apiKey: 'mock-key' }).stream(whole, new AbortController().signal)
}

async function failureOf(events: AsyncIterable<ModelEvent>): Promise<unknown> {
  const error: unknown = await collectModelEvents(events).catch((thrown: unknown) => thrown)
  return modelFailureOf(error)
}

describe('a chat completion of aimock', () => {
  it('streams reasoning and text, and ends with its usage and finish', async () => {
    mock.onMessage('Hello', { content: 'Good morning to you', reasoning: 'A greeting.' }, { chunkSize: 4 })
    const events = await collectModelEvents(ask({ max_tokens: 50, temperature: 0.5 }))
    expect(events[0]).toMatchObject({ type: 'start', id: expect.stringMatching(/./) as string })
    expect(textOf(events)).toBe('Good morning to you')
    expect(events.map((event) => (event.type === 'reasoning' ? event.text : '')).join('')).toBe('A greeting.')
    expect(events.slice(-2)).toMatchObject([
      { type: 'usage', usage: { calls: 1 } },
      { type: 'finish', reason: 'stop' },
    ])
    expect(mock.getLastRequest()?.body).toMatchObject({
      model: 'gpt-5',
      stream: true,
      max_tokens: 50,
      temperature: 0.5,
    })
  })

  it('calls several tools at once, and matches their results by id', async () => {
    const wanted = [
      { name: 'read', arguments: '{"path":"a"}' },
      { name: 'read', arguments: '{"path":"b"}' },
    ]
    mock.on({ userMessage: 'Hello', hasToolResult: false }, { toolCalls: wanted }, { chunkSize: 3 })
    mock.on({ userMessage: 'Hello', hasToolResult: true }, { content: 'Both read' })
    const asked = await collectModelEvents(ask({ tools }))
    const answer = assembleAnswer()
    for (const event of asked) answer.add(event)
    const calls = toolCallsOf(answer.answer())
    expect(calls.map(({ name, input }) => ({ name, arguments: input }))).toEqual(wanted)
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
    expect(asked.at(-1)).toEqual({ type: 'finish', reason: 'tool_calls' })

    const answered = await collectModelEvents(
      ask({
        tools,
        messages: [
          textMessage('user', 'Hello'),
          messageOf('assistant', '', ...calls),
          ...calls.map(({ id }) => resultOf(id, `text ${id}`)),
        ],
      }),
    )
    expect(textOf(answered)).toBe('Both read')
  })

  it('reports its price if the host does, like OpenRouter', async () => {
    const usage = { prompt_tokens: 9, completion_tokens: 3, cost: 0.5, prompt_tokens_details: { cached_tokens: 4 } }
    mock.onMessage('Hello', { content: 'Hi', usage })
    const events = await collectModelEvents(ask({}, '/api/v1'))
    expect(events.at(-2)).toMatchObject({ type: 'usage', usage: { input: 9, output: 3, cached: 4 }, costUsd: 0.5 })
  })

  it('returns JSON for an output schema', async () => {
    mock.on({ userMessage: 'Hello', responseFormat: 'json_schema' }, { content: '{"ok":true}' })
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } } }
    const events = await collectModelEvents(ask({ output: { name: 'answer', schema } }))
    expect(JSON.parse(textOf(events))).toEqual({ ok: true })
  })
})

describe('a failure of aimock', () => {
  it('429 with Retry-After is retried after a wait', async () => {
    mock.onMessage('Hello', { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 7 })
    expect(await failureOf(ask())).toEqual({
      kind: 'model-failure',
      class: 'rate_limit',
      retryable: true,
      isOverload: true,
      status: 429,
      retryAfterMs: 7_000,
    })
  })

  it.each([
    [500, 'unavailable', false],
    [503, 'unavailable', true],
    [529, 'unavailable', true],
  ])('%i is retried', async (status, kind, isOverload) => {
    mock.onMessage('Hello', { error: { message: 'later', type: 'server_error' }, status })
    expect(await failureOf(ask())).toMatchObject({ class: kind, retryable: true, isOverload, status })
  })

  it.each([{ truncateAfterChunks: 3 }, { disconnectAfterMs: 20, latency: 8 }])(
    'a stream that is cut off (%j) is never an answer',
    async (cut) => {
      mock.onMessage('Hello', { content: 'word '.repeat(200) }, { chunkSize: 5, ...cut })
      expect(await failureOf(ask())).toMatchObject({ class: 'network', retryable: true })
    },
  )

  it('a malformed body is garbled', async () => {
    mock.onMessage('Hello', { content: 'Hi' })
    mock.setChaos({ malformedRate: 1 })
    expect(await failureOf(ask())).toMatchObject({ class: 'garbled', retryable: false })
  })

  it('a dropped connection is retried', async () => {
    mock.onMessage('Hello', { content: 'Hi' })
    mock.setChaos({ disconnectRate: 1 })
    expect(await failureOf(ask())).toMatchObject({ class: 'network', retryable: true })
  })
})
