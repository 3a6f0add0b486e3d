import { messageOf, resultOf } from '../helpers/messages.ts'
import { assembleAnswer } from '../../src/model/assemble.ts'
import { describe, expect, it } from 'vitest'
import { type AimockHost, aimockHosts, useAimock } from '../helpers/aimock.ts'
import { textMessage, type ToolCallPart, toolCallsOf } from '../../src/event/message.ts'
import { createProvider } from '../../src/model/create.ts'
import { modelFailureOf } from '../../src/model/errors.ts'
import type { ModelEvent, ModelRequest } from '../../src/model/provider.ts'
import { commonQuirks } from '../../src/model/wire/format.ts'
import { textOf } from '../helpers/wire.ts'

const mock = useAimock()
const hosts = aimockHosts.filter(({ format }) => format !== 'chat')

async function ask({ format, root, model }: AimockHost, request: Partial<ModelRequest>): Promise<ModelEvent[]> {
  const provider = await createProvider(
    {
      model,
      label: `mock::${model}`,
      provider: {
        kind: 'host',
        name: 'mock',
        format,
        quirks: commonQuirks,
        isFree: false,
        baseUrl: mock.url + root,
        apiKeyEnv: 'MOCK_KEY',
        keyRequired: true,
        headers: {},
      },
    },
    { env: { MOCK_KEY: 'mock-key' } },
  )
  const messages = [textMessage('user', 'Hello')]
  const events: ModelEvent[] = []
  const stream = provider.stream({ model, messages, ...request }, new AbortController().signal)
  for await (const event of stream) events.push(event)
  return events
}

/** The tool calls of an answer, assembled from their pieces. */
function callsOf(events: readonly ModelEvent[]): readonly ToolCallPart[] {
  const answer = assembleAnswer()
  for (const event of events) answer.add(event)
  return toolCallsOf(answer.answer())
}

const parameters = { type: 'object', properties: { path: { type: 'string' } } }
const tools = [{ name: 'read', description: 'Reads a file.', parameters }]

describe.each(hosts)('the format $format against another implementation of its server', (host) => {
  it('streams an answer with its reasoning, usage and finish', async () => {
    const usage = { input_tokens: 11, output_tokens: 7 }
    mock.onMessage('Hello', { content: 'Grüße aus der Ferne 🙂', reasoning: 'They greet me.', usage }, { chunkSize: 3 })
    const events = await ask(host, { reasoning_effort: 'low', messages: [textMessage('user', 'Hello')] })
    expect(textOf(events)).toBe('Grüße aus der Ferne 🙂')
    expect(textOf(events, 'reasoning')).toBe('They greet me.')
    expect(events.at(-2)).toMatchObject({ type: 'usage', usage: { calls: 1, input: 11, output: 7 } })
    expect(events.at(-1)).toEqual({ type: 'finish', reason: 'stop' })
  })

  it('sends the whole conversation', async () => {
    mock.onMessage('Again', { content: 'Yes' })
    const said = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi' },
      { role: 'user', content: 'Again' },
    ] as const
    const messages = said.map(({ role, content }) => textMessage(role, content))
    expect(textOf(await ask(host, { messages, max_tokens: 2000 }))).toBe('Yes')
    const { body } = mock.getRequests()[0] ?? {}
    expect(body).toMatchObject({ model: host.model, stream: true, max_tokens: 2000, messages: said })
  })

  it('calls tools in parallel and sends back their results', async () => {
    const toolCalls = [
      { id: 'call_a', name: 'read', arguments: '{"path":"a.txt"}' },
      { id: 'call_b', name: 'read', arguments: '{"path":"b.txt"}' },
    ]
    mock.on({ userMessage: 'Read', hasToolResult: false }, { toolCalls }, { chunkSize: 4 })
    mock.on({ userMessage: 'Read', hasToolResult: true }, { content: 'Both read.' })
    const asked = textMessage('user', 'Read')
    const first = await ask(host, { messages: [asked], tools })
    expect(callsOf(first).map(({ id, name, input }) => ({ id, name, arguments: input }))).toEqual(toolCalls)
    expect(first.at(-1)).toEqual({ type: 'finish', reason: 'tool_calls' })

    const second = await ask(host, {
      tools,
      messages: [
        asked,
        messageOf('assistant', '', ...callsOf(first)),
        resultOf('call_a', 'A'),
        resultOf('call_b', 'B'),
      ],
    })
    expect(textOf(second)).toBe('Both read.')
    const { messages = [] } = (mock.getRequests()[1]?.body ?? {}) as { messages?: readonly { role: string }[] }
    expect(messages.filter(({ role }) => role === 'tool')).toMatchObject([
      { tool_call_id: 'call_a', content: expect.stringContaining('A') as string },
      { tool_call_id: 'call_b', content: expect.stringContaining('B') as string },
    ])
  })

  it('fails with 429 and the time to wait', async () => {
    mock.onMessage('Hello', { error: { message: 'Slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 3 })
    const failure = modelFailureOf(await ask(host, {}).catch((error: unknown) => error))
    expect(failure).toMatchObject({ class: 'rate_limit', retryable: true, isOverload: true, retryAfterMs: 3000 })
  })

  it('fails when the stream is cut off', async () => {
    mock.onMessage('Hello', { content: 'A long answer in many pieces' }, { chunkSize: 2, truncateAfterChunks: 4 })
    const failure = modelFailureOf(await ask(host, {}).catch((error: unknown) => error))
    expect(failure).toMatchObject({ class: 'network', retryable: true })
  })

  it('fails when the answer is malformed', async () => {
    mock.onMessage('Hello', { content: 'Hi' }, { chaos: { malformedRate: 1 } })
    const failure = modelFailureOf(await ask(host, {}).catch((error: unknown) => error))
    expect(failure).toMatchObject({ class: 'garbled', retryable: false })
  })
})

// its Responses server does not report why an answer is incomplete
it.each(hosts.filter(({ format }) => format !== 'responses'))(
  'an answer in the format $format ends with length at the output limit',
  async (host) => {
    mock.onMessage('Hello', { content: 'Half', finishReason: 'length' })
    expect((await ask(host, {})).at(-1)).toEqual({ type: 'finish', reason: 'length' })
  },
)
