import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/base/json.ts'
import { responsesFormat } from '../../../src/model/wire/responses.ts'
import { readWire, readWireBody, sseText, textOf } from '../../helpers/wire.ts'

const created = { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } }
const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
  output_tokens: 40,
  output_tokens_details: { reasoning_tokens: 25 },
  total_tokens: 140,
}
const read = { calls: 1, input: 100, output: 40, cached: 60, reasoning: 25, cache_write: 30 }
const completed = { type: 'response.completed', response: { id: 'resp_1', status: 'completed', usage } }

function text(delta: string): JsonObject {
  return { type: 'response.output_text.delta', item_id: 'm1', output_index: 1, content_index: 0, delta }
}

function thought(delta: string): JsonObject {
  return { type: 'response.reasoning_summary_text.delta', item_id: 'r1', summary_index: 0, delta }
}

function call(index: number, more: JsonObject = {}): JsonObject {
  return {
    type: 'response.output_item.added',
    output_index: index,
    item: { type: 'function_call', id: `fc${index}`, call_id: `call${index}`, name: 'read', arguments: '', ...more },
  }
}

function piece(index: number, delta: string): JsonObject {
  return { type: 'response.function_call_arguments.delta', item_id: `fc${index}`, output_index: index, delta }
}

describe('a Responses stream', () => {
  it('counts a repeated event once', () => {
    const [first, second] = [1, 2].map((number) => ({ ...text('ha'), sequence_number: number }))
    if (first === undefined || second === undefined) throw new Error('two events')
    const stream = sseText(created, first, first, second, second, completed)
    expect(textOf(readWire(responsesFormat, stream).events)).toBe('haha')
  })

  it('contains its id, reasoning and text in order, then usage and finish', () => {
    const stream = sseText(
      created,
      { type: 'response.in_progress', response: { id: 'resp_1' } },
      { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', id: 'r1', summary: [] } },
      { type: 'response.reasoning_summary_part.added', summary_index: 0 },
      thought('One'),
      { type: 'response.reasoning_summary_part.added', summary_index: 1 },
      thought('Two'),
      { type: 'response.reasoning_text.delta', delta: '!' },
      { type: 'response.output_item.added', output_index: 1, item: { type: 'message', id: 'm1', content: [] } },
      text('Grüße '),
      text('🙂'),
      { type: 'response.output_text.done', text: 'Grüße 🙂' },
      completed,
    )
    expect(readWire(responsesFormat, stream)).toEqual({
      events: [
        { type: 'start', id: 'resp_1' },
        { type: 'reasoning', block: 0, text: 'One' },
        { type: 'reasoning', block: 0, text: '\n\n' },
        { type: 'reasoning', block: 0, text: 'Two' },
        { type: 'reasoning', block: 0, text: '!' },
        { type: 'text', block: 1, text: 'Grüße ' },
        { type: 'text', block: 1, text: '🙂' },
      ],
      finish: 'stop',
      usage: read,
    })
  })

  it('is parsed the same way however it is split', () => {
    const stream = sseText(created, thought('ü'), text('Grüße '), call(2), piece(2, '{"a":"🙂"}'), completed)
    const whole = readWire(responsesFormat, stream)
    for (const pieceSize of [1, 2, 3, 7, 64]) expect(readWire(responsesFormat, stream, { pieceSize })).toEqual(whole)
  })

  it('is a fault if it is cut before its last event', () => {
    const before = new TextEncoder().encode(sseText(created, text('Grüße '), text('🙂')))
    const bytes = new TextEncoder().encode(sseText(created, text('Grüße '), text('🙂'), completed))
    const end = bytes.length - 2 // the blank line after the last event may be missing
    for (let length = 0; length < end; length += 1) {
      const cut = readWire(responsesFormat, bytes.subarray(0, length))
      expect(cut.fault, `cut after ${length} bytes`).toMatchObject({ class: 'network', retryable: true })
      if (length >= before.length) expect(textOf(cut.events)).toBe('Grüße 🙂')
    }
    expect(readWire(responsesFormat, bytes.subarray(0, end)).fault).toBeUndefined()
  })

  it('separates the pieces of parallel tool calls', () => {
    const stream = sseText(
      created,
      call(1),
      call(2),
      piece(2, '{"b"'),
      piece(1, '{"a":1}'),
      piece(2, ':2}'),
      { type: 'response.function_call_arguments.done', output_index: 1, arguments: '{"a":1}' },
      { type: 'response.output_item.done', output_index: 1, item: { type: 'function_call', arguments: '{"a":1}' } },
      completed,
    )
    expect(readWire(responsesFormat, stream)).toMatchObject({
      events: [
        { type: 'start' },
        { type: 'tool_call', block: 0, id: 'call1', name: 'read', input: '' },
        { type: 'tool_call', block: 1, id: 'call2', name: 'read', input: '' },
        { type: 'tool_call', block: 1, input: '{"b"' },
        { type: 'tool_call', block: 0, input: '{"a":1}' },
        { type: 'tool_call', block: 1, input: ':2}' },
      ],
      finish: 'tool_calls',
    })
  })

  it('accepts calls and arguments that come only when they are finished', () => {
    const done = (index: number, item: JsonObject): JsonObject => ({
      type: 'response.output_item.done',
      output_index: index,
      item: { type: 'function_call', call_id: `call${index}`, name: 'read', ...item },
    })
    const stream = sseText(call(0), done(0, { arguments: '{"a":1}' }), done(1, { arguments: '{}' }), completed)
    expect(readWire(responsesFormat, stream).events).toEqual([
      { type: 'tool_call', block: 0, id: 'call0', name: 'read', input: '' },
      { type: 'tool_call', block: 0, input: '{"a":1}' },
      { type: 'tool_call', block: 1, id: 'call1', name: 'read', input: '{}' },
    ])
  })

  it.each([
    ['in pieces', { type: 'response.refusal.delta', delta: 'I will not.' }],
    ['whole', { type: 'response.refusal.done', refusal: 'I will not.' }],
  ])('returns a refusal that comes %s as text, and as the reason', (_, refusal) => {
    expect(readWire(responsesFormat, sseText(created, refusal, completed))).toMatchObject({
      events: [{ type: 'start' }, { type: 'text', text: 'I will not.' }],
      finish: 'refusal',
    })
  })

  describe('with text that comes only when it is finished', () => {
    const part = { type: 'output_text', text: 'Yes' }
    const message = { type: 'message', id: 'm1', role: 'assistant', content: [part] }
    const partDone = {
      type: 'response.output_text.done',
      item_id: 'm1',
      output_index: 1,
      content_index: 0,
      text: 'Yes',
    }
    const itemDone = { type: 'response.output_item.done', output_index: 1, item: message }
    const full = { ...completed, response: { ...completed.response, output: [message] } }

    it.each([
      ['in the end of its part', [partDone, completed]],
      ['in the end of its message', [itemDone, completed]],
      ['in the end of the response', [full]],
      ['in all of them', [partDone, itemDone, full]],
      ['in all of them, and in pieces', [text('Y'), text('es'), partDone, itemDone, full]],
      [
        'in all of them, and in pieces that do not say what they belong to',
        [{ type: 'response.output_text.delta', delta: 'Yes' }, partDone, itemDone, full],
      ],
    ] as const)('%s returns it once', (_, events) => {
      const answer = readWire(responsesFormat, sseText(created, ...events))
      expect(textOf(answer.events)).toBe('Yes')
      expect(answer).toMatchObject({ finish: 'stop', usage: read })
    })

    it('returns every part of a message, in pieces or whole', () => {
      const two = { ...message, content: [part, { type: 'refusal', refusal: ' and no' }] }
      const answer = readWire(responsesFormat, sseText(text('Yes'), { ...itemDone, item: two }, completed))
      expect(textOf(answer.events)).toBe('Yes and no')
      expect(answer.finish).toBe('refusal')
    })

    it('also reads calls and reasoning from there', () => {
      const output = [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] },
        { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{}' },
      ]
      const response = { ...completed.response, output }
      expect(readWire(responsesFormat, sseText({ ...completed, response }))).toMatchObject({
        events: [
          { type: 'reasoning', text: 'Hm' },
          { type: 'tool_call', block: 1, id: 'c1', name: 'read', input: '{}' },
        ],
        finish: 'tool_calls',
      })
      const streamed = readWire(
        responsesFormat,
        sseText(thought('Hm'), call(1), piece(1, '{}'), { ...completed, response }),
      )
      expect(textOf(streamed.events, 'reasoning')).toBe('Hm')
      expect(streamed.events.filter(({ type }) => type === 'tool_call')).toHaveLength(2)
    })
  })

  it.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'content_filter'],
    ['something new', 'incomplete'],
  ])('that is incomplete because of %s ends with %s', (reason, finish) => {
    const response = { status: 'incomplete', incomplete_details: { reason }, usage }
    const stream = sseText(text('Half'), { type: 'response.incomplete', response })
    expect(readWire(responsesFormat, stream)).toMatchObject({ finish, usage: read })
  })

  it('skips unknown events, comments and empty data', () => {
    const stream = `: ping\n\n${sseText({ type: 'response.audio.delta', delta: 'x' }, '', text('Yes'), completed, '[DONE]')}`
    const answer = readWire(responsesFormat, stream)
    expect(answer).toMatchObject({ events: [{ type: 'text', text: 'Yes' }], finish: 'stop' })
  })

  it('counts zero for unreported counts, and nothing when nothing is reported', () => {
    const few = { ...completed, response: { status: 'completed', usage: { input_tokens: 3 } } }
    expect(readWire(responsesFormat, sseText(few)).usage).toEqual({
      calls: 1,
      input: 3,
      output: 0,
      cached: 0,
      reasoning: 0,
    })
    const none = { ...completed, response: { status: 'completed', usage: null } }
    expect(readWire(responsesFormat, sseText(none)).usage).toBeUndefined()
  })

  it('keeps a price of the provider', () => {
    const response = { status: 'completed', usage: { ...usage, cost: 0.0125 } }
    expect(readWire(responsesFormat, sseText({ type: 'response.completed', response })).costUsd).toBe(0.0125)
  })

  it.each([
    [
      'a failed response',
      { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error', message: 'Oops' } } },
      { class: 'unavailable', retryable: true, detail: 'Oops' },
    ],
    [
      'a failed response without a reason',
      { type: 'response.failed', response: {} },
      { class: 'unavailable', retryable: true },
    ],
    [
      'an error event',
      { type: 'error', code: 'rate_limit_exceeded', message: 'Slow down', param: null },
      { class: 'rate_limit', retryable: true, detail: 'Slow down' },
    ],
    [
      'an error inside an event',
      { type: 'error', error: { type: 'invalid_request_error', code: 'context_length_exceeded', message: 'Too long' } },
      { class: 'invalid_request', retryable: false, detail: 'Too long' },
    ],
    ['an error without a type', { error: { message: 'No' } }, { class: 'unavailable', detail: 'No' }],
  ])('fails with %s, after the text before it', (_, event, fault) => {
    const answer = readWire(responsesFormat, sseText(text('Half'), event as JsonObject, completed))
    expect(answer.fault).toMatchObject(fault)
    expect(textOf(answer.events)).toBe('Half')
  })

  it.each(['{"type":', '"text"', '[1]'])('is garbled by the event %s', (data) => {
    const answer = readWire(responsesFormat, sseText(text('Half'), data, completed))
    expect(answer.fault).toMatchObject({ class: 'garbled', retryable: false, detail: data })
  })
})

function seal(block: number, part: string, data: JsonObject | undefined): object {
  return { type: 'provider', block, part, provider: { format: 'responses', data } }
}

describe('a response without streaming', () => {
  it('produces the same events', () => {
    const output: readonly JsonObject[] = [
      {
        type: 'reasoning',
        summary: [
          { type: 'summary_text', text: 'One' },
          { type: 'summary_text', text: 'Two' },
        ],
      },
      {
        type: 'message',
        content: [
          { type: 'output_text', text: 'Yes' },
          { type: 'refusal', refusal: ' no' },
        ],
      },
      { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{}' },
      { type: 'function_call', call_id: 'c2', name: 'read', arguments: '{"a":1}' },
      { type: 'web_search_call' },
    ]
    const response = { id: 'resp_1', status: 'completed', usage, output }
    expect(readWireBody(responsesFormat, response)).toEqual({
      events: [
        { type: 'start', id: 'resp_1' },
        { type: 'reasoning', block: 0, text: 'One\n\nTwo' },
        { type: 'text', block: 1, text: 'Yes no' },
        { type: 'tool_call', block: 2, id: 'c1', name: 'read', input: '{}' },
        { type: 'tool_call', block: 3, id: 'c2', name: 'read', input: '{"a":1}' },
      ],
      sealed: [
        seal(0, 'reasoning', output[0]),
        seal(1, 'text', output[1]),
        seal(2, 'tool_call', { ...output[2], arguments: '' }),
        seal(3, 'tool_call', { ...output[3], arguments: '' }),
      ],
      finish: 'tool_calls',
      usage: read,
    })
  })

  it('is a fault when it is an error, not a response or not JSON', () => {
    const failed = { status: 'failed', error: { code: 'server_error', message: 'Oops' } }
    expect(readWireBody(responsesFormat, failed).fault).toMatchObject({ class: 'unavailable', detail: 'Oops' })
    expect(readWireBody(responsesFormat, { hello: 1 }).fault).toMatchObject({ class: 'garbled' })
    expect(readWireBody(responsesFormat, '{"status":').fault).toMatchObject({ class: 'garbled' })
  })
})
