import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/base/json.ts'
import { anthropicFormat } from '../../../src/model/wire/anthropic.ts'
import { chatFormat } from '../../../src/model/wire/chat.ts'
import type { WireFormat } from '../../../src/model/wire/format.ts'
import { geminiFormat } from '../../../src/model/wire/gemini.ts'
import { responsesFormat } from '../../../src/model/wire/responses.ts'
import { readWire, readWireBody, sseText } from '../../helpers/wire.ts'

interface Wire {
  readonly format: WireFormat
  /** An event with the text `half`, and what ends an answer. */
  readonly half: string
  readonly end: string
}

const wires: Readonly<Record<string, Wire>> = {
  chat: {
    format: chatFormat,
    half: sseText({ choices: [{ index: 0, delta: { content: 'half' } }] }),
    end: sseText('[DONE]'),
  },
  responses: {
    format: responsesFormat,
    half: sseText({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, delta: 'half' }),
    end: sseText({ type: 'response.completed', response: { status: 'completed' } }),
  },
  anthropic: {
    format: anthropicFormat,
    half: sseText(
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'half' } },
    ),
    end: sseText({ type: 'message_stop' }),
  },
  gemini: {
    format: geminiFormat,
    half: sseText({ candidates: [{ content: { parts: [{ text: 'half' }] } }] }),
    end: sseText({ candidates: [{ content: { parts: [] }, finishReason: 'STOP' }] }),
  },
}

/** Reports of failures, whose words contain `boom`, and whether another try can help. */
const reports: readonly (readonly [JsonObject, string, boolean])[] = [
  [{ error: { message: 'boom', code: 500 } }, 'unavailable', true],
  [{ error: 'boom' }, 'unavailable', true],
  [{ error: { msg: 'boom', status_code: '503' } }, 'unavailable', true],
  [{ error: { code: 401, message: 'boom' } }, 'auth', false],
  [{ object: 'error', message: 'boom', type: 'BadRequestError', code: 400 }, 'invalid_request', false],
  [{ object: 'error', message: 'boom' }, 'unavailable', true],
  [{ type: 'error', message: 'boom' }, 'unavailable', true],
  [{ type: 'error', error: { type: 'overloaded_error', message: 'boom' } }, 'unavailable', true],
  [{ detail: 'boom' }, 'unavailable', true],
  [{ detail: [{ loc: ['body'], msg: 'boom' }] }, 'unavailable', true],
  [{ detail: 'boom: invalid API key' }, 'auth', false],
  [{ code: 1302, msg: 'boom' }, 'unavailable', true],
  [{ code: '429', message: 'boom' }, 'rate_limit', true],
  [{ code: 1211, msg: 'boom: the model does not exist' }, 'not_found', false],
  [{ code: 'context_length_exceeded', message: 'boom' }, 'invalid_request', false],
  [{ errors: [{ message: 'boom', code: 502 }] }, 'unavailable', true],
  [{ success: false, errors: ['boom'] }, 'unavailable', true],
  [{ error_code: 336_501, error_msg: 'boom' }, 'unavailable', true],
  [{ error_code: 'invalid_request', message: 'boom' }, 'invalid_request', false],
  [{ status: 503, message: 'boom' }, 'unavailable', true],
  [{ base_resp: { status_code: 1004, status_msg: 'boom' } }, 'unavailable', true],
]

describe.each(Object.entries(wires))('an error that a server reports with the status 200, %s', (_, wire) => {
  const { format, half, end } = wire

  it.each(reports)(
    '%j is a fault with its text: in a stream, after text, and as a whole body',
    (report, kind, isRetried) => {
      const fault = { class: kind, retryable: isRetried, detail: expect.stringContaining('boom') as unknown }
      expect(readWire(format, sseText(JSON.stringify(report)) + end).fault).toMatchObject(fault)
      expect(readWire(format, half + sseText(JSON.stringify(report)) + end).fault).toMatchObject(fault)
      expect(readWireBody(format, report).fault).toMatchObject(fault)
    },
  )

  it.each([
    ['an error line', 'error: {"code":500,"message":"boom","type":"server_error"}\n\n'],
    ['an error line of plain text', 'error: boom\n\n'],
    ['an error line without an empty line', 'error: {"message":"boom"}\n'],
    ['an event named error', 'event: error\ndata: {"message":"boom"}\n\n'],
    ['an event named error with a type of its own', 'event: error\ndata: {"type":"server_error","message":"boom"}\n\n'],
    ['an event named error with plain text', 'event: error\ndata: boom\n\n'],
    ['a JSON line without a field name', '{"error":{"message":"boom"}}\n'],
    ['a list of one error', 'data: [{"error":{"code":500,"message":"boom"}}]\n\n'],
  ])('%s is a fault with its text', (_name, sent) => {
    const fault = { class: 'unavailable', retryable: true, detail: 'boom' }
    expect(readWire(format, sent + end).fault).toMatchObject(fault)
    expect(readWire(format, half + sent + end, { pieceSize: 3 }).fault).toMatchObject(fault)
  })

  it('a text without a finish reason and an end mark is not an answer, and an unknown event before it is named', () => {
    expect(readWire(format, half).fault).toMatchObject({ class: 'network', retryable: true })
    const odd = readWire(format, `${half}data: {"notice":"going down"}\n\n`)
    expect(odd.fault).toMatchObject({ class: 'network', detail: '{"notice":"going down"}' })
  })
})

describe('a chat completion that ends with its end mark but without a finish reason', () => {
  const { half, end } = wires['chat'] as Wire

  it.each([
    ['a kind of event that belongs to no answer', sseText({ notice: 'going down' })],
    ['an event with a message', sseText({ message: 'going down', code: 0 })],
  ])('is a fault that names %s', (_, odd) => {
    expect(readWire(chatFormat, half + odd + end).fault).toMatchObject({
      class: 'unavailable',
      retryable: true,
      what: expect.stringContaining('without a finish reason') as unknown,
      detail: expect.stringContaining('going down') as unknown,
    })
  })

  it('is an answer after a keep-alive, usage or an empty list of choices', () => {
    const harmless = sseText({}, { type: 'ping' }, { choices: [] }, { usage: { prompt_tokens: 1 } })
    expect(readWire(chatFormat, half + harmless + end).fault).toBeUndefined()
  })

  it('is irrelevant if a finish reason was received', () => {
    const finish = sseText({ choices: [{ delta: {}, finish_reason: 'stop' }] })
    expect(readWire(chatFormat, half + sseText({ notice: 'hello' }) + finish + end).fault).toBeUndefined()
  })
})

it.each([
  [{ choices: [{ error: { code: 502, message: 'boom' }, delta: {}, finish_reason: 'error' }] }, 'boom'],
  [{ choices: [{ delta: {}, finish_reason: 'abort' }] }, 'the finish reason is abort'],
  [{ choices: [], error: { message: 'boom' } }, 'boom'],
])('a chat completion fails by the choice %j', (chunk, detail) => {
  const { half, end } = wires['chat'] as Wire
  expect(readWire(chatFormat, half + sseText(chunk) + end).fault).toMatchObject({ retryable: true, detail })
})

it.each([
  { choices: [{ delta: { content: 'a' } }], code: 0, msg: 'success', base_resp: { status_code: 0 } },
  { choices: [{ delta: { content: 'a' } }], error: null },
  { choices: [{ delta: { content: 'a' } }], error: '' },
])('a chat completion does not fail by %j', (chunk) => {
  expect(readWire(chatFormat, sseText(chunk, '[DONE]')).fault).toBeUndefined()
})

it.each(['response.failed', 'response.cancelled'])('a response fails by the event %s', (type) => {
  const { half } = wires['responses'] as Wire
  const failed = { type, response: { error: { code: 'server_error', message: 'boom' } } }
  expect(readWire(responsesFormat, half + sseText(failed)).fault).toMatchObject({ retryable: true, detail: 'boom' })
  expect(readWire(responsesFormat, half + sseText({ type, response: {} })).fault).toMatchObject({ retryable: true })
})
