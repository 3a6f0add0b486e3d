import type { Json, JsonObject } from '../../src/base/json.ts'
import type { WireFormatName } from '../../src/event/message.ts'
import { chatEvents } from './model-server.ts'
import { sseText } from './wire.ts'

/** One answer of a scripted conversation, and what every later request must contain of it. */
export interface ScriptedTurn {
  /** The body of the answer. */
  readonly stream: string
  /** The items by which later requests represent it, byte for byte. */
  readonly items: readonly JsonObject[]
  readonly calls: readonly ScriptedCall[]
}

interface ScriptedCall {
  /** What the result must name: the id of the call, or its name if the model uses no ids. */
  readonly key: string
  readonly name: string
  readonly input: string
}

/** What differs between turns: every format builds its stream from it. */
interface Plan {
  readonly turn: number
  readonly thought: string
  /** Empty for every second turn. */
  readonly text: string
  readonly calls: readonly { readonly id: string; readonly input: JsonObject }[]
  /** Different for every turn, like real signatures. */
  readonly signature: string
}

/** The answers of a conversation: one to three calls of the tool `read` in each, and a text in the last one. */
export function scriptedTurns(format: WireFormatName, count: number): readonly ScriptedTurn[] {
  return Array.from({ length: count }, (_, turn) => turnOf[format](planOf(turn, turn === count - 1 ? 'last' : 'other')))
}

function planOf(turn: number, place: 'last' | 'other'): Plan {
  const calls = Array.from({ length: place === 'last' ? 0 : (turn % 3) + 1 }, (_, index) => ({
    id: `call_${turn}_${index}`,
    input: { path: `turn-${turn}-call-${index}.txt`, note: 'ü "q" \n' },
  }))
  const text = place === 'last' ? 'All files are read.' : turn % 2 === 0 ? `I read in turn ${turn}. ` : ''
  const signature = Buffer.from(`signature of turn ${turn} ${'x'.repeat(turn % 7)}`).toString('base64')
  return { turn, thought: `Turn ${turn}:\n\n“think”.`, text, calls, signature }
}

const turnOf: Readonly<Record<WireFormatName, (plan: Plan) => ScriptedTurn>> = {
  chat: chatTurn,
  responses: responsesTurn,
  anthropic: anthropicTurn,
  gemini: geminiTurn,
}

/** Model output arrives in pieces that can end anywhere. */
function pieces(text: string): readonly string[] {
  return text.match(/[^]{1,7}/g) ?? []
}

/** JSON as a model writes it: with whitespace that no serializer would produce. */
function written(input: JsonObject): string {
  return JSON.stringify(input, null, 1).replaceAll('\n', ' ')
}

function chatTurn({ thought, text, calls }: Plan): ScriptedTurn {
  const toolCalls = calls.map(({ id, input }) => ({ id, name: 'read', pieces: ['', ...pieces(written(input))] }))
  const events = chatEvents({
    reasoning: pieces(thought),
    chunks: pieces(text),
    toolCalls,
    finish: calls.length === 0 ? 'stop' : 'tool_calls',
  })
  const asked = calls.map(({ id, input }) => {
    return { id, type: 'function', function: { name: 'read', arguments: written(input) } }
  })
  const content = text === '' ? null : text
  const message = { role: 'assistant', content, reasoning_content: thought }
  return {
    stream: events.join(''),
    items: [asked.length === 0 ? message : { ...message, tool_calls: asked }],
    calls: calls.map(({ id, input }) => ({ key: id, name: 'read', input: written(input) })),
  }
}

function responsesTurn({ turn, thought, text, calls, signature }: Plan): ScriptedTurn {
  const summary = turn % 5 === 0 ? [] : [{ type: 'summary_text', text: thought }]
  const reasoning = { id: `rs_${turn}`, type: 'reasoning', encrypted_content: signature, summary }
  const content = [{ type: 'output_text', annotations: [], logprobs: [], text }]
  const message = { id: `msg_${turn}`, type: 'message', status: 'completed', content, role: 'assistant' }
  const called = calls.map(({ id, input }, index) => {
    const item = { id: `fc_${turn}_${index}`, type: 'function_call', status: 'completed' }
    return { ...item, arguments: written(input), call_id: id, name: 'read' }
  })
  const items: readonly JsonObject[] = [reasoning, ...(text === '' ? [] : [message]), ...called]
  const events = items.flatMap((item, index) => itemEvents(item, index))
  const usage = { input_tokens: 10, output_tokens: 10 }
  const response = { id: `resp_${turn}`, status: 'completed', output: items, usage }
  return {
    stream: sseText(
      { type: 'response.created', response: { id: `resp_${turn}`, status: 'in_progress', output: [] } },
      ...events,
      { type: 'response.completed', response },
    ),
    items,
    calls: calls.map(({ id, input }) => ({ key: id, name: 'read', input: written(input) })),
  }
}

/** The stream events of an item of a response. */
function itemEvents(item: JsonObject, index: number): readonly JsonObject[] {
  const at = { output_index: index, item_id: item['id'] ?? '' }
  const event = (type: string, more: JsonObject): JsonObject => ({ type: `response.${type}`, ...at, ...more })
  const begun = { ...item, status: 'in_progress', summary: [], content: [], arguments: '', encrypted_content: 'begun' }
  const text = (item['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text ?? ''
  const thoughts = (item['summary'] as readonly { readonly text: string }[] | undefined) ?? []
  return [
    event('output_item.added', { item: begun }),
    ...thoughts.flatMap((thought) => [
      event('reasoning_summary_part.added', { summary_index: 0, part: { type: 'summary_text', text: '' } }),
      ...pieces(thought.text).map((delta) => event('reasoning_summary_text.delta', { summary_index: 0, delta })),
    ]),
    ...pieces(text).map((delta) => event('output_text.delta', { content_index: 0, delta })),
    ...pieces(String(item['arguments'] ?? '')).map((delta) => event('function_call_arguments.delta', { delta })),
    event('output_item.done', { item }),
  ]
}

function anthropicTurn({ turn, thought, text, calls, signature }: Plan): ScriptedTurn {
  const redacted = turn % 5 === 0 ? [{ type: 'redacted_thinking', data: `${signature}r` }] : []
  const said = text === '' ? [] : [{ type: 'text', text }]
  const used = calls.map(({ id, input }) => ({ type: 'tool_use', id, name: 'read', input }))
  const items: readonly JsonObject[] = [
    { type: 'thinking', thinking: thought, signature },
    ...redacted,
    ...said,
    ...used,
  ]
  const reason = calls.length === 0 ? 'end_turn' : 'tool_use'
  return {
    stream: sseText(
      { type: 'message_start', message: { id: `msg_${turn}`, usage: { input_tokens: 10 } } },
      ...items.flatMap((item, index) => blockEvents(item, index)),
      { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 10 } },
      { type: 'message_stop' },
    ),
    items,
    calls: calls.map(({ id, input }) => ({ key: id, name: 'read', input: written(input) })),
  }
}

/** The stream events of a block of a message. */
function blockEvents(block: JsonObject, index: number): readonly JsonObject[] {
  const delta = (more: JsonObject): JsonObject => ({ type: 'content_block_delta', index, delta: more })
  const deltas: Readonly<Record<string, () => readonly JsonObject[]>> = {
    thinking: () => [
      ...pieces(String(block['thinking'])).map((thinking) => delta({ type: 'thinking_delta', thinking })),
      delta({ type: 'signature_delta', signature: block['signature'] ?? '' }),
    ],
    text: () => pieces(String(block['text'])).map((text) => delta({ type: 'text_delta', text })),
    tool_use: () =>
      ['', ...pieces(written(block['input'] as JsonObject))].map((partial_json) =>
        delta({ type: 'input_json_delta', partial_json }),
      ),
  }
  const empty = { thinking: { thinking: '', signature: '' }, text: { text: '' }, tool_use: { input: {} } }
  const type = String(block['type'])
  const content_block = { ...block, ...empty[type as keyof typeof empty] }
  return [
    { type: 'content_block_start', index, content_block },
    ...(deltas[type]?.() ?? []),
    { type: 'content_block_stop', index },
  ]
}

/** Gemini signs the first call of an answer, or its end; some of its models give their calls no ids. */
function geminiTurn({ turn, thought, text, calls, signature }: Plan): ScriptedTurn {
  const isNamed = turn % 4 !== 0
  const signed = { thoughtSignature: signature }
  const called = calls.map(({ id, input }, index) => ({
    functionCall: { ...(isNamed ? { id } : {}), name: 'read', args: input },
    ...(index === 0 ? signed : {}),
  }))
  const ending = calls.length === 0 ? [{ text: '', ...signed }] : []
  const streamed: readonly JsonObject[] = [
    ...pieces(thought).map((piece) => ({ text: piece, thought: true })),
    ...pieces(text).map((piece) => ({ text: piece })),
    ...called,
    ...ending,
  ]
  const chunk = (part: JsonObject, more: JsonObject = {}): JsonObject => ({
    candidates: [{ content: { role: 'model', parts: [part] }, ...more }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10 },
    responseId: `r${turn}`,
  })
  const said: readonly Json[] = text === '' ? [] : [{ text }]
  return {
    stream: sseText(...streamed.map((part) => chunk(part)), chunk({ text: '' }, { finishReason: 'STOP' })),
    items: [{ text: thought, thought: true }, ...said, ...called, ...ending] as readonly JsonObject[],
    calls: calls.map(({ id, input }) => ({ key: isNamed ? id : 'read', name: 'read', input: JSON.stringify(input) })),
  }
}
