import { callOf, fileOf, messageOf, resultOf } from '../../helpers/messages.ts'
import { describe, expect, it } from 'vitest'
import { type Message, textMessage } from '../../../src/event/message.ts'
import type { ModelRequest } from '../../../src/model/provider.ts'
import { commonQuirks, type Quirks } from '../../../src/model/wire/format.ts'
import { responsesFormat } from '../../../src/model/wire/responses.ts'

const hello: readonly Message[] = [textMessage('user', 'Hello')]
const open = { type: 'object', properties: { a: { type: 'string' } } }
const closed = { ...open, required: ['a'], additionalProperties: false }

function body(request: Partial<ModelRequest>, quirks: Partial<Quirks> = {}): unknown {
  return responsesFormat.body({ model: 'gpt-5', messages: hello, ...request }, { ...commonQuirks, ...quirks })
}

describe('a Responses request', () => {
  it('goes to /responses', () => {
    expect(responsesFormat.path({ model: 'gpt-5', messages: hello })).toBe('/responses')
  })

  it('contains the model and the messages, stores nothing, and leaves all other settings to the server', () => {
    expect(body({})).toEqual({
      model: 'gpt-5',
      input: [{ role: 'user', content: 'Hello' }],
      stream: true,
      store: false,
    })
  })

  it('contains every given setting, except a seed, which this API does not support', () => {
    const request = {
      temperature: 0.2,
      top_p: 0.9,
      max_tokens: 500,
      reasoning_effort: 'low',
      reasoning_summary: 'concise',
      seed: 7,
      tools: [{ name: 'read', description: 'Reads a file.', parameters: open }],
      output: { name: 'answer', schema: closed },
    }
    expect(body(request)).toEqual({
      model: 'gpt-5',
      input: [{ role: 'user', content: 'Hello' }],
      stream: true,
      store: false,
      max_output_tokens: 500,
      temperature: 0.2,
      top_p: 0.9,
      reasoning: { effort: 'low', summary: 'concise' },
      text: { format: { type: 'json_schema', name: 'answer', schema: closed, strict: true } },
      tools: [{ type: 'function', name: 'read', description: 'Reads a file.', parameters: open, strict: false }],
    })
  })

  it.each(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])('sets the effort %s', (effort) => {
    expect(body({ reasoning_effort: effort })).toHaveProperty('reasoning', { effort })
  })

  it.each(['auto', 'concise', 'detailed'])('requests a summary of the kind %s', (summary) => {
    expect(body({ reasoning_summary: summary })).toHaveProperty('reasoning', { summary })
  })

  it('requests no summary when the kind is none, and no reasoning if the host has none', () => {
    expect(body({ reasoning_summary: 'none' })).not.toHaveProperty('reasoning')
    expect(body({ reasoning_effort: 'low' }, { reasoning: 'none' })).not.toHaveProperty('reasoning')
  })

  it('has a cache key for its beginning, the same for every request with the same beginning', () => {
    function key(...messages: readonly Message[]): unknown {
      return (body({ messages }) as { prompt_cache_key?: unknown }).prompt_cache_key
    }
    const shared: Message = { ...textMessage('user', 'Long'), cache: true }
    expect(key(shared, ...hello)).toMatch(/^[0-9a-f]{32}$/)
    expect(key(shared, textMessage('user', 'Other'))).toBe(key(shared, ...hello))
    expect(key({ ...shared, ...textMessage('user', 'Longer') }, ...hello)).not.toBe(key(shared, ...hello))
    expect(body({ messages: hello })).not.toHaveProperty('prompt_cache_key')
  })

  it('sends a schema loosely that strict mode would refuse', () => {
    expect(body({ output: { name: 'answer', schema: open } })).toHaveProperty('text.format.strict', false)
  })

  it('describes a schema in words if the host cannot enforce it, with or without JSON mode', () => {
    const output = { name: 'answer', schema: open }
    const item = { role: 'system', content: expect.stringContaining(JSON.stringify(open)) as string }
    expect(body({ output }, { structured: 'json' })).toMatchObject({
      text: { format: { type: 'json_object' } },
      input: [{ role: 'user', content: 'Hello' }, item],
    })
    expect(body({ output }, { structured: 'none' })).toMatchObject({
      input: [{ role: 'user', content: 'Hello' }, item],
    })
    expect(body({ output }, { structured: 'none' })).not.toHaveProperty('text')
  })
})

describe('the messages of a Responses request', () => {
  it('begin with the first system messages as instructions; later ones stay in place', () => {
    const messages: Message[] = [
      textMessage('system', 'Be brief.'),
      textMessage('system', 'Be kind.'),
      textMessage('user', 'Hi'),
      textMessage('assistant', 'Hello'),
      textMessage('system', 'Be formal.'),
      { ...textMessage('user', 'Go on'), name: 'ada' },
    ]
    expect(body({ messages })).toMatchObject({
      instructions: 'Be brief.\n\nBe kind.',
      input: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello' },
        { role: 'system', content: 'Be formal.' },
        { role: 'user', content: 'ada: Go on' },
      ],
    })
  })

  it('contain tool calls and their results as separate items', () => {
    const messages: Message[] = [
      messageOf('assistant', '', callOf('c1', 'read', '{"a":1}')),
      resultOf('c1', 'text'),
      messageOf('assistant', 'And', callOf('c2', 'read', '{"a":')),
      resultOf('c2', 'no JSON'),
    ]
    expect(body({ messages })).toHaveProperty('input', [
      { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: 'c1', output: 'text' },
      { role: 'assistant', content: 'And' },
      { type: 'function_call', call_id: 'c2', name: 'read', arguments: '{"invalid_json":"{\\"a\\":"}' },
      { type: 'function_call_output', call_id: 'c2', output: 'no JSON' },
    ])
  })

  it('contain images and documents next to their text', () => {
    const messages: Message[] = [
      messageOf('user', 'See', fileOf('a.png', 'image/png', 'AAA=')),
      messageOf('user', '', fileOf('a.pdf', 'application/pdf', 'BBB=')),
    ]
    expect(body({ messages })).toHaveProperty('input', [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'See' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAA=', detail: 'auto' },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBB=' }],
      },
    ])
  })
})
