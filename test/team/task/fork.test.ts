import { describe, expect, it } from 'vitest'
import { forkedMessages, withoutOpenCalls } from '../../../src/team/core/life.ts'
import { type Message, textMessage } from '../../../src/event/message.ts'

function calls(...ids: readonly string[]): Message {
  return { role: 'assistant', parts: ids.map((id) => ({ type: 'tool_call', id, name: 'read', input: '{}' })) }
}

function result(id: string): Message {
  return { role: 'tool', parts: [{ type: 'tool_result', id, parts: [{ type: 'text', text: id }] }] }
}

const asked = textMessage('user', 'Look.')

describe('the messages that a forked conversation begins with', () => {
  it('exclude the system prompt, and the answer that calls the agent', () => {
    const said = textMessage('assistant', 'I look.')
    expect(forkedMessages([textMessage('system', 'Be brief.'), asked, said, calls('a')])).toEqual([asked, said])
  })

  it('include answers whose calls all have results', () => {
    const messages = [asked, calls('a', 'b'), result('a'), result('b'), textMessage('assistant', 'Done.')]
    expect(forkedMessages(messages)).toEqual(messages)
  })

  it('exclude an answer of which one call has no result, with the results of the others', () => {
    expect(withoutOpenCalls([asked, calls('a', 'b'), result('a'), asked])).toEqual([asked, asked])
  })

  it('do not use the result of an earlier call for a later one with the same id', () => {
    const first = [asked, calls('a'), result('a')]
    expect(withoutOpenCalls([...first, calls('a')])).toEqual(first)
  })
})
