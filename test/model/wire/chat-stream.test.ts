import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../../src/base/json.ts'
import { chatFormat } from '../../../src/model/wire/chat.ts'
import { readWire, readWireBody, textOf } from '../../helpers/wire.ts'

type WireAnswer = ReturnType<typeof readWire>

/** Reads chunks to the end of the stream; the first fault ends it. */
function read(...chunks: readonly Json[]): WireAnswer {
  const lines = chunks.map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`)
  return readWire(chatFormat, lines.join(''))
}

function delta(content: Json, finish: string | null = null): Json {
  return { choices: [{ index: 0, delta: content, finish_reason: finish }] }
}

function toolDelta(...pieces: readonly Json[]): Json {
  return delta({ tool_calls: pieces })
}

function seal(block: number, data: JsonObject): object {
  return { type: 'provider', block, part: 'reasoning', provider: { format: 'chat', data } }
}

describe('a chat completion stream', () => {
  it('returns its id, text and reasoning in order, and stores usage and finish', () => {
    const usage = {
      prompt_tokens: 20,
      completion_tokens: 9,
      prompt_tokens_details: { cached_tokens: 12 },
      completion_tokens_details: { reasoning_tokens: 4 },
    }
    const answer = read(
      { id: 'c1', choices: [{ delta: { role: 'assistant', content: '' } }] },
      delta({ reasoning_content: 'hm' }),
      delta({ reasoning: 'so' }),
      { id: 'c1', choices: [{ delta: { content: 'Yes' }, finish_reason: 'stop' }] },
      { choices: [], usage },
      '[DONE]',
    )
    expect(answer).toEqual({
      events: [
        { type: 'start', id: 'c1' },
        { type: 'reasoning', block: 0, text: 'hm' },
        { type: 'reasoning', block: 0, text: 'so' },
        { type: 'text', block: 1, text: 'Yes' },
      ],
      sealed: [seal(0, { field: 'reasoning_content' })],
      usage: { calls: 1, input: 20, output: 9, cached: 12, reasoning: 4 },
      finish: 'stop',
    })
  })

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['MAX_TOKENS', 'length'],
    ['content_filter', 'content_filter'],
    ['tool_calls', 'tool_calls'],
    ['function_call', 'tool_calls'],
    ['insufficient_system_resource', 'incomplete'],
    ['something new', 'other'],
  ])('parses the finish reason %s as %s', (reason, expected) => {
    expect(read(delta({}, reason)).finish).toBe(expected)
  })

  it('shows a refusal as the text of the answer', () => {
    expect(read(delta({ refusal: 'I may not' }, 'stop')).events).toEqual([
      { type: 'text', block: 0, text: 'I may not' },
    ])
  })

  it('ends with a refusal as the reason when its text was received', () => {
    const pieces = [delta({ role: 'assistant', content: '', refusal: 'I may' }), delta({ refusal: ' not' })]
    const answer = read(...pieces, delta({}, 'stop'))
    expect(textOf(answer.events)).toBe('I may not')
    expect(answer.finish).toBe('refusal')
    expect(read(...pieces, '[DONE]').finish).toBe('refusal')
    expect(read(...pieces, delta({}, 'length')).finish).toBe('length')
  })

  it('accepts text and thoughts in parts', () => {
    const content = [
      {
        type: 'thinking',
        thinking: [
          { type: 'text', text: 'let me ' },
          { type: 'text', text: 'see' },
        ],
      },
      { type: 'text', text: 'Yes' },
    ]
    expect(read(delta({ content }, 'stop')).events).toEqual([
      { type: 'reasoning', block: 0, text: 'let me see' },
      { type: 'text', block: 1, text: 'Yes' },
    ])
  })

  it('is a fault when text comes in an unknown form, instead of losing it', () => {
    expect(read(delta({ content: [{ type: 'song', notes: 'a' }] })).fault).toMatchObject({ class: 'garbled' })
    expect(read(delta({ content: 7 })).fault).toMatchObject({ class: 'garbled', detail: '7' })
  })

  it('accepts an end mark without a finish reason, and a finish reason without an end mark', () => {
    expect(read(delta({ content: 'a' }), '[DONE]')).toMatchObject({ events: [{ text: 'a' }], finish: undefined })
    expect(read(delta({ content: 'a' }, 'stop'))).toMatchObject({ events: [{ text: 'a' }], finish: 'stop' })
  })

  it('returns nothing after the end mark', () => {
    expect(read(delta({ content: 'a' }, 'stop'), '[DONE]', delta({ content: 'b' })).events).toHaveLength(1)
  })

  it('is a fault when neither comes, even after text', () => {
    expect(read(delta({ content: 'half of' })).fault).toMatchObject({
      class: 'network',
      retryable: true,
      what: 'closed the connection during the answer',
    })
  })

  it('is a fault when an event is not a JSON object', () => {
    expect(read(5).fault).toMatchObject({ class: 'garbled', retryable: false, detail: '5' })
    expect(read('{"choices":[{"del').fault).toMatchObject({ class: 'garbled' })
  })

  it('omits a truncated last event, so that the truncation is reported', () => {
    const answer = readWire(chatFormat, 'data: {"choices":[{"del')
    expect(answer.fault).toMatchObject({ what: 'closed the connection during the answer' })
  })

  it.each([
    [{ error: { message: 'overloaded', code: 529 } }, 'unavailable', true],
    [{ error: { message: 'slow down', code: 429 } }, 'rate_limit', true],
    [{ error: { message: 'slow down', type: 'rate_limit_exceeded' } }, 'rate_limit', true],
    [{ error: { message: 'pay first', code: 'insufficient_quota' } }, 'quota', false],
    [{ error: { message: 'This model has a maximum context length of 10' } }, 'invalid_request', false],
    [{ error: 'out of memory' }, 'unavailable', true],
    [{ choices: [{ delta: {}, finish_reason: 'error' }] }, 'unavailable', true],
  ])('is a fault when it reports an error: %j', (chunk, kind, retryable) => {
    expect(read(delta({ content: 'a' }), chunk).fault).toMatchObject({ class: kind, retryable })
  })

  it('is a fault when an event has the name error', () => {
    const answer = readWire(chatFormat, 'event: error\ndata: {"message":"boom"}\n\n')
    expect(answer.fault).toMatchObject({ detail: 'boom' })
  })
})

describe('the usage of a chat completion', () => {
  function usageOf(usage: Json): WireAnswer {
    return read(delta({}, 'stop'), { choices: [], usage })
  }

  it('may come before the finish reason, or not at all', () => {
    const early = read({ choices: [{ delta: {} }], usage: { prompt_tokens: 3 } }, delta({}, 'stop'))
    expect(early.usage).toEqual({ calls: 1, input: 3, output: 0, cached: 0, reasoning: 0 })
    expect(read(delta({}, 'stop')).usage).toBeUndefined()
  })

  it('contains the price of the call if the host reports it, and cache writes', () => {
    const details = { cached_tokens: 5, cache_write_tokens: 7 }
    expect(usageOf({ prompt_tokens: 20, completion_tokens: 1, prompt_tokens_details: details, cost: 0.0125 })).toEqual({
      events: [],
      finish: 'stop',
      usage: { calls: 1, input: 20, output: 1, cached: 5, reasoning: 0, cache_write: 7 },
      costUsd: 0.0125,
    })
  })

  it('includes reasoning in the output even if the host counts it separately', () => {
    const counted = { prompt_tokens: 10, completion_tokens: 4, completion_tokens_details: { reasoning_tokens: 30 } }
    expect(usageOf({ ...counted, total_tokens: 44 }).usage).toMatchObject({ output: 34, reasoning: 30 })
    const within = { ...counted, completion_tokens: 34 }
    expect(usageOf({ ...within, total_tokens: 44 }).usage).toMatchObject({ output: 34, reasoning: 30 })
    expect(usageOf(within).usage).toMatchObject({ output: 34, reasoning: 30 })
  })

  it.each([{ prompt_cache_hit_tokens: 6 }, { cached_tokens: 6 }])('extracts cached tokens from %j', (more) => {
    expect(usageOf({ prompt_tokens: 10, ...more }).usage).toMatchObject({ input: 10, cached: 6 })
  })

  it('treats invalid numbers as zero', () => {
    expect(usageOf({ prompt_tokens: '9', completion_tokens: -1, cost: '1' })).toEqual({
      events: [],
      finish: 'stop',
      usage: { calls: 1, input: 0, output: 0, cached: 0, reasoning: 0 },
    })
  })
})

describe('tool calls in a chat completion stream', () => {
  it('come in pieces with an index, also in parallel', () => {
    const answer = read(
      toolDelta({ index: 0, id: 'a', type: 'function', function: { name: 'read', arguments: '' } }),
      toolDelta({ index: 0, function: { arguments: '{"p":' } }),
      toolDelta(
        { index: 1, id: 'b', function: { name: 'list', arguments: '{' } },
        { index: 0, function: { arguments: '1}' } },
      ),
      toolDelta({ index: 1, id: 'b', function: { name: 'list', arguments: '}' } }),
      delta({}, 'tool_calls'),
    )
    expect(answer.events).toEqual([
      { type: 'tool_call', block: 0, id: 'a', name: 'read', input: '' },
      { type: 'tool_call', block: 0, input: '{"p":' },
      { type: 'tool_call', block: 1, id: 'b', name: 'list', input: '{' },
      { type: 'tool_call', block: 0, input: '1}' },
      { type: 'tool_call', block: 1, input: '}' },
    ])
    expect(answer.finish).toBe('tool_calls')
  })

  it('are distinguished without an index by their ids', () => {
    const answer = read(
      toolDelta({ id: 'a', function: { name: 'read', arguments: '{' } }),
      toolDelta({ function: { arguments: '}' } }),
      toolDelta({ id: 'b', function: { name: 'list', arguments: { deep: true } } }),
      delta({}, 'stop'),
    )
    expect(answer.events).toEqual([
      { type: 'tool_call', block: 0, id: 'a', name: 'read', input: '{' },
      { type: 'tool_call', block: 0, input: '}' },
      { type: 'tool_call', block: 1, id: 'b', name: 'list', input: '{"deep":true}' },
    ])
  })

  it('end the answer as tool calls although the server says stop', () => {
    expect(read(toolDelta({ index: 0, id: 'a', function: { name: 'read' } }), delta({}, 'stop')).finish).toBe(
      'tool_calls',
    )
  })

  it('get an id when the server sends none', () => {
    expect(
      read(toolDelta({ index: 0, function: { name: 'read', arguments: '{}' } }), delta({}, 'stop')).events,
    ).toEqual([{ type: 'tool_call', block: 0, id: 'call_0', name: 'read', input: '{}' }])
    const named = { id: 'c1', choices: [{ delta: { tool_calls: [{ function: { name: 'read', arguments: '{}' } }] } }] }
    // other formats refuse a conversation in which two calls have the same id
    expect(read(named, '[DONE]').events.at(-1)).toMatchObject({ id: 'call_c1_0' })
  })
})

describe('a chat completion without streaming', () => {
  it('produces the same events', () => {
    const call = { id: 'a', type: 'function', function: { name: 'read', arguments: '{}' } }
    const message = { role: 'assistant', content: 'Yes', reasoning: 'hm', tool_calls: [call, { ...call, id: 'b' }] }
    const body = {
      id: 'c1',
      choices: [{ message, finish_reason: 'length' }],
      usage: { prompt_tokens: 2, completion_tokens: 1 },
    }
    expect(readWireBody(chatFormat, body)).toEqual({
      events: [
        { type: 'start', id: 'c1' },
        { type: 'reasoning', block: 0, text: 'hm' },
        { type: 'text', block: 1, text: 'Yes' },
        { type: 'tool_call', block: 2, id: 'a', name: 'read', input: '{}' },
        { type: 'tool_call', block: 3, id: 'b', name: 'read', input: '{}' },
      ],
      sealed: [seal(0, { field: 'reasoning' })],
      usage: { calls: 1, input: 2, output: 1, cached: 0, reasoning: 0 },
      finish: 'length',
    })
  })

  it.each(['{"choices":[{"message":{"cont', '[]', '{"status":"ok"}', 'null'])('is a fault for %s', (body) => {
    expect(readWireBody(chatFormat, body).fault).toMatchObject({ class: 'garbled', retryable: false })
  })

  it('is a fault when it reports an error', () => {
    expect(readWireBody(chatFormat, { error: { message: 'no', code: 'model_not_found' } }).fault).toMatchObject({
      class: 'not_found',
      detail: 'no',
    })
  })
})
