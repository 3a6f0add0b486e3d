import { afterEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/base/json.ts'
import { defaultTimeouts, type ModelTimeouts } from '../../../src/model/call.ts'
import { createProvider } from '../../../src/model/create.ts'
import { modelFailureOf } from '../../../src/model/errors.ts'
import type { ModelEvent, ModelRequest } from '../../../src/model/provider.ts'
import { textMessage, type WireFormatName } from '../../../src/event/message.ts'
import { commonQuirks } from '../../../src/model/wire/format.ts'
import { type NativeReply, type NativeServer, startNativeServer } from '../../helpers/native-server.ts'
import { sseText, textOf } from '../../helpers/wire.ts'

const key = 'sk-native-0123456789'

let server: NativeServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

interface Call {
  readonly request?: Partial<ModelRequest>
  readonly timeouts?: Partial<ModelTimeouts>
  readonly signal?: AbortSignal
  readonly onEvent?: (event: ModelEvent) => void
}

/** Calls a server that gives this answer in this format; returns the events and what was thrown. */
async function ask(
  { format, root }: Format,
  reply: NativeReply,
  call: Call = {},
): Promise<{ readonly events: readonly ModelEvent[]; readonly error: unknown }> {
  server = await startNativeServer(reply)
  const provider = await createProvider(
    {
      model: 'm-1',
      label: 'native::m-1',
      provider: {
        kind: 'host',
        name: 'native',
        format,
        quirks: commonQuirks,
        isFree: false,
        baseUrl: server.origin + root,
        apiKeyEnv: 'NATIVE_KEY',
        keyRequired: true,
        headers: {},
      },
    },
    { env: { NATIVE_KEY: key }, timeouts: { ...defaultTimeouts, ...call.timeouts } },
  )
  const request: ModelRequest = { model: 'm-1', messages: [textMessage('user', 'Hello')], ...call.request }
  const events: ModelEvent[] = []
  try {
    for await (const event of provider.stream(request, call.signal ?? new AbortController().signal)) {
      events.push(event)
      call.onEvent?.(event)
    }
  } catch (error) {
    return { events, error }
  }
  return { events, error: undefined }
}

interface Format {
  readonly format: WireFormatName
  /** The path of the base URL. */
  readonly root: string
  readonly path: string
  readonly keyHeader: readonly [string, string]
  /** The events of an answer up to its finish reason, and those after it. */
  readonly said: (text: string) => readonly JsonObject[]
  readonly ended: readonly JsonObject[]
  /** The same answer in one piece. */
  readonly whole: (text: string) => JsonObject
}

const messageEnd = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } }
const responseUsage = { input_tokens: 3, output_tokens: 4 }

const formats: readonly Format[] = [
  {
    format: 'responses',
    root: '/v1',
    path: '/v1/responses',
    keyHeader: ['authorization', `Bearer ${key}`],
    said: (text) => [
      { type: 'response.created', response: { id: 'a1' } },
      { type: 'response.output_text.delta', delta: text },
    ],
    ended: [{ type: 'response.completed', response: { status: 'completed', usage: responseUsage } }],
    whole: (text) => ({
      id: 'a1',
      status: 'completed',
      output: [{ type: 'message', content: [{ type: 'output_text', text }] }],
      usage: responseUsage,
    }),
  },
  {
    format: 'anthropic',
    root: '/v1',
    path: '/v1/messages',
    keyHeader: ['x-api-key', key],
    said: (text) => [
      { type: 'message_start', message: { id: 'a1', usage: { input_tokens: 3 } } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    ],
    ended: [messageEnd, { type: 'message_stop' }],
    whole: (text) => ({
      id: 'a1',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      usage: responseUsage,
    }),
  },
  {
    format: 'gemini',
    root: '/v1beta',
    path: '/v1beta/models/m-1:streamGenerateContent?alt=sse',
    keyHeader: ['x-goog-api-key', key],
    said: (text) => [{ candidates: [{ content: { parts: [{ text }] } }], responseId: 'a1' }],
    ended: [
      { candidates: [{ finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4 } },
    ],
    whole: (text) => ({
      responseId: 'a1',
      candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4 },
    }),
  },
]

const ends = [
  { type: 'usage', usage: { calls: 1, input: 3, output: 4, cached: 0, reasoning: 0 } },
  { type: 'finish', reason: 'stop' },
]

describe.each(formats)('a call in the format $format', (format) => {
  it('is sent to its path with the key in its own header only, and ends with usage and finish', async () => {
    const { events, error } = await ask(format, { writes: [sseText(...format.said('Yes'), ...format.ended)] })
    expect(error).toBeUndefined()
    expect(events).toEqual([{ type: 'start', id: 'a1' }, { type: 'text', block: 0, text: 'Yes' }, ...ends])
    const [request] = server?.requests ?? []
    expect(request).toMatchObject({ method: 'POST', path: format.path })
    const keyed = Object.entries(request?.headers ?? {}).filter(([, value]) => String(value).includes(key))
    expect(keyed).toEqual([format.keyHeader])
    if (format.format !== 'responses') expect(request?.headers).not.toHaveProperty('authorization')
    const version = request?.headers['anthropic-version']
    expect(version).toBe(format.format === 'anthropic' ? '2023-06-01' : undefined)
  })

  it('reads characters that are split across writes of the server', async () => {
    const bytes = Buffer.from(sseText(...format.said('Grüße 🙂'), ...format.ended))
    const at = bytes.indexOf(Buffer.from('🙂')) + 2
    const { events } = await ask(format, { writes: [bytes.subarray(0, at), bytes.subarray(at)] })
    expect(textOf(events)).toBe('Grüße 🙂')
  })

  it('accepts an answer without streaming', async () => {
    const reply = { contentType: 'application/json', writes: [JSON.stringify(format.whole('Yes'))] }
    expect((await ask(format, reply)).events.filter(({ type }) => type !== 'provider')).toEqual([
      { type: 'start', id: 'a1' },
      { type: 'text', block: 0, text: 'Yes' },
      ...ends,
    ])
  })

  it.each(['end', 'cut'] as const)('fails when the body ends by %s in the middle', async (ending) => {
    const { events, error } = await ask(format, { writes: [sseText(...format.said('Half'))], ending })
    expect(textOf(events)).toBe('Half')
    expect(modelFailureOf(error)).toMatchObject({ class: 'network', retryable: true })
  })

  it('fails when the server falls silent in the middle', async () => {
    const reply: NativeReply = { writes: [sseText(...format.said('Half'))], ending: 'stall' }
    const { events, error } = await ask(format, reply, { timeouts: { streamIdleMs: 30 } })
    expect(textOf(events)).toBe('Half')
    expect(modelFailureOf(error)).toMatchObject({ class: 'timeout', retryable: true })
  })

  it('is complete when the connection breaks after its last event', async () => {
    const reply: NativeReply = { writes: [sseText(...format.said('Yes'), ...format.ended)], ending: 'cut' }
    const { events, error } = await ask(format, reply)
    expect(error).toBeUndefined()
    expect(events.slice(-2)).toEqual(ends)
  })

  it('stops when its caller does', async () => {
    const controller = new AbortController()
    const reply: NativeReply = { writes: [sseText(...format.said('Half'))], ending: 'stall' }
    const { error } = await ask(format, reply, {
      signal: controller.signal,
      onEvent: (event) => {
        if (event.type === 'text') controller.abort(new Error('enough'))
      },
    })
    expect(error).toMatchObject({ message: 'enough' })
  })

  it.each([
    [400, {}, { class: 'invalid_request', retryable: false }],
    [401, {}, { class: 'auth', retryable: false }],
    [404, {}, { class: 'not_found', retryable: false }],
    [429, { 'retry-after': '7' }, { class: 'rate_limit', retryable: true, isOverload: true, retryAfterMs: 7000 }],
    [429, {}, { class: 'rate_limit', retryable: true, isOverload: true }],
    [500, {}, { class: 'unavailable', retryable: true }],
    [503, {}, { class: 'unavailable', retryable: true, isOverload: true }],
    [529, {}, { class: 'unavailable', retryable: true, isOverload: true }],
  ])('fails with status %i and the message of the server, without the key', async (status, headers, failure) => {
    const said = JSON.stringify({ error: { message: `no luck with ${key}` } })
    const reply = { status, headers, contentType: 'application/json', writes: [said] }
    const { error } = await ask(format, reply)
    expect(modelFailureOf(error)).toMatchObject(failure)
    expect(String(error)).toContain('no luck')
    expect(String(error)).not.toContain(key)
  })

  it.each([
    ['text/html', '<title>Hi</title>'],
    ['application/json', '{"half":'],
    ['text/event-stream', 'data: {"half":\n\n'],
    ['text/event-stream', ''],
    ['application/json', ''],
  ])('is garbled by a body of %s that contains %j', async (contentType, body) => {
    const { error } = await ask(format, { contentType, writes: [body] })
    expect(modelFailureOf(error)).toMatchObject({ class: 'garbled', retryable: false })
  })
})
