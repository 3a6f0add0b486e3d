import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/base/json.ts'
import { geminiFormat } from '../../../src/model/wire/gemini.ts'
import { readWire, readWireBody, sseText, textOf } from '../../helpers/wire.ts'

const usageMetadata = {
  promptTokenCount: 100,
  toolUsePromptTokenCount: 5,
  cachedContentTokenCount: 60,
  candidatesTokenCount: 15,
  thoughtsTokenCount: 25,
  totalTokenCount: 145,
}
const counted = { calls: 1, input: 105, output: 40, cached: 60, reasoning: 25 }

function chunk(parts: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return { candidates: [{ content: { role: 'model', parts }, index: 0 }], responseId: 'r1', ...more }
}

function ended(finishReason: string, parts: readonly JsonObject[] = []): JsonObject {
  return { candidates: [{ content: { role: 'model', parts }, finishReason }], responseId: 'r1', usageMetadata }
}

function seal(block: number, part: string, data: JsonObject): object {
  return { type: 'provider', block, part, provider: { format: 'gemini', data } }
}

describe('a Gemini stream', () => {
  it('contains its id, reasoning and text in order, then usage and finish', () => {
    const early = { usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 1 } }
    const stream = sseText(
      chunk([{ text: 'Hm', thought: true }], early),
      chunk([{ text: 'Grüße ' }]),
      chunk([{ text: '🙂' }, { text: '' }]),
      ended('STOP', [{ text: '', thoughtSignature: 'x' }]),
    )
    expect(readWire(geminiFormat, stream)).toEqual({
      events: [
        { type: 'start', id: 'r1' },
        { type: 'reasoning', block: 0, text: 'Hm' },
        { type: 'text', block: 1, text: 'Grüße ' },
        { type: 'text', block: 1, text: '🙂' },
      ],
      sealed: [seal(0, 'reasoning', { thought: true }), seal(2, 'text', { thoughtSignature: 'x' })],
      finish: 'stop',
      usage: counted,
    })
  })

  it('is parsed the same way however it is split', () => {
    const stream = sseText(chunk([{ text: 'Grüße ' }, { text: '🙂' }]), ended('STOP'))
    const whole = readWire(geminiFormat, stream)
    for (const pieceSize of [1, 2, 3, 7, 64]) expect(readWire(geminiFormat, stream, { pieceSize })).toEqual(whole)
  })

  it('is a fault if it is cut before its finish reason', () => {
    const bytes = new TextEncoder().encode(sseText(chunk([{ text: 'Grüße ' }]), chunk([{ text: '🙂' }]), ended('STOP')))
    const end = bytes.length - 2 // the blank line after the last event may be missing
    for (let length = 0; length < end; length += 1) {
      const cut = readWire(geminiFormat, bytes.subarray(0, length))
      expect(cut.fault, `cut after ${length} bytes`).toMatchObject({ class: 'network', retryable: true })
    }
    expect(readWire(geminiFormat, bytes.subarray(0, end))).toMatchObject({ finish: 'stop', usage: counted })
  })

  it('numbers tool calls over all its events and generates missing ids', () => {
    const stream = sseText(
      chunk([
        { text: 'I look.' },
        { functionCall: { name: 'read', args: { a: 1 } }, thoughtSignature: 'x' },
        { functionCall: { id: 'own', name: 'list' } },
      ]),
      ended('STOP', [{ functionCall: { name: 'read', args: { a: 2 } } }]),
    )
    expect(readWire(geminiFormat, stream)).toMatchObject({
      events: [
        { type: 'start', id: 'r1' },
        { type: 'text', text: 'I look.' },
        { type: 'tool_call', block: 1, id: 'call_r1_0', name: 'read', input: '{"a":1}' },
        { type: 'tool_call', block: 2, id: 'own', name: 'list', input: '{}' },
        { type: 'tool_call', block: 3, id: 'call_r1_2', name: 'read', input: '{"a":2}' },
      ],
      finish: 'tool_calls',
    })
  })

  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['MALFORMED_FUNCTION_CALL', 'incomplete'],
    ['UNEXPECTED_TOOL_CALL', 'incomplete'],
    ['OTHER', 'incomplete'],
    ['SOMETHING_NEW', 'other'],
  ])('that stops because of %s ends with %s', (reason, finish) => {
    expect(readWire(geminiFormat, sseText(ended(reason, [{ text: 'Half' }]))).finish).toBe(finish)
  })

  it('keeps the limit as the reason when a tool was called before it', () => {
    const call = { functionCall: { name: 'read', args: {} } }
    expect(readWire(geminiFormat, sseText(chunk([call]), ended('MAX_TOKENS'))).finish).toBe('length')
  })

  it('ends with content_filter and no text when the prompt was blocked', () => {
    const blocked = { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 9 } }
    expect(readWire(geminiFormat, sseText(blocked))).toEqual({
      events: [],
      finish: 'content_filter',
      usage: { calls: 1, input: 9, output: 0, cached: 0, reasoning: 0 },
    })
  })

  it('skips unknown parts and fields, and continues after a finish reason', () => {
    const stream = sseText(
      { modelVersion: 'x', candidates: [] },
      chunk([{ executableCode: { code: 'x' } }, { inlineData: { data: 'x' } }, { text: 'Yes' }]),
      ended('STOP'),
      { responseId: 'r1', usageMetadata: { promptTokenCount: 1 } },
    )
    expect(readWire(geminiFormat, stream)).toMatchObject({
      events: [{ type: 'start' }, { type: 'text', text: 'Yes' }],
      finish: 'stop',
      usage: { input: 1 },
    })
  })

  it('counts nothing when the server counts nothing', () => {
    const end = { candidates: [{ finishReason: 'STOP' }] }
    expect(readWire(geminiFormat, sseText(end)).usage).toBeUndefined()
  })

  it.each([
    [
      { code: 429, message: 'Slow down', status: 'RESOURCE_EXHAUSTED' },
      { class: 'rate_limit', retryable: true },
    ],
    [
      { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' },
      { class: 'unavailable', retryable: true },
    ],
    [
      { code: 400, message: 'No', status: 'INVALID_ARGUMENT' },
      { class: 'invalid_request', retryable: false },
    ],
  ])('fails with the error %s in the middle, after the text before it', (error, fault) => {
    const answer = readWire(geminiFormat, sseText(chunk([{ text: 'Half' }]), { error }, ended('STOP')))
    expect(answer.fault).toMatchObject({ ...fault, detail: error.message })
    expect(textOf(answer.events)).toBe('Half')
  })

  it.each(['{"candidates":', '"text"', '[1]'])('is garbled by the event %s', (data) => {
    const answer = readWire(geminiFormat, sseText(data, ended('STOP')))
    expect(answer.fault).toMatchObject({ class: 'garbled', retryable: false, detail: data })
  })
})

describe('a Gemini answer without streaming', () => {
  const events = [
    { type: 'start', id: 'r1' },
    { type: 'reasoning', block: 0, text: 'Hm' },
    { type: 'text', block: 1, text: 'Yes' },
  ]
  const sealed = [seal(0, 'reasoning', { thought: true })]

  it('produces the same events, as one object or as a list', () => {
    const parts = [{ text: 'Hm', thought: true }, { text: 'Yes' }]
    expect(readWireBody(geminiFormat, ended('STOP', parts))).toEqual({ events, sealed, finish: 'stop', usage: counted })
    expect(readWireBody(geminiFormat, [chunk(parts), ended('STOP')])).toEqual({
      events,
      sealed,
      finish: 'stop',
      usage: counted,
    })
  })

  it('is a fault when it is an error, not an answer or not JSON', () => {
    const error = { error: { code: 500, message: 'Oops', status: 'INTERNAL' } }
    expect(readWireBody(geminiFormat, error).fault).toMatchObject({ class: 'unavailable', detail: 'Oops' })
    expect(readWireBody(geminiFormat, [error]).fault).toMatchObject({ class: 'unavailable', detail: 'Oops' })
    expect(readWireBody(geminiFormat, { hello: 1 }).fault).toMatchObject({ class: 'garbled' })
    expect(readWireBody(geminiFormat, []).fault).toMatchObject({ class: 'garbled' })
    expect(readWireBody(geminiFormat, '[').fault).toMatchObject({ class: 'garbled' })
  })
})
