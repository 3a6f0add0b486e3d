import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../../src/base/json.ts'
import { toolCallsOf } from '../../../src/event/message.ts'
import { assembleAnswer } from '../../../src/model/assemble.ts'
import { chatFormat } from '../../../src/model/wire/chat.ts'
import { readWire, readWireBody, sseText } from '../../helpers/wire.ts'

type Called = readonly [name: string, input: string]

/** The calls of an answer, whose ids must be there and differ. */
function callsOf({ events, fault }: ReturnType<typeof readWire>): readonly Called[] {
  expect(fault).toBeUndefined()
  const assembly = assembleAnswer()
  for (const event of events) assembly.add(event)
  const calls = toolCallsOf(assembly.answer())
  const ids = calls.map(({ id }) => id)
  expect(ids).not.toContain('')
  expect(new Set(ids).size).toBe(ids.length)
  return calls.map(({ name, input }) => [name, input])
}

/** Each list is one chunk. */
function streamed(...chunks: readonly (readonly Json[])[]): readonly Called[] {
  const deltas = chunks.map((pieces) => ({ id: 'c', choices: [{ index: 0, delta: { tool_calls: pieces } }] }))
  return callsOf(readWire(chatFormat, sseText(...deltas, { choices: [{ delta: {}, finish_reason: 'tool_calls' }] })))
}

const [a, b] = ['{"path": "a.txt"}', '{"path": "b.txt"}']
const both: readonly Called[] = [
  ['read', a],
  ['read', b],
]

function read(input: Json): JsonObject {
  return { function: { name: 'read', arguments: input } }
}

function rest(input: string): JsonObject {
  return { function: { arguments: input } }
}

const cut = (text: string): readonly [string, string] => [text.slice(0, 7), text.slice(7)]

describe('two calls stay two calls', () => {
  const [a1, a2] = cut(a)
  const [b1, b2] = cut(b)

  it.each<readonly [string, readonly (readonly Json[])[]]>([
    ['all with index 0', [[{ index: 0, id: 'x', ...read(a) }], [{ index: 0, id: 'y', ...read(b) }]]],
    [
      'all with index 0, in pieces',
      [
        [{ index: 0, id: 'x', ...read('') }],
        [{ index: 0, ...rest(a1) }],
        [{ index: 0, ...rest(a2) }],
        [{ index: 0, id: 'y', ...read('') }],
        [{ index: 0, ...rest(b1) }],
        [{ index: 0, ...rest(b2) }],
      ],
    ],
    ['all with index 0, without ids', [[{ index: 0, ...read(a) }], [{ index: 0, ...read(b) }]]],
    [
      'all with index 0, in one chunk',
      [
        [
          { index: 0, ...read(a) },
          { index: 0, ...read(b) },
        ],
      ],
    ],
    ['all with index 0 and empty ids', [[{ index: 0, id: '', ...read(a) }], [{ index: 0, id: '', ...read(b) }]]],
    ['without index and id, in one chunk', [[read(a), read(b)]]],
    ['without index and id, in several chunks', [[read(a1)], [rest(a2)], [read(b1)], [rest(b2)]]],
    [
      'without index, with ids in each piece',
      [[{ id: 'x', ...read(a1) }], [{ id: 'x', ...rest(a2) }], [{ id: 'y', ...read(b) }]],
    ],
    [
      'the second begins at 0 and goes on at 1',
      [
        [{ index: 0, id: 'x', ...read(a) }],
        [{ index: 0, id: 'y', ...read('') }],
        [{ index: 1, ...rest(b1) }],
        [{ index: 1, ...rest(b2) }],
      ],
    ],
    ['with one id for both', [[{ index: 0, id: 'x', ...read(a) }], [{ index: 1, id: 'x', ...read(b) }]]],
    ['with one id for both and index 0', [[{ index: 0, id: 'x', ...read(a) }], [{ index: 0, id: 'x', ...read(b) }]]],
    [
      'with another id in each piece',
      [
        [{ index: 0, id: '1', ...read(a1) }],
        [{ index: 0, id: '2', ...rest(a2) }],
        [{ index: 1, id: '3', ...read(b1) }],
        [{ index: 1, id: '4', ...rest(b2) }],
      ],
    ],
    [
      'with id and name in each piece',
      [
        [{ index: 0, id: 'x', ...read(a1) }],
        [{ index: 0, id: 'x', ...read(a2) }],
        [{ index: 1, id: 'y', ...read(b1) }],
        [{ index: 1, id: 'y', ...read(b2) }],
      ],
    ],
    [
      'with the name in each piece, at index 0',
      [
        [{ index: 0, ...read(a1) }],
        [{ index: 0, ...read(a2) }],
        [{ index: 0, ...read(b1) }],
        [{ index: 0, ...read(b2) }],
      ],
    ],
    [
      'with the name again at the start of the second, at index 0',
      [[{ index: 0, ...read(a) }], [{ index: 0, ...read('') }], [{ index: 0, ...rest(b) }]],
    ],
    [
      'with arguments as objects',
      [
        [
          { index: 0, id: 'x', ...read({ path: 'a.txt' }) },
          { index: 0, id: 'y', ...read({ path: 'b.txt' }) },
        ],
      ],
    ],
    [
      'in turns',
      [
        [
          { index: 0, id: 'x', ...read(a1) },
          { index: 1, id: 'y', ...read(b1) },
        ],
        [
          { index: 1, ...rest(b2) },
          { index: 0, ...rest(a2) },
        ],
      ],
    ],
    [
      'sent again whole at the end',
      [
        [{ index: 0, id: 'x', ...read(a) }],
        [{ index: 1, id: 'y', ...read(b) }],
        [
          { index: 0, id: 'x', ...read(a) },
          { index: 1, id: 'y', ...read(b) },
        ],
      ],
    ],
    ['with indices as text', [[{ index: '0', id: 'x', ...read(a) }], [{ index: '1', id: 'y', ...read(b) }]]],
    [
      'the first one behind an empty start',
      [
        [{ index: 0, id: 'x', function: { name: '' } }],
        [{ index: 0, ...read(a) }],
        [{ index: 0, id: 'y', function: { name: '' } }],
        [{ index: 0, ...read(b) }],
      ],
    ],
  ])('for %s', (_, chunks) => {
    expect(streamed(...chunks).map(([name, input]) => [name, JSON.parse(input) as Json])).toEqual(
      both.map(([name, input]) => [name, JSON.parse(input) as Json]),
    )
  })

  it('in a whole completion without ids', () => {
    const message = { role: 'assistant', content: null, tool_calls: [read(a), read(b)] }
    expect(callsOf(readWireBody(chatFormat, { choices: [{ message, finish_reason: 'tool_calls' }] }))).toEqual(both)
  })

  it('of different tools, one of them without arguments', () => {
    const list = { function: { name: 'list', arguments: '' } }
    expect(streamed([{ index: 0, ...list }], [{ index: 0, ...read(a) }])).toEqual([
      ['list', ''],
      ['read', a],
    ])
    expect(streamed([list, list])).toEqual([
      ['list', ''],
      ['list', ''],
    ])
  })

  it('even if the arguments of the first one are broken', () => {
    expect(streamed([{ index: 0, id: 'x', ...read(a1) }], [{ index: 0, id: 'y', ...read(b) }])).toEqual([
      ['read', a1],
      ['read', b],
    ])
  })
})

describe('one call stays one call', () => {
  it.each<readonly [string, readonly (readonly Json[])[]]>([
    [
      'the name comes behind the id',
      [[{ index: 0, id: 'x' }], [{ index: 0, function: { name: 'read' } }], [{ index: 0, ...rest(a) }]],
    ],
    [
      'the name comes behind the arguments',
      [[{ index: 0, id: 'x', ...rest(a) }], [{ index: 0, function: { name: 'read' } }]],
    ],
    ['the id comes last', [[{ index: 0, ...read(a) }], [{ index: 0, id: 'x' }]]],
    [
      'an empty name comes first',
      [[{ index: 0, id: 'x', function: { name: '', arguments: '' } }], [{ index: 0, ...read(a) }]],
    ],
    [
      'an empty name comes with each piece',
      [[{ index: 0, id: 'x', ...read('') }], [{ index: 0, function: { name: '', arguments: a } }]],
    ],
    [
      'the name is null later',
      [[{ index: 0, id: 'x', ...read('') }], [{ index: 0, id: null, function: { name: null, arguments: a } }]],
    ],
    [
      'an empty piece comes last',
      [[{ index: 0, id: 'x', ...read(a) }], [{ index: 0, id: '', function: { name: '', arguments: '' } }]],
    ],
    ['an empty object comes first', [[{ index: 0, id: 'x', ...read({}) }], [{ index: 0, ...rest(a) }]]],
    ['an empty object comes first as text', [[{ index: 0, id: 'x', ...read('{}') }], [{ index: 0, ...rest(a) }]]],
    [
      'it is cut at each character',
      [[{ index: 0, id: 'x', ...read('') }], ...a.split('').map((text) => [{ index: 0, ...rest(text) }])],
    ],
    ['its index is missing', [[{ id: 'x', ...read('') }], [rest(a.slice(0, 4))], [rest(a.slice(4))]]],
    [
      'a call without anything follows',
      [[{ index: 0, id: 'x', ...read(a) }], [{ index: 1, id: '', function: { name: '', arguments: '' } }]],
    ],
  ])('for %s', (_, chunks) => {
    expect(streamed(...chunks)).toEqual([['read', a]])
  })

  it('with braces in its texts, in pieces that end with one', () => {
    const input = '{"content": "if (a) {\\n  b(\\"}\\")\\n}", "path": "b.txt"}'
    const pieces = input.split(/(?<=\})/).map((text) => [{ index: 0, ...rest(text) }])
    expect(streamed([{ index: 0, id: 'x', ...read('') }], ...pieces)).toEqual([['read', input]])
  })

  it('with text after its arguments, so that the model is told that they are broken', () => {
    expect(streamed([{ index: 0, id: 'x', ...read(a) }], [{ index: 0, ...rest('}') }])).toEqual([['read', `${a}}`]])
  })
})

it('a late id is the one that the result refers to', () => {
  const answer = readWire(
    chatFormat,
    sseText(
      { choices: [{ delta: { tool_calls: [read(a)] } }] },
      { choices: [{ delta: { tool_calls: [{ id: 'x' }] } }] },
      '[DONE]',
    ),
  )
  const assembly = assembleAnswer()
  for (const event of answer.events) assembly.add(event)
  expect(toolCallsOf(assembly.answer())).toEqual([{ type: 'tool_call', id: 'x', name: 'read', input: a }])
})
