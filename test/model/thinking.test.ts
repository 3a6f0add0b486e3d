import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { reasoningOf, textOf, type Message } from '../../src/event/message.ts'
import { assembleAnswer } from '../../src/model/assemble.ts'
import { type Batch, readBatches } from '../../src/model/answer.ts'
import type { ModelEvent } from '../../src/model/provider.ts'
import { anthropicFormat } from '../../src/model/wire/anthropic.ts'
import { chatFormat } from '../../src/model/wire/chat.ts'
import type { WireFormat } from '../../src/model/wire/format.ts'
import { geminiFormat } from '../../src/model/wire/gemini.ts'
import { responsesFormat } from '../../src/model/wire/responses.ts'

interface Wire {
  readonly format: WireFormat
  /** The events of a stream with these pieces of text. */
  readonly stream: (pieces: readonly string[]) => readonly Json[]
  /** A non-streaming answer; undefined if the format has none. */
  readonly body: (text: string) => Json
}

const chat: Wire = {
  format: chatFormat,
  stream: (pieces) => [
    ...pieces.map((content) => ({ choices: [{ index: 0, delta: { content } }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ],
  body: (content) => ({ choices: [{ message: { content }, finish_reason: 'stop' }] }),
}

const item = (text: string): Json => ({
  type: 'message',
  id: 'm',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
})

const responses: Wire = {
  format: responsesFormat,
  stream: (pieces) => [
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta })),
    { type: 'response.output_item.done', output_index: 0, item: item(pieces.join('')) },
    { type: 'response.completed', response: { status: 'completed' } },
  ],
  body: (text) => ({ status: 'completed', output: [item(text)] }),
}

const anthropic: Wire = {
  format: anthropicFormat,
  stream: (pieces) => [
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...pieces.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ],
  body: (text) => ({ type: 'message', content: [{ type: 'text', text }], stop_reason: 'end_turn' }),
}

const candidate = (text: string, finishReason?: string): Json => ({
  candidates: [{ content: { parts: [{ text }] }, ...(finishReason === undefined ? {} : { finishReason }) }],
})

const gemini: Wire = {
  format: geminiFormat,
  stream: (pieces) => pieces.map((text, index) => candidate(text, index === pieces.length - 1 ? 'STOP' : undefined)),
  body: (text) => candidate(text, 'STOP'),
}

const wires: Readonly<Record<string, Wire>> = { chat, responses, anthropic, gemini }

function messageOf(...batches: readonly Batch[]): Message {
  const assembly = assembleAnswer()
  for (const { events, fault } of batches) {
    expect(fault).toBeUndefined()
    for (const event of events) assembly.add(event)
  }
  return { role: 'assistant', parts: assembly.answer().parts }
}

/** Each event is a separate read, as when the user watches. */
function streamed({ format, stream }: Wire, pieces: readonly string[]): Message {
  const answer = readBatches(format)
  const batches = stream(pieces).map((event) => {
    return answer.read([{ name: '', data: JSON.stringify(event), complete: true }])
  })
  return messageOf(...batches, answer.end())
}

function whole({ format, body }: Wire, text: string): Message {
  return messageOf(readBatches(format).readBody(JSON.stringify(body(text))))
}

function split(text: string, at: number): readonly string[] {
  return [text.slice(0, at), text.slice(at)].filter((piece) => piece !== '')
}

const cases: readonly (readonly [string, string, string])[] = [
  ['<think>hm</think>\n\nanswer', 'hm', 'answer'],
  [
    '\n <thinking>\nfirst\n\n<FILE_CHANGES>\n</think>\n</thinking>\nanswer <think>x</think>\n',
    'first\n\n<FILE_CHANGES>\n</think>',
    'answer <think>x</think>\n',
  ],
  ['<think></think>answer', '', 'answer'],
  ['<think>\n\n</think>\n\n  ', '', ''],
  ['<think>it never ends', '', '<think>it never ends'],
  ['\n<think>it never <b>ends</b> </thin', '', '\n<think>it never <b>ends</b> </thin'],
  ['a <think>it never ends', '', 'a <think>it never ends'],
  ['<thinker>no', '', '<thinker>no'],
  ['  plain <think>a</think>', 'a', '  plain '],
  ['a <think>hm</think> b', 'hm', 'a b'],
  ['a\n<think>\nhm\n</think>\n\nb <think>c</think>', 'hm', 'a\nb <think>c</think>'],
  ['hm\n</think>\n\nanswer', 'hm', 'answer'],
  ['first <b>a</b>, then b</thinking>answer </think>', 'first <b>a</b>, then b', 'answer </think>'],
  ['they said "no"</think>answer', 'they said "no"', 'answer'],
  ['</think>\nanswer', '', 'answer'],
  ['hm</think>', 'hm', ''],
  ['a < b and </thi', '', 'a < b and </thi'],
  [
    'The tags `<think>` and `</think>` are `x <think>a</think>`.',
    '',
    'The tags `<think>` and `</think>` are `x <think>a</think>`.',
  ],
  ['The tag "<think>" ends with "</think>".', '', 'The tag "<think>" ends with "</think>".'],
  ['So:\n```html\n<think>a</think>\n```\n<think>b</think>c', 'b', 'So:\n```html\n<think>a</think>\n```\nc'],
  ['<FILE_CHANGES>\na <think>b</think>\n</FILE_CHANGES>', '', '<FILE_CHANGES>\na <think>b</think>\n</FILE_CHANGES>'],
  ['try <FILE_CHANGES>x</FILE_CHANGES>\n</think>answer', 'try <FILE_CHANGES>x</FILE_CHANGES>', 'answer'],
  ['<thi', '', '<thi'],
  ['<THINK>a</Think>b', 'a', 'b'],
]

describe.each(Object.entries(wires))('reasoning in the text of an answer, %s', (_, wire) => {
  it.each(cases)('is separated: %j', (text, reasoning, said) => {
    const expected = { reasoning, said }
    const found = (message: Message): typeof expected => ({ reasoning: reasoningOf(message), said: textOf(message) })
    expect(found(whole(wire, text))).toEqual(expected)
    expect(found(streamed(wire, text.split('')))).toEqual(expected)
    for (let at = 1; at < text.length; at += 1) expect(found(streamed(wire, split(text, at)))).toEqual(expected)
  })
})

it.each(['length', 'content_filter'])('truncated reasoning stays reasoning: %s', (reason) => {
  const cut = [
    { choices: [{ delta: { content: '<think>it never' } }] },
    { choices: [{ delta: {}, finish_reason: reason }] },
  ]
  const answer = readBatches(chatFormat)
  const batches = cut.map((event) => answer.read([{ name: '', data: JSON.stringify(event), complete: true }]))
  const message = messageOf(...batches, answer.end())
  expect([reasoningOf(message), textOf(message)]).toEqual(['it never', ''])
})

it('reasoning is shown as it arrives, with at most a tag held back', () => {
  const answer = readBatches(chatFormat)
  const events = chat
    .stream(['<thi', 'nk>a', 'b</', 'i></th', 'ink>\n', 'c', 'd'])
    .map((event): readonly ModelEvent[] => {
      return answer.read([{ name: '', data: JSON.stringify(event), complete: true }]).events
    })
  expect(events.map((batch) => batch.map((event) => ('text' in event ? [event.type, event.text] : [])))).toEqual([
    [],
    [['reasoning', 'a']],
    [['reasoning', 'b']],
    [['reasoning', '</i>']],
    [],
    [['text', 'c']],
    [['text', 'd']],
    [],
  ])
})

it('a second text and the text after a tool call are unchanged', () => {
  const assembly = assembleAnswer()
  const answer = readBatches(chatFormat)
  const call = { tool_calls: [{ index: 0, id: 't', function: { name: 'f', arguments: '{}' } }] }
  for (const delta of [{ content: '<think>a</think>b' }, call, { content: '<think>c</think>' }]) {
    const data = JSON.stringify({ choices: [{ index: 0, delta }] })
    for (const event of answer.read([{ name: '', data, complete: true }]).events) assembly.add(event)
  }
  expect(assembly.answer().parts.map((part) => ('text' in part ? [part.type, part.text] : [part.type]))).toEqual([
    ['reasoning', 'a'],
    ['text', 'b'],
    ['tool_call'],
    ['text', '<think>c</think>'],
  ])
})
