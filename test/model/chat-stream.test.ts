import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import {
  chatStart,
  endOfChat,
  readChatBody,
  readChatEvent,
  readChatEvents,
  type ChatBatch,
  type ChatStep,
} from '../../src/model/chat-stream.ts'

/** Reads chunks to the end of the stream; the first fault ends it. */
function read(...chunks: readonly Json[]): ChatStep {
  const events = []
  let state = chatStart
  for (const chunk of chunks) {
    const data = chunk === '[DONE]' ? chunk : JSON.stringify(chunk)
    const step = readChatEvent(state, { name: '', data, complete: true })
    if (step.kind === 'fault') return step
    state = step.state
    events.push(...step.events)
  }
  const end = endOfChat(state)
  return end.kind === 'fault' ? end : { ...end, events: [...events, ...end.events] }
}

function delta(content: Json, finish: string | null = null): Json {
  return { choices: [{ index: 0, delta: content, finish_reason: finish }] }
}

function fault(step: ChatStep): unknown {
  return step.kind === 'fault' ? step.fault : step
}

function events(step: ChatStep): unknown {
  return step.kind === 'events' ? step.events : step
}

const zero = { calls: 1, input: 0, output: 0, cached: 0, reasoning: 0 }

describe('a stream', () => {
  it('gives text and reasoning in their order, and usage and finish at the end', () => {
    const usage = {
      prompt_tokens: 20,
      completion_tokens: 9,
      prompt_tokens_details: { cached_tokens: 12 },
      completion_tokens_details: { reasoning_tokens: 4 },
    }
    const step = read(
      delta({ role: 'assistant', content: '' }),
      delta({ reasoning_content: 'hm' }),
      delta({ reasoning: 'so' }),
      delta({ content: 'Yes' }, 'stop'),
      { choices: [], usage },
      '[DONE]',
    )
    expect(events(step)).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'reasoning', text: 'so' },
      { type: 'text', text: 'Yes' },
      { type: 'usage', usage: { calls: 1, input: 20, output: 9, cached: 12, reasoning: 4 } },
      { type: 'finish', reason: 'stop' },
    ])
  })

  it('keeps a usage that comes before the finish reason, and counts none when none comes', () => {
    expect(events(read({ ...(delta({}) as object), usage: { prompt_tokens: 3 } }, delta({}, 'stop')))).toMatchObject([
      { usage: { ...zero, input: 3 } },
      { type: 'finish' },
    ])
    expect(events(read(delta({}, 'stop')))).toMatchObject([{ usage: zero }, { type: 'finish' }])
  })

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['MAX_TOKENS', 'length'],
    ['content_filter', 'content_filter'],
    ['tool_calls', 'other'],
  ])('reads the finish reason %s as %s', (reason, expected) => {
    expect(events(read(delta({}, reason)))).toMatchObject([{}, { type: 'finish', reason: expected }])
  })

  it('shows a refusal as the text of the answer', () => {
    expect(events(read(delta({ refusal: 'I may not' }, 'stop')))).toMatchObject([{ text: 'I may not' }, {}, {}])
  })

  it('accepts an end mark without a finish reason, and a finish reason without an end mark', () => {
    expect(events(read(delta({ content: 'a' }), '[DONE]'))).toMatchObject([{}, {}, { reason: 'other' }])
    expect(events(read(delta({ content: 'a' }, 'stop')))).toMatchObject([{}, {}, { reason: 'stop' }])
  })

  it('is a fault when neither comes, whatever text came before', () => {
    expect(fault(read(delta({ content: 'half of' })))).toMatchObject({
      class: 'network',
      retryable: true,
      what: 'closed the connection in the middle of the answer',
    })
  })

  it('is a fault when an event is not a JSON object', () => {
    expect(fault(read(5))).toMatchObject({ class: 'garbled', retryable: false, detail: '5' })
    const cut = readChatEvent(chatStart, { name: '', data: '{"choices":[{"del', complete: true })
    expect(fault(cut)).toMatchObject({ class: 'garbled' })
  })

  it('is a fault when text comes in a form nobody can read, which else would be lost', () => {
    expect(fault(read(delta({ content: [{ type: 'text', text: 'a' }] })))).toMatchObject({ class: 'garbled' })
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
    expect(fault(read(delta({ content: 'a' }), chunk))).toMatchObject({ class: kind, retryable })
  })

  it('is a fault when an event is named error', () => {
    const step = readChatEvent(chatStart, { name: 'error', data: '{"message":"boom"}', complete: true })
    expect(fault(step)).toMatchObject({ detail: 'boom' })
  })

  it('leaves out a last event that was cut, so that the cut is what is reported', () => {
    const step = readChatEvent(chatStart, { name: '', data: '{"choices":[{"del', complete: false })
    expect(events(step)).toEqual([])
  })
})

describe('events that arrive together', () => {
  function together(...chunks: readonly Json[]): ChatBatch {
    const data = chunks.map((chunk) => (chunk === '[DONE]' ? chunk : JSON.stringify(chunk)))
    return readChatEvents(
      chatStart,
      data.map((text) => ({ name: '', data: text, complete: true })),
    )
  }

  it('give neighbouring text and neighbouring reasoning as one piece each, in their order', () => {
    const { events: read } = together(
      delta({ reasoning: 'h' }),
      delta({ reasoning: 'm' }),
      delta({ content: 'Y' }),
      delta({ content: '' }),
      delta({ content: 'es' }),
      delta({ reasoning: 'so' }),
      delta({ content: '.' }),
    )
    expect(read).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'Yes' },
      { type: 'reasoning', text: 'so' },
      { type: 'text', text: '.' },
    ])
  })

  it('end at the end mark', () => {
    const { events: read, state } = together(delta({ content: 'a' }, 'stop'), '[DONE]', delta({ content: 'b' }))
    expect(read).toEqual([{ type: 'text', text: 'a' }])
    expect(state).toMatchObject({ finish: 'stop', done: true })
  })

  it('give what came before a fault with it', () => {
    const batch = together(delta({ content: 'a' }), { error: 'lost' }, delta({ content: 'b' }))
    expect(batch).toMatchObject({ events: [{ type: 'text', text: 'a' }], fault: { detail: 'lost' } })
  })

  it('leave the state as it is when only text came', () => {
    expect(together(delta({ content: 'a' }), { choices: [] }).state).toBe(chatStart)
  })
})

describe('a body that does not stream', () => {
  it('gives the same events', () => {
    const body = {
      choices: [{ message: { role: 'assistant', content: 'Yes' }, finish_reason: 'length' }],
      usage: { prompt_tokens: 2, completion_tokens: 1 },
    }
    expect(events(readChatBody(JSON.stringify(body)))).toEqual([
      { type: 'text', text: 'Yes' },
      { type: 'usage', usage: { ...zero, input: 2, output: 1 } },
      { type: 'finish', reason: 'length' },
    ])
  })

  it.each(['{"choices":[{"message":{"cont', '[]', '{"status":"ok"}', 'null'])('is a fault for %s', (body) => {
    expect(fault(readChatBody(body))).toMatchObject({ class: 'garbled', retryable: false })
  })

  it('is a fault when it reports an error', () => {
    expect(fault(readChatBody('{"error":{"message":"no","code":"model_not_found"}}'))).toMatchObject({
      class: 'not_found',
      detail: 'no',
    })
  })
})
