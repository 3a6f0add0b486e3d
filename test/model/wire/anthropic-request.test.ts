import { callOf, fileOf, messageOf, resultOf } from '../../helpers/messages.ts'
import { describe, expect, it } from 'vitest'
import { type Message, textMessage } from '../../../src/event/message.ts'
import type { ModelRequest } from '../../../src/model/provider.ts'
import { anthropicFormat } from '../../../src/model/wire/anthropic.ts'
import { commonQuirks } from '../../../src/model/wire/format.ts'

const hello: readonly Message[] = [textMessage('user', 'Hello')]
const schema = { type: 'object', properties: { a: { type: 'string' } } }
const mark = { cache_control: { type: 'ephemeral' } }

function markedBody(request: Partial<ModelRequest>): unknown {
  return anthropicFormat.body({ model: 'claude-sonnet-4-5', messages: hello, ...request }, commonQuirks)
}

/** Without cache marks. */
function body(request: Partial<ModelRequest>): unknown {
  return JSON.parse(
    JSON.stringify(markedBody(request), (key, value: unknown) => (key === 'cache_control' ? undefined : value)),
  )
}

function text(words: string): object {
  return { type: 'text', text: words }
}

describe('a Messages request', () => {
  it('goes to /messages', () => {
    expect(anthropicFormat.path({ model: 'claude-sonnet-4-5', messages: hello })).toBe('/messages')
  })

  it('contains the model, the messages and the required output limit, and nothing else', () => {
    expect(body({})).toEqual({
      model: 'claude-sonnet-4-5',
      max_tokens: 16_384,
      messages: [{ role: 'user', content: [text('Hello')] }],
      stream: true,
    })
  })

  it('contains every given setting, except a seed, which this API does not support', () => {
    const messages: Message[] = [textMessage('system', 'Be brief.'), ...hello]
    const tools = [{ name: 'read', description: 'Reads a file.', parameters: schema }]
    expect(body({ messages, tools, temperature: 0.2, max_tokens: 500, seed: 7 })).toEqual({
      model: 'claude-sonnet-4-5',
      max_tokens: 500,
      temperature: 0.2,
      system: [text('Be brief.')],
      messages: [{ role: 'user', content: [text('Hello')] }],
      tools: [{ name: 'read', description: 'Reads a file.', input_schema: schema }],
      stream: true,
    })
  })

  it('describes a schema in words at the end of the system text', () => {
    const asked = { type: 'text', text: expect.stringContaining(JSON.stringify(schema)) as string }
    const output = { name: 'answer', schema }
    expect(body({ output })).toHaveProperty('system', [asked])
    const messages: Message[] = [{ ...textMessage('system', 'Be brief.'), cache: true }, ...hello]
    expect(markedBody({ output, messages })).toHaveProperty('system', [{ ...text('Be brief.'), ...mark }, asked])
  })
})

describe('the messages of a Messages request', () => {
  it('are grouped by side: adjacent ones of one side are one message, with system messages above them', () => {
    const messages: Message[] = [
      textMessage('system', 'One'),
      textMessage('user', 'Two'),
      { ...textMessage('user', 'Three'), name: 'ada' },
      textMessage('system', 'Four'),
      textMessage('user', 'Five'),
      textMessage('assistant', 'Six'),
      textMessage('user', 'Seven'),
    ]
    expect(body({ messages })).toMatchObject({
      system: [text('One'), text('Four')],
      messages: [
        { role: 'user', content: [text('Two'), text('ada: Three'), text('Five')] },
        { role: 'assistant', content: [text('Six')] },
        { role: 'user', content: [text('Seven')] },
      ],
    })
  })

  it('contain tool calls and the results of parallel calls in one message', () => {
    const messages: Message[] = [
      messageOf(
        'assistant',
        'I look.',
        callOf('c1', 'read', '{"a":1}'),
        callOf('read:2', 'read', ''),
        callOf('c3', 'read', '{"a":'),
      ),
      resultOf('c1', 'one'),
      resultOf('read:2', ''),
      resultOf('c3', 'no JSON'),
      textMessage('user', 'Go on'),
    ]
    expect(body({ messages })).toHaveProperty('messages', [
      {
        role: 'assistant',
        content: [
          text('I look.'),
          { type: 'tool_use', id: 'c1', name: 'read', input: { a: 1 } },
          { type: 'tool_use', id: 'read_2', name: 'read', input: {} },
          { type: 'tool_use', id: 'c3', name: 'read', input: { invalid_json: '{"a":' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: 'one' },
          { type: 'tool_result', tool_use_id: 'read_2', content: '' },
          { type: 'tool_result', tool_use_id: 'c3', content: 'no JSON' },
          text('Go on'),
        ],
      },
    ])
  })

  it('contain images, documents and text files as blocks, also as the result of a tool', () => {
    const image = fileOf('a.png', 'image/png', 'AAA=')
    const pdf = fileOf('a.pdf', 'application/pdf', 'BBB=')
    const note = fileOf('a.md', 'text/markdown', Buffer.from('# Grüße').toString('base64'))
    const imageBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAA=' } }
    const messages: Message[] = [
      messageOf('user', 'See', image),
      messageOf('user', '', pdf),
      messageOf('user', '', note),
      messageOf('assistant', '', callOf('c1', 'look', '{}')),
      resultOf('c1', 'Here', image),
    ]
    expect(body({ messages })).toHaveProperty('messages', [
      {
        role: 'user',
        content: [
          text('See'),
          imageBlock,
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'BBB=' },
            title: 'a.pdf',
          },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: '# Grüße' }, title: 'a.md' },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'look', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: [text('Here'), imageBlock] }] },
    ])
  })

  it('have no blocks without a visible character, and no message without a block', () => {
    const messages: Message[] = [
      textMessage('user', 'One'),
      textMessage('assistant', ' \n'),
      textMessage('user', 'Two'),
    ]
    expect(body({ messages })).toHaveProperty('messages', [{ role: 'user', content: [text('One'), text('Two')] }])
  })
})

describe('the cache marks of a Messages request', () => {
  function marked(...messages: readonly Message[]): readonly string[] {
    const { system = [], messages: turns } = markedBody({ messages }) as {
      readonly system?: readonly object[]
      readonly messages: readonly { readonly content: readonly object[] }[]
    }
    const blocks = [...system, ...turns.flatMap(({ content }) => content)] as readonly { readonly text: string }[]
    return blocks.filter((block) => 'cache_control' in block).map((block) => block.text)
  }

  function say(role: 'system' | 'user', content: string): Message {
    return { ...textMessage(role, content), cache: true }
  }

  it('are all sent up to four', () => {
    expect(marked(say('system', 's1'), say('system', 's2'), say('user', 'u1'), say('user', 'u2'))).toEqual([
      's1',
      's2',
      'u1',
      'u2',
    ])
  })

  it('are the last four without one in the system text', () => {
    const users = ['u1', 'u2', 'u3', 'u4', 'u5'].map((words) => say('user', words))
    expect(marked(...users)).toEqual(['u2', 'u3', 'u4', 'u5'])
  })

  it('keep the last one of the system text before the last ones of the messages', () => {
    const users = ['u1', 'u2', 'u3', 'u4'].map((words) => say('user', words))
    expect(marked(say('system', 's1'), say('system', 's2'), ...users)).toEqual(['s2', 'u2', 'u3', 'u4'])
  })

  it('fill up with those of the system text when there are few others', () => {
    const system = ['s1', 's2', 's3', 's4', 's5'].map((words) => say('system', words))
    expect(marked(...system, say('user', 'u1'))).toEqual(['s3', 's4', 's5', 'u1'])
  })
})

describe('the cache marks of a conversation', () => {
  const tools = [
    { name: 'read', description: 'Reads a file.', parameters: schema },
    { name: 'grep', description: 'Searches.', parameters: schema },
  ]
  const rules = textMessage('system', 'Be brief.')

  /** The names of the marked tools and the texts of the marked blocks. */
  function marked(request: Partial<ModelRequest>): readonly string[] {
    const {
      tools: offered = [],
      system = [],
      messages,
    } = markedBody(request) as {
      readonly tools?: readonly { readonly name: string }[]
      readonly system?: readonly { readonly text: string }[]
      readonly messages: readonly {
        readonly content: readonly { readonly text?: string; readonly content?: string }[]
      }[]
    }
    const blocks = [...offered, ...system, ...messages.flatMap(({ content }) => content)]
    return blocks
      .filter((block) => 'cache_control' in block)
      .map((block) => ('name' in block ? block.name : (block.text ?? ('content' in block ? block.content : ''))) ?? '')
  }

  function round(number: number): readonly Message[] {
    const call = { type: 'tool_call', id: `c${number}`, name: 'read', input: '{}' } as const
    const result = {
      type: 'tool_result',
      id: `c${number}`,
      name: 'read',
      parts: [{ type: 'text', text: `r${number}` }],
    } as const
    return [
      { role: 'assistant', parts: [call] },
      { role: 'tool', parts: [result] },
    ]
  }

  it('are at the system text and the newest message', () => {
    expect(marked({ tools, messages: [rules, ...hello] })).toEqual(['Be brief.', 'Hello'])
  })

  it('are also where the request before it ended', () => {
    expect(marked({ tools, messages: [rules, ...hello, ...round(1)] })).toEqual(['Be brief.', 'Hello', 'r1'])
    const third = [rules, ...hello, ...round(1), ...round(2)]
    expect(marked({ tools, messages: third })).toEqual(['Be brief.', 'r1', 'r2'])
  })

  it('are at the last tool if there is no system text', () => {
    expect(marked({ tools })).toEqual(['grep', 'Hello'])
  })

  it('are set without tools, too, once there is an answer', () => {
    expect(marked({ messages: [rules, ...hello] })).toEqual([])
    const messages = [rules, ...hello, textMessage('assistant', 'Hi'), textMessage('user', 'And?')]
    expect(marked({ messages })).toEqual(['Be brief.', 'Hello', 'And?'])
  })

  it('are four at most, with those that messages ask for', () => {
    const own = ['u1', 'u2', 'u3'].map((words): Message => ({ ...textMessage('user', words), cache: true }))
    const messages = [rules, ...own, ...round(1), ...round(2)]
    expect(marked({ tools, messages })).toEqual(['Be brief.', 'u3', 'r1', 'r2'])
  })
})
