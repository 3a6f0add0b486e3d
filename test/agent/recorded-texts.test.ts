import { expect, it } from 'vitest'
import { modelText } from '../../src/base/model-text.ts'
import { type Message, textMessage } from '../../src/event/message.ts'
import type { OfferedTools } from '../../src/agent/message-log.ts'
import { withRecordedWording } from '../../src/agent/recorded-wording.ts'

const parameters = { type: 'object' }
const rule = modelText`Answer in the language of the question.`
const read = { name: 'read', description: modelText`Shows a file in parts.`, parameters }
const older: OfferedTools = [
  { ...read, description: 'Shows a whole file.' },
  { name: 'gone', description: 'A tool of long ago.', parameters },
]

function result(text: string): Message {
  return { role: 'tool', parts: [{ type: 'tool_result', id: 'call', parts: [{ type: 'text', text }] }] }
}

function recorded(said: object, more: { sources?: 'current'; files?: 'current' } = {}) {
  return { request: JSON.parse(JSON.stringify(said)), sources: 'recorded', files: 'recorded', ...more } as const
}

it('a resumed conversation is offered the recorded tools, including those that no longer exist', () => {
  const now = { messages: [], tools: [read, { ...read, name: 'glob' }], isOwn: () => false }
  expect(withRecordedWording(now, recorded({ messages: [], tools: older })).tools).toEqual(older)
})

it('a request with tools that this version would send later has the recorded ones', () => {
  const kill = { ...read, name: 'kill' }
  const now = { messages: [], tools: [read], unsentTools: [kill], isOwn: () => false }
  for (const sources of ['recorded', 'current'] as const) {
    const said = { messages: [], tools: [{ ...read, description: 'Shows a whole file.' }, kill] }
    const then = { ...recorded(said), sources }
    expect(withRecordedWording(now, then).tools).toEqual(said.tools)
    expect(withRecordedWording(now, { ...recorded({ ...said, tools: [read] }), sources }).tools).toEqual([read])
  }
})

it('a replay uses the recorded tools unless the author has added or removed one', () => {
  const then = recorded({ messages: [], tools: older }, { sources: 'current' })
  const added = [read, { ...read, name: 'glob' }]
  const removed = recorded({ messages: [], tools: [...older, { ...read, name: 'glob' }] }, { sources: 'current' })
  expect(withRecordedWording({ messages: [], tools: [read], isOwn: () => false }, then).tools).toEqual(older)
  expect(withRecordedWording({ messages: [], tools: added, isOwn: () => false }, then).tools).toBe(added)
  expect(withRecordedWording({ messages: [], tools: [read], isOwn: () => false }, removed).tools).toEqual([read])
})

it('a tool of an author is compared in all its parts', () => {
  const own = { name: 'mine', description: 'Does it.', parameters }
  const now = { messages: [], tools: [own], isOwn: () => false }
  const other = recorded({ messages: [], tools: [{ ...own, parameters: { type: 'object', required: ['a'] } }] })
  expect(withRecordedWording(now, other).tools).toEqual([own])
})

it('messages that differ only in texts of Baton are accepted, and words of the author are kept', () => {
  const messages = [textMessage('system', rule), textMessage('user', 'Wash it.')]
  const then = [textMessage('system', 'Answer briefly.'), textMessage('user', 'Dry it.')]
  const said = withRecordedWording({ messages, tools: undefined, isOwn: () => false }, recorded({ messages: then }))
  expect(said.messages).toEqual([then[0], messages[1]])
})

it('tool results with numbers of lines are the same as those of earlier versions', () => {
  const said = (text: string) => ({ messages: [result(text)], tools: undefined })
  const compared = (now: string, then: string): boolean => {
    const before = recorded(said(then), { sources: 'current', files: 'current' })
    const [message] = withRecordedWording({ ...said(now), isOwn: () => true }, before).messages
    return JSON.stringify(message) === JSON.stringify(result(then))
  }
  expect(compared('1\tone\n2\ttwo', '1→one\n2→two')).toBe(true)
  expect(compared('Execution result: "1\\tone"', 'Execution result: "1→one"')).toBe(true)
  expect(compared('1\tone', '1→two')).toBe(false)
})

it('tool results are used as recorded, but compared if files are read now', () => {
  const now = { messages: [result('two lines')], tools: undefined, isOwn: () => true }
  const then = { messages: [result('2 lines')] }
  expect(withRecordedWording(now, recorded(then)).messages).toEqual(then.messages)
  expect(withRecordedWording(now, recorded(then, { files: 'current' })).messages).toEqual(now.messages)
})
