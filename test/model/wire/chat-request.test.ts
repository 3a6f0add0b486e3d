import { callOf, fileOf, messageOf, resultOf } from '../../helpers/messages.ts'
import { describe, expect, it } from 'vitest'
import { type Message, textMessage } from '../../../src/event/message.ts'
import type { ModelRequest } from '../../../src/model/provider.ts'
import { chatFormat } from '../../../src/model/wire/chat.ts'
import { commonQuirks, type Quirks } from '../../../src/model/wire/format.ts'

const hello = textMessage('user', 'Hello')
const user = { role: 'user', content: 'Hello' }
const shared = { model: 'm', stream: true, stream_options: { include_usage: true } }

function bodyOf(request: Partial<ModelRequest>, quirks: Partial<Quirks> = {}): unknown {
  return chatFormat.body({ model: 'm', messages: [hello], ...request }, { ...commonQuirks, ...quirks })
}

function messagesOf(messages: readonly Message[], quirks: Partial<Quirks> = {}): unknown {
  return chatFormat.body({ model: 'm', messages }, { ...commonQuirks, ...quirks })['messages']
}

describe('settings', () => {
  it('are sent as given, and nothing else', () => {
    const settings = { temperature: 0.5, top_p: 0.9, max_tokens: 7, reasoning_effort: 'low', seed: 3 }
    expect(bodyOf(settings)).toEqual({ ...shared, messages: [user], ...settings })
    expect(bodyOf({})).toEqual({ ...shared, messages: [user] })
  })

  it('have the output limit under the name of the host', () => {
    expect(bodyOf({ max_tokens: 9 }, { outputLimit: 'max_completion_tokens' })).toEqual({
      ...shared,
      messages: [user],
      max_completion_tokens: 9,
    })
  })

  it('omit what a host refuses', () => {
    const request = { seed: 3, temperature: 1, messages: [{ ...hello, name: 'ann' }] }
    expect(bodyOf(request, { refusesExtras: true })).toEqual({
      model: 'm',
      messages: [user],
      stream: true,
      temperature: 1,
    })
  })

  it.each([
    ['effort', 'xhigh', { reasoning_effort: 'xhigh' }],
    ['effort', 'none', { reasoning_effort: 'none' }],
    ['object', 'high', { reasoning: { effort: 'high' } }],
    ['thinking', 'low', { thinking: { type: 'enabled' }, reasoning_effort: 'low' }],
    ['thinking', 'none', { thinking: { type: 'disabled' } }],
    ['enable', 'medium', { enable_thinking: true }],
    ['enable', 'none', { enable_thinking: false }],
    ['none', 'high', {}],
  ] as const)('set reasoning in the form %s with the effort %s', (reasoning, effort, expected) => {
    expect(bodyOf({ reasoning_effort: effort }, { reasoning })).toEqual({ ...shared, messages: [user], ...expected })
  })
})

describe('tools', () => {
  const parameters = { type: 'object', properties: { path: { type: 'string' } } }

  it('are sent as functions', () => {
    expect(bodyOf({ tools: [{ name: 'read', description: 'Reads', parameters }] })).toEqual({
      ...shared,
      messages: [user],
      tools: [{ type: 'function', function: { name: 'read', description: 'Reads', parameters } }],
    })
    expect(bodyOf({ tools: [] })).not.toHaveProperty('tools')
  })

  const call = callOf('a', 'read', '{"path":"x"}')
  const conversation: readonly Message[] = [
    hello,
    messageOf('assistant', '', call),
    resultOf('a', 'text of x'),
    textMessage('assistant', 'It says…'),
  ]
  const asked = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'read', arguments: '{"path":"x"}' } }],
  }
  const answered = [
    { role: 'tool', content: 'text of x', tool_call_id: 'a' },
    { role: 'assistant', content: 'It says…' },
  ]

  it('are called and answered by id', () => {
    expect(messagesOf(conversation)).toEqual([user, asked, ...answered])
  })

  it('are sent with empty reasoning if the host requires it', () => {
    expect(messagesOf(conversation, { replaysReasoning: 'text' })).toEqual([
      user,
      { ...asked, reasoning_content: '' },
      ...answered,
    ])
  })
})

describe('messages', () => {
  it('have speaker names in the characters that the API accepts', () => {
    expect(messagesOf([{ ...hello, name: 'Ann B. (lead)' }])).toEqual([{ ...user, name: 'Ann_B_lead_' }])
  })

  it('contain images and documents as parts after the text', () => {
    const image = fileOf('a.png', 'image/png', 'AAAA')
    const document = fileOf('a.pdf', 'application/pdf', 'BBBB')
    const text = { type: 'text', text: 'Hello' }
    expect(messagesOf([messageOf('user', 'Hello', image), messageOf('user', 'Hello', document)])).toEqual([
      { role: 'user', content: [text, { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
      {
        role: 'user',
        content: [text, { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' } }],
      },
    ])
  })
})

describe('cache marks', () => {
  const control = { cache_control: { type: 'ephemeral' } }

  function marked(role: Message['role'], content: string): Message {
    return { ...textMessage(role, content), cache: true }
  }

  it('are set on the last part of the message if the host supports them', () => {
    const image = fileOf('a.png', 'image/png', 'AAAA')
    expect(messagesOf([{ ...messageOf('user', 'Hello', image), cache: true }, hello], { cacheMarks: true })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hello' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' }, ...control },
        ],
      },
      user,
    ])
    expect(messagesOf([{ ...hello, cache: true }])).toEqual([user])
  })

  it('are moved by the host itself in conversations with Claude', () => {
    const answered = [hello, textMessage('assistant', 'Hi'), hello]
    const claude = { model: 'anthropic/claude-sonnet-5', messages: answered }
    expect(bodyOf(claude, { cacheMarks: true })).toMatchObject(control)
    expect(bodyOf({ ...claude, messages: [hello] }, { cacheMarks: true })).not.toHaveProperty('cache_control')
    expect(bodyOf({ ...claude, model: 'openai/gpt-6' }, { cacheMarks: true })).not.toHaveProperty('cache_control')
    expect(bodyOf(claude)).not.toHaveProperty('cache_control')
  })

  it('are one fewer where the host adds the newest one', () => {
    const messages = ['1', '2', '3', '4'].map((text) => marked('user', text))
    const claude = {
      model: 'anthropic/claude-sonnet-5',
      messages: [...messages, textMessage('assistant', 'Hi'), hello],
    }
    const { messages: written } = bodyOf(claude, { cacheMarks: true }) as {
      readonly messages: readonly { readonly content: unknown }[]
    }
    expect(written.map(({ content }) => typeof content !== 'string')).toEqual([false, true, true, true, false, false])
  })

  it('are four at most: one of the system, and the last ones of the others', () => {
    const messages = [
      marked('system', 's'),
      marked('user', '1'),
      marked('user', '2'),
      marked('user', '3'),
      marked('user', ''),
      marked('user', '4'),
    ]
    const written = messagesOf(messages, { cacheMarks: true }) as { readonly content: unknown }[]
    expect(written.filter(({ content }) => typeof content !== 'string')).toEqual(
      [
        ['system', 's'],
        ['user', '2'],
        ['user', '3'],
        ['user', '4'],
      ].map(([role, text]) => ({ role, content: [{ type: 'text', text, ...control }] })),
    )
  })
})

describe('the cache key', () => {
  const cacheKey = true

  function keyOf(messages: readonly Message[], model = 'm'): unknown {
    return chatFormat.body({ model, messages }, { ...commonQuirks, cacheKey })['prompt_cache_key']
  }

  const system = textMessage('system', 'Rules')
  const files: Message = { ...textMessage('user', 'Files'), cache: true }

  it('is the same for requests with the same beginning up to the last mark', () => {
    const key = keyOf([system, files, hello])
    expect(key).toMatch(/^[0-9a-f]{32}$/)
    expect(keyOf([system, files, textMessage('user', 'Another')])).toBe(key)
    expect(keyOf([system, { ...files, ...textMessage('user', 'Other files') }, hello])).not.toBe(key)
    expect(keyOf([system, files, hello], 'other')).not.toBe(key)
  })

  it('is that of the system message when nothing is marked, and missing without one', () => {
    expect(keyOf([system, hello])).toBe(keyOf([system, textMessage('user', 'Another')]))
    expect(keyOf([hello])).toBeUndefined()
  })

  it('is not sent to hosts that do not support it', () => {
    expect(bodyOf({ messages: [system, hello] })).not.toHaveProperty('prompt_cache_key')
  })
})

describe('an output schema', () => {
  const open = { type: 'object', properties: { a: { type: 'string' } } }
  const closed = { ...open, required: ['a'], additionalProperties: false }
  const words = expect.stringContaining(JSON.stringify(open)) as string

  it('is enforced by the host, strictly if possible', () => {
    for (const schema of [open, closed]) {
      expect(bodyOf({ output: { name: 'answer', schema } })).toEqual({
        ...shared,
        messages: [user],
        response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: schema === closed } },
      })
    }
  })

  it.each([
    ['json', { response_format: { type: 'json_object' } }],
    ['none', {}],
  ] as const)('is described in words if a host supports %s', (structured, expected) => {
    expect(bodyOf({ output: { name: 'answer', schema: open } }, { structured })).toEqual({
      ...shared,
      messages: [{ role: 'system', content: words }, user],
      ...expected,
    })
  })

  it('is described at the end of an existing system message', () => {
    const system: Message = { ...textMessage('system', 'Rules'), cache: true }
    const output = { name: 'answer', schema: open }
    const quirks = { structured: 'none' } as const
    expect(bodyOf({ messages: [system, hello], output }, quirks)).toMatchObject({
      messages: [{ role: 'system', content: expect.stringMatching(/^Rules\n\n[^]*\{/) as string }, user],
    })
    expect(bodyOf({ messages: [system, hello], output }, { ...quirks, cacheMarks: true })).toMatchObject({
      messages: [
        {
          role: 'system',
          content: [
            { type: 'text', text: 'Rules', cache_control: { type: 'ephemeral' } },
            { type: 'text', text: words },
          ],
        },
        user,
      ],
    })
  })
})
