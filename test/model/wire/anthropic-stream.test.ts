import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/base/json.ts'
import { anthropicFormat } from '../../../src/model/wire/anthropic.ts'
import { readWire, readWireBody, sseText, textOf } from '../../helpers/wire.ts'

const start = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [],
    usage: { input_tokens: 10, cache_read_input_tokens: 200, cache_creation_input_tokens: 50, output_tokens: 1 },
  },
}
const stop = { type: 'message_stop' }

function block(index: number, content_block: JsonObject): JsonObject {
  return { type: 'content_block_start', index, content_block }
}

function delta(index: number, more: JsonObject): JsonObject {
  return { type: 'content_block_delta', index, delta: more }
}

function text(words: string): JsonObject {
  return delta(1, { type: 'text_delta', text: words })
}

function ended(reason: string | null, output_tokens = 40): JsonObject {
  return { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens } }
}

function tool(index: number): JsonObject {
  return block(index, { type: 'tool_use', id: `toolu_${index}`, name: 'read', input: {} })
}

function piece(index: number, partial_json: string): JsonObject {
  return delta(index, { type: 'input_json_delta', partial_json })
}

function seal(index: number, data: JsonObject): object {
  return { type: 'provider', block: index, part: 'reasoning', provider: { format: 'anthropic', data } }
}

describe('a Messages stream', () => {
  it('contains its id, reasoning and text in order, then usage and finish', () => {
    const stream = sseText(
      start,
      { type: 'ping' },
      block(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Hm' }),
      delta(0, { type: 'signature_delta', signature: 'EqQB' }),
      { type: 'content_block_stop', index: 0 },
      block(1, { type: 'text', text: '' }),
      text('Grüße '),
      text('🙂'),
      { type: 'content_block_stop', index: 1 },
      ended('end_turn'),
      stop,
    )
    expect(readWire(anthropicFormat, stream)).toEqual({
      events: [
        { type: 'start', id: 'msg_1' },
        { type: 'reasoning', block: 0, text: 'Hm' },
        { type: 'text', block: 1, text: 'Grüße ' },
        { type: 'text', block: 1, text: '🙂' },
      ],
      sealed: [seal(0, { type: 'thinking', signature: 'EqQB' })],
      finish: 'stop',
      usage: { calls: 1, input: 260, output: 40, cached: 200, reasoning: 0, cache_write: 50 },
    })
  })

  it('is parsed the same way however it is split', () => {
    const stream = sseText(start, text('Grüße '), tool(2), piece(2, '{"a":"🙂"}'), ended('tool_use'), stop)
    const whole = readWire(anthropicFormat, stream)
    for (const pieceSize of [1, 2, 3, 7, 64]) expect(readWire(anthropicFormat, stream, { pieceSize })).toEqual(whole)
  })

  it('is a fault if it is cut before its stop reason, and an answer afterwards', () => {
    const answered = new TextEncoder().encode(sseText(start, text('Grüße '), text('🙂'), ended('end_turn'))).length - 2
    const bytes = new TextEncoder().encode(sseText(start, text('Grüße '), text('🙂'), ended('end_turn'), stop))
    for (let length = 0; length <= bytes.length; length += 1) {
      const cut = readWire(anthropicFormat, bytes.subarray(0, length))
      if (length < answered) expect(cut.fault, `cut after ${length} bytes`).toMatchObject({ class: 'network' })
      else expect(cut, `cut after ${length} bytes`).toMatchObject({ finish: 'stop', usage: { output: 40 } })
    }
  })

  it('separates the pieces of parallel tool calls, and uses an empty object for a call without arguments', () => {
    const stream = sseText(
      start,
      block(0, { type: 'text', text: 'I look.' }),
      tool(1),
      piece(1, ''),
      piece(1, '{"a"'),
      tool(2),
      piece(1, ':1}'),
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_stop', index: 2 },
      ended('tool_use'),
      stop,
    )
    expect(readWire(anthropicFormat, stream)).toMatchObject({
      events: [
        { type: 'start' },
        { type: 'text', text: 'I look.' },
        { type: 'tool_call', block: 1, id: 'toolu_1', name: 'read', input: '' },
        { type: 'tool_call', block: 1, input: '{"a"' },
        { type: 'tool_call', block: 2, id: 'toolu_2', name: 'read', input: '' },
        { type: 'tool_call', block: 1, input: ':1}' },
        { type: 'tool_call', block: 2, input: '{}' },
      ],
      finish: 'tool_calls',
    })
  })

  it('accepts arguments that come with the beginning of a call', () => {
    const begun = block(0, { type: 'tool_use', id: 't', name: 'read', input: { a: 1 } })
    const stream = sseText(begun, { type: 'content_block_stop', index: 0 }, ended('tool_use'), stop)
    expect(readWire(anthropicFormat, stream).events).toEqual([
      { type: 'tool_call', block: 0, id: 't', name: 'read', input: '{"a":1}' },
    ])
  })

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['pause_turn', 'incomplete'],
    ['something new', 'other'],
  ])('that stops because of %s ends with %s', (reason, finish) => {
    expect(readWire(anthropicFormat, sseText(start, ended(reason), stop)).finish).toBe(finish)
  })

  it('replaces earlier counts by later ones, and separates reasoning if it is counted', () => {
    const usage = { input_tokens: 12, cache_read_input_tokens: null, output_tokens: 90 }
    const counted = { ...usage, output_tokens_details: { thinking_tokens: 70 } }
    const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: counted }
    expect(readWire(anthropicFormat, sseText(start, end, stop)).usage).toEqual({
      calls: 1,
      input: 262,
      output: 90,
      cached: 200,
      reasoning: 70,
      cache_write: 50,
    })
  })

  it('counts nothing when the server counts nothing', () => {
    const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' } }
    expect(readWire(anthropicFormat, sseText(end, stop)).usage).toBeUndefined()
  })

  it('skips unknown events, blocks and pieces', () => {
    const stream = sseText(
      { type: 'message_news' },
      block(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
      piece(0, '{"query":"x"}'),
      { type: 'content_block_stop', index: 0 },
      delta(1, { type: 'citations_delta' }),
      text('Yes'),
      ended('end_turn'),
      stop,
    )
    expect(readWire(anthropicFormat, stream)).toMatchObject({ events: [{ type: 'text', text: 'Yes' }], finish: 'stop' })
  })

  it.each([
    ['overloaded_error', 'Overloaded', { retryable: true, detail: 'Overloaded' }],
    ['rate_limit_error', 'Slow down', { class: 'rate_limit', retryable: true }],
    ['api_error', 'Oops', { class: 'unavailable', retryable: true }],
    ['authentication_error', 'No', { class: 'auth', retryable: false }],
    ['invalid_request_error', 'prompt is too long: 9 > 8', { class: 'invalid_request', retryable: false }],
  ])('fails with an %s in the middle, after the text before it', (type, message, fault) => {
    const answer = readWire(anthropicFormat, sseText(start, text('Half'), { type: 'error', error: { type, message } }))
    expect(answer.fault).toMatchObject(fault)
    expect(textOf(answer.events)).toBe('Half')
  })

  it.each(['{"type":', '"text"', '[1]'])('is garbled by the event %s', (data) => {
    const answer = readWire(anthropicFormat, sseText(start, data, ended('end_turn'), stop))
    expect(answer.fault).toMatchObject({ class: 'garbled', retryable: false, detail: data })
  })
})

describe('a message without streaming', () => {
  it('produces the same events', () => {
    const message = {
      id: 'msg_1',
      type: 'message',
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'x' },
        { type: 'redacted_thinking', data: 'x' },
        { type: 'text', text: 'Yes' },
        { type: 'tool_use', id: 't1', name: 'read', input: {} },
        { type: 'tool_use', id: 't2', name: 'read', input: { a: 1 } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 3, output_tokens: 4 },
    }
    expect(readWireBody(anthropicFormat, message)).toEqual({
      events: [
        { type: 'start', id: 'msg_1' },
        { type: 'reasoning', block: 0, text: 'Hm' },
        { type: 'text', block: 2, text: 'Yes' },
        { type: 'tool_call', block: 3, id: 't1', name: 'read', input: '' },
        { type: 'tool_call', block: 3, input: '{}' },
        { type: 'tool_call', block: 4, id: 't2', name: 'read', input: '{"a":1}' },
      ],
      sealed: [seal(0, { type: 'thinking', signature: 'x' }), seal(1, { type: 'redacted_thinking', data: 'x' })],
      finish: 'tool_calls',
      usage: { calls: 1, input: 3, output: 4, cached: 0, reasoning: 0 },
    })
  })

  it('is a fault when it is an error, not a message or not JSON', () => {
    const error = { type: 'error', error: { type: 'api_error', message: 'Oops' } }
    expect(readWireBody(anthropicFormat, error).fault).toMatchObject({ class: 'unavailable', detail: 'Oops' })
    expect(readWireBody(anthropicFormat, { hello: 1 }).fault).toMatchObject({ class: 'garbled' })
    expect(readWireBody(anthropicFormat, '[').fault).toMatchObject({ class: 'garbled' })
  })
})
