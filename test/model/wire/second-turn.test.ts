import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isObject, type Json, type JsonObject } from '../../../src/base/json.ts'
import { type Message, textMessage, textOf, toolCallsOf } from '../../../src/event/message.ts'
import { assembleAnswer, type ModelAnswer } from '../../../src/model/assemble.ts'
import type { ModelRequest } from '../../../src/model/provider.ts'
import { builtInProviders } from '../../../src/model/builtin.ts'
import { anthropicFormat } from '../../../src/model/wire/anthropic.ts'
import { chatFormat } from '../../../src/model/wire/chat.ts'
import { commonQuirks, type Quirks, type WireFormat } from '../../../src/model/wire/format.ts'
import { geminiFormat } from '../../../src/model/wire/gemini.ts'
import { responsesFormat } from '../../../src/model/wire/responses.ts'
import { callOf, fileOf, messageOf, resultOf } from '../../helpers/messages.ts'
import { readWire } from '../../helpers/wire.ts'

const formats = { anthropic: anthropicFormat, chat: chatFormat, gemini: geminiFormat, responses: responsesFormat }
const tools = ['read', 'list'].map((name) => ({ name, description: name, parameters: { type: 'object' } }))
const asked = textMessage('user', 'Read a and b.')

function streamOf(name: string): string {
  return readFileSync(join(import.meta.dirname, '../fixtures', `${name}.sse`), 'utf8')
}

/** The content of the recorded stream, assembled. */
function answerOf(format: WireFormat, name: string): ModelAnswer {
  const { events, sealed = [], fault } = readWire(format, streamOf(name))
  expect(fault).toBeUndefined()
  const answer = assembleAnswer()
  for (const event of [...events, ...sealed]) answer.add(event)
  return answer.answer()
}

/** The conversation after the recorded answer, with each of its calls answered by a text. */
function conversation({ parts }: ModelAnswer): readonly Message[] {
  const results = toolCallsOf({ parts }).map(({ id, name }) => resultOf(id, `${name} gave`))
  return [asked, { role: 'assistant', parts }, ...results]
}

interface Second {
  readonly model?: string
  readonly quirks?: Partial<Quirks>
  readonly request?: Partial<ModelRequest>
}

function bodyOf(
  format: WireFormat,
  messages: readonly Message[],
  { model = 'm', quirks, request }: Second = {},
): JsonObject {
  return format.body({ model, messages, tools, ...request }, { ...commonQuirks, ...quirks })
}

/** The `data:` objects of a recorded stream. */
function eventsOf(name: string): readonly JsonObject[] {
  const lines = streamOf(name).split('\n')
  const data = lines.flatMap((line) => (line.startsWith('data: {') ? [line.slice(6)] : []))
  return data.map((text) => JSON.parse(text) as JsonObject)
}

/** Compares texts, not only values: signed content must match byte for byte. */
function sameText(found: unknown, expected: Json): void {
  expect(JSON.stringify(found, null, 1)).toBe(JSON.stringify(expected, null, 1))
}

describe('a second turn of a Messages conversation', () => {
  const answer = answerOf(anthropicFormat, 'anthropic')
  const pieces: readonly JsonObject[] = eventsOf('anthropic').flatMap(({ delta }) => (isObject(delta) ? [delta] : []))
  const signature = pieces.find(({ type }) => type === 'signature_delta')?.['signature'] ?? ''
  const redacted = eventsOf('anthropic').find((event) => event['index'] === 1)?.['content_block'] as JsonObject
  const thinking = pieces.map((piece) => (piece['thinking'] as string | undefined) ?? '').join('')

  it('contains the thoughts, the text and the calls unchanged', () => {
    expect(answer.parts.map(({ type }) => type)).toEqual(['reasoning', 'reasoning', 'text', 'tool_call', 'tool_call'])
    const { messages } = bodyOf(anthropicFormat, conversation(answer)) as { messages: readonly JsonObject[] }
    sameText(messages[1], {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking, signature },
        redacted,
        { type: 'text', text: "I'll read both files – now." },
        {
          type: 'tool_use',
          id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6',
          name: 'read',
          input: { path: 'src/a‑ü.ts', limit: 20 },
        },
        { type: 'tool_use', id: 'toolu_01Sk2hBGm8aPqPYeQ3QuQ5jX', name: 'list', input: {} },
      ],
    })
    sameText(messages[2], {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', content: 'read gave' },
        {
          type: 'tool_result',
          tool_use_id: 'toolu_01Sk2hBGm8aPqPYeQ3QuQ5jX',
          content: 'list gave',
          cache_control: { type: 'ephemeral' },
        },
      ],
    })
  })

  it('continues thinking with a budget, because the API otherwise receives the thought it requires', () => {
    const model = 'claude-sonnet-4-5'
    const request = { reasoning_effort: 'high' }
    const messages = conversation(answer)
    expect(bodyOf(anthropicFormat, messages, { model, request })).toHaveProperty('thinking.type', 'enabled')
    const later = [...messages, messageOf('assistant', '', callOf('c9', 'list', '{}')), resultOf('c9', 'none')]
    expect(bodyOf(anthropicFormat, later, { model, request })).toHaveProperty('thinking.type', 'enabled')
    const foreign = [...messages, asked, messageOf('assistant', '', callOf('c9', 'list', '{}')), resultOf('c9', 'none')]
    expect(bodyOf(anthropicFormat, foreign, { model, request })).not.toHaveProperty('thinking')
  })

  it('has no cache mark on a thought, and no thoughts for a model without thinking', () => {
    const thought = { role: 'assistant', parts: answer.parts.slice(0, 1), cache: true } as const
    const marked = [asked, { ...thought, parts: [...answer.parts.slice(2, 3), ...thought.parts] } as const]
    expect(bodyOf(anthropicFormat, marked)).toMatchObject({
      messages: [{}, { content: [{ type: 'text', cache_control: { type: 'ephemeral' } }, { type: 'thinking' }] }],
    })
    const old = bodyOf(anthropicFormat, [asked, thought], { model: 'claude-3-5-haiku-latest' })
    expect(old['messages']).toHaveLength(1)
  })
})

describe('a second turn of a Gemini conversation', () => {
  const parts = eventsOf('gemini').flatMap((event) => {
    const [candidate] = event['candidates'] as readonly {
      readonly content: { readonly parts: readonly JsonObject[] }
    }[]
    return candidate?.content.parts ?? []
  })

  it('contains every part unchanged, pieces of one text together, signatures at their parts', () => {
    const messages = conversation(answerOf(geminiFormat, 'gemini'))
    const { contents } = bodyOf(geminiFormat, messages, { model: 'gemini-3.1-pro-preview' }) as {
      contents: readonly JsonObject[]
    }
    sameText(contents[1], {
      role: 'model',
      parts: [
        { text: '**Reading**\n\nTwo files are named. Both “at once”.', thought: true },
        { text: 'I read both – now.' },
        ...parts.slice(4, 6),
      ],
    })
    sameText(contents[2], {
      role: 'user',
      parts: [
        { functionResponse: { name: 'read', id: '8f1b2a3c', response: { output: 'read gave' } } },
        { functionResponse: { name: 'list', id: '9c0d1e2f', response: { output: 'list gave' } } },
      ],
    })
  })

  it('contains a signature that came in a separate part', () => {
    const { contents } = bodyOf(geminiFormat, [...conversation(answerOf(geminiFormat, 'gemini-text')), asked]) as {
      contents: readonly JsonObject[]
    }
    sameText(contents[1], {
      role: 'model',
      parts: [
        { text: 'Both files ', thought: true },
        { text: 'Both export one function.' },
        { text: '', thoughtSignature: 'EhYKFDQuNl+cTLkDwW1sQ0qnGXQ3bGVhdmU=' },
      ],
    })
  })

  it('has no name for a call that the model has not named', () => {
    const messages = conversation(answerOf(geminiFormat, 'gemini-2.5'))
    const { contents } = bodyOf(geminiFormat, messages, { model: 'gemini-3.8-flash' }) as {
      contents: readonly JsonObject[]
    }
    sameText(contents[1], {
      role: 'model',
      parts: [
        {
          functionCall: { name: 'read', args: { path: 'src/a.ts' } },
          thoughtSignature: 'EhYKFDQuNl+cTLkDwW1sQ0qnGXQ3bGVhdmU=',
        },
        { functionCall: { name: 'list' } },
      ],
    })
    sameText(contents[2]?.['parts'], [
      { functionResponse: { name: 'read', response: { output: 'read gave' } } },
      { functionResponse: { name: 'list', response: { output: 'list gave' } } },
    ])
  })
})

describe('a second turn of a Responses conversation', () => {
  const answer = answerOf(responsesFormat, 'responses')
  const items = eventsOf('responses').flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []))
  const whole = eventsOf('responses').at(-1)?.['response'] as JsonObject

  function inputOf(messages: readonly Message[]): readonly Json[] {
    return bodyOf(responsesFormat, messages)['input'] as readonly Json[]
  }

  it('contains every item in its final state, with its id and encrypted reasoning', () => {
    expect(answer.parts.map(({ type }) => type)).toEqual(['reasoning', 'text', 'reasoning', 'tool_call', 'tool_call'])
    const [, ...input] = inputOf(conversation(answer))
    sameText(input.slice(0, items.length), items as readonly Json[])
    sameText(input.slice(items.length), [
      { type: 'function_call_output', call_id: 'call_dYyBT1yWq4gLgRZxkmXxdFPE', output: 'read gave' },
      { type: 'function_call_output', call_id: 'call_Zk3nTz9bqTnFq0yG0cQH7gXW', output: 'list gave' },
    ])
  })

  it('is the same when the items came only in one piece', () => {
    const late = assembleAnswer()
    const completed = `data: ${JSON.stringify({ type: 'response.completed', response: whole })}\n\n`
    const { events, sealed = [] } = readWire(responsesFormat, completed)
    for (const event of [...events, ...sealed]) late.add(event)
    expect(inputOf(conversation(late.answer()))).toEqual(inputOf(conversation(answer)))
  })

  it('stores a text only once in its record', () => {
    expect(JSON.stringify(answer).split('I read both – now.')).toHaveLength(2)
    expect(JSON.stringify(answer).split('src/a‑ü.ts')).toHaveLength(2)
  })

  it('omits reasoning without its content, and the ids that would refer to it', () => {
    const bare = answer.parts.map((part) => {
      const data = part.provider?.data as JsonObject | undefined
      return part.type === 'reasoning' && data !== undefined
        ? { ...part, provider: { format: 'responses', data: { ...data, encrypted_content: null } } as const }
        : part
    })
    const sent = inputOf([asked, { role: 'assistant', parts: bare }]).slice(1) as readonly JsonObject[]
    expect(sent.map(({ type, id }) => [type, id])).toEqual([
      ['message', undefined],
      ['function_call', undefined],
      ['function_call', undefined],
    ])
  })

  it('omits reasoning that nothing follows', () => {
    expect(inputOf([asked, { role: 'assistant', parts: answer.parts.slice(0, 3) }])).toHaveLength(3)
    expect(inputOf([asked, { role: 'assistant', parts: answer.parts.slice(0, 1) }])).toHaveLength(1)
  })

  it('requests encrypted reasoning only from OpenAI models that reason', () => {
    const quirks = builtInProviders['openai']?.quirks ?? commonQuirks
    const includes = (model: string): unknown => bodyOf(responsesFormat, [asked], { model, quirks })['include']
    for (const model of ['gpt-5', 'gpt-6-sol', 'o4-mini', 'codex-mini-latest', 'ft:gpt-5:me']) {
      expect(includes(model)).toEqual(['reasoning.encrypted_content'])
    }
    for (const model of ['gpt-4.1', 'gpt-3.5-turbo', 'chatgpt-4o-latest', 'gpt-5.1-chat-latest', 'ft:gpt-4o-mini:me']) {
      expect(includes(model)).toBeUndefined()
    }
    expect(bodyOf(responsesFormat, [asked], { model: 'gpt-5' })).not.toHaveProperty('include')
  })
})

describe('a second turn of a chat completion', () => {
  function messagesOf(name: string, quirks: Partial<Quirks> = {}): readonly JsonObject[] {
    const messages = conversation(answerOf(chatFormat, name))
    return bodyOf(chatFormat, messages, { quirks })['messages'] as readonly JsonObject[]
  }

  const read = {
    id: 'call_00_XyIXn6pWrgr0wMqFqAK4GjWT',
    type: 'function',
    function: { name: 'read', arguments: '{"path": "src/a‑ü.ts", "limit":20}' },
  }
  const list = {
    id: 'call_01_b9Bq5tC0cmY7y1Yq2X3xZw4R',
    type: 'function',
    function: { name: 'list', arguments: '{}' },
  }

  it('contains calls with their arguments as the model wrote them, and reasoning if the host requires it', () => {
    const said = { role: 'assistant', content: 'I read both – now.' }
    const reasoning = { reasoning_content: 'Two files are “named”.\n\nBoth.' }
    const quirks = builtInProviders['deepseek']?.quirks ?? commonQuirks
    sameText(messagesOf('chat-deepseek', quirks)[1], { ...said, ...reasoning, tool_calls: [read, list] })
    sameText(messagesOf('chat-deepseek')[1], { ...said, tool_calls: [read, list] })
  })

  it('contains signed reasoning assembled from its pieces, except for hosts that refuse it', () => {
    const details = eventsOf('chat-openrouter').flatMap(({ choices }) => {
      const [choice] = choices as readonly { readonly delta: { readonly reasoning_details?: readonly JsonObject[] } }[]
      return choice?.delta.reasoning_details ?? []
    })
    const { signature } = details[2] ?? {}
    const [, message] = messagesOf('chat-openrouter')
    sameText(message?.['reasoning_details'], [
      { ...details[0], text: 'Two files are “named”.', signature: signature ?? '' },
      details[3] ?? {},
    ])
    expect(messagesOf('chat-openrouter', { replaysReasoning: 'none' })[1]).not.toHaveProperty('reasoning_details')
  })

  it('contains additional data of a host about a call', () => {
    const [chunk] = eventsOf('chat-gemini') as readonly { readonly choices: readonly JsonObject[] }[]
    const delta = chunk?.choices[0]?.['delta'] as JsonObject | undefined
    expect(messagesOf('chat-gemini')[1]?.['tool_calls']).toEqual(delta?.['tool_calls'] ?? 'no calls')
  })

  it('contains the files of a tool after all results, and reports failures', () => {
    const image = fileOf('a.png', 'image/png', 'AAAA')
    const failed: Message = {
      role: 'tool',
      parts: [{ type: 'tool_result', id: 'c2', is_error: true, parts: [{ type: 'text', text: 'no such file' }] }],
    }
    const calls = [callOf('c1', 'read', '{}'), callOf('c2', 'read', '{}')]
    const messages = [asked, messageOf('assistant', '', ...calls), resultOf('c1', 'Here', image), failed, asked]
    expect(bodyOf(chatFormat, messages)['messages']).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      { role: 'tool', tool_call_id: 'c1', content: 'Here\n(a.png: see the next message)' },
      { role: 'tool', tool_call_id: 'c2', content: 'Error: no such file' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
      { role: 'user' },
    ])
  })
})

describe('a conversation that continues in another format', () => {
  const recorded = [
    ['anthropic', 'anthropic'],
    ['chat', 'chat-deepseek'],
    ['chat', 'chat-openrouter'],
    ['gemini', 'gemini'],
    ['responses', 'responses'],
  ] as const
  const switches = recorded.flatMap(([from, name]) => {
    const others = Object.values(formats).filter((format) => format.name !== from)
    return others.map((to) => [name, formats[from], to] as const)
  })

  it.each(switches)(
    'contains what %s said in its own format, and nothing that only the other supports',
    (name, from, to) => {
      const answer = answerOf(from, name)
      const body = bodyOf(to, conversation(answer), { model: 'gemini-3.8-flash', quirks: { replaysReasoning: 'text' } })
      const text = JSON.stringify(body)
      expect(text).toContain(textOf(answer))
      for (const { id, name: tool } of toolCallsOf(answer)) {
        expect(text).toContain(id)
        expect(text).toContain(`${tool} gave`)
      }
      // reasoning, its signatures and encrypted contents
      expect(text).not.toMatch(/Two files|Reading|EqQBC|EmwKA|gAAAA|CtQBA|rs_68|fc_68|"thought"|encrypted/)
    },
  )

  it('tells a Gemini model that its calls are not signed', () => {
    const messages = conversation(answerOf(anthropicFormat, 'anthropic'))
    const { contents } = bodyOf(geminiFormat, messages, { model: 'gemini-3.8-flash' }) as { contents: readonly Json[] }
    expect(contents[1]).toMatchObject({
      parts: [
        { text: "I'll read both files – now." },
        { functionCall: { name: 'read' }, thoughtSignature: 'skip_thought_signature_validator' },
        { functionCall: { name: 'list' } },
      ],
    })
  })

  it('can return to the signatures of the first one', () => {
    const first = conversation(answerOf(anthropicFormat, 'anthropic'))
    const second = conversation(answerOf(geminiFormat, 'gemini')).slice(1)
    const { messages } = bodyOf(anthropicFormat, [...first, ...second]) as { messages: readonly JsonObject[] }
    const [, one, , two] = messages
    expect(one?.['content']).toMatchObject([{ type: 'thinking' }, { type: 'redacted_thinking' }, {}, {}, {}])
    expect(two?.['content']).toMatchObject([{ type: 'text' }, { type: 'tool_use' }, { type: 'tool_use' }])
  })
})

describe('a conversation with calls of tools that are no longer offered', () => {
  const failed: Message = {
    role: 'tool',
    parts: [{ type: 'tool_result', id: 'c2', is_error: true, parts: [{ type: 'text', text: 'too late' }] }],
  }
  const messages = [
    asked,
    messageOf('assistant', 'I look.', callOf('c1', 'read', '{"a":1}'), callOf('c2', 'list', '{}')),
    resultOf('c1', 'text of a'),
    failed,
    textMessage('user', 'Sum it up.'),
  ]

  it.each(Object.values(formats))('keeps them in a request of the format $name', (format) => {
    const text = JSON.stringify(bodyOf(format, messages, { request: { tools: [] } }))
    for (const said of ['I look.', 'c1', 'c2', 'read', 'list', 'text of a', 'too late', 'Sum it up.']) {
      expect(text).toContain(said)
    }
  })

  it('names the tools to the Messages API, which refuses their calls otherwise, but forbids calling them', () => {
    expect(bodyOf(anthropicFormat, messages, { request: { tools: [] } })).toMatchObject({
      tools: [{ name: 'read' }, { name: 'list' }],
      tool_choice: { type: 'none' },
    })
    expect(bodyOf(anthropicFormat, messages)).not.toHaveProperty('tool_choice')
  })

  it('reports failures in the notation of each format', () => {
    const outputs = (format: WireFormat): string => JSON.stringify(bodyOf(format, messages))
    expect(outputs(anthropicFormat)).toContain('"content":"too late","is_error":true')
    expect(outputs(geminiFormat)).toContain('"response":{"error":"too late"}')
    expect(outputs(responsesFormat)).toContain('"output":"Error: too late"')
    expect(outputs(chatFormat)).toContain('"content":"Error: too late"')
  })
})

describe('a conversation with calls whose arguments are broken', () => {
  /** The arguments of the first call in a request. */
  const argumentsIn: Readonly<Record<keyof typeof formats, (body: JsonObject) => unknown>> = {
    anthropic: (body) => find(body, 'input'),
    chat: (body) => JSON.parse(String(find(body, 'arguments'))) as unknown,
    gemini: (body) => find(body, 'args'),
    responses: (body) => JSON.parse(String(find(body, 'arguments'))) as unknown,
  }

  function find(value: Json | undefined, key: string): Json | undefined {
    if (Array.isArray(value)) {
      return (value as readonly Json[]).map((one) => find(one, key)).find((found) => found !== undefined)
    }
    if (!isObject(value)) return undefined
    const fields = value as JsonObject
    return key in fields && key !== 'parameters' ? fields[key] : find(Object.values(fields), key)
  }

  const names = Object.keys(formats) as (keyof typeof formats)[]
  const written: readonly (readonly [string, JsonObject])[] = [
    ['{"path": "a.t', { invalid_json: '{"path": "a.t' }],
    ['{"a":1}}', { invalid_json: '{"a":1}}' }],
    ['a.txt', { invalid_json: 'a.txt' }],
    ['"a.txt"', { invalid_json: '"a.txt"' }],
    ['[1]', { invalid_json: '[1]' }],
    ['null', { invalid_json: 'null' }],
    ['', {}],
    ['{"a": 1}', { a: 1 }],
  ]

  it.each(names.flatMap((name) => written.map(([input, sent]) => [name, input, sent] as const)))(
    'sends an object in the format %s for %j',
    (name, input, sent) => {
      const messages = [asked, messageOf('assistant', '', callOf('c1', 'read', input)), resultOf('c1', 'Invalid JSON')]
      const { tools: _, ...body } = bodyOf(formats[name], messages)
      expect(argumentsIn[name](body)).toEqual(sent)
    },
  )

  it.each(names)('uses a placeholder name for a call without a name in the format %s', (name) => {
    const messages = [asked, messageOf('assistant', '', callOf('c1', '', '{"a":1}')), resultOf('c1', 'no such tool')]
    expect(JSON.stringify(bodyOf(formats[name], messages))).toContain('"name":"unnamed"')
  })
})
