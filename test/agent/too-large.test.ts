import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { framed } from '../../src/base/frame.ts'
import type { Message } from '../../src/event/message.ts'
import { textMessage } from '../../src/event/message.ts'
import { doesNotFit } from '../../src/agent/too-large.ts'

const file = (path: string, body: string): string =>
  framed('file', `path="${path}" lines="${body.split('\n').length}"`, body)

function messageFor(messages: readonly Message[], more: Partial<Parameters<typeof doesNotFit>[1]> = {}): string {
  const refused = { refusal: undefined, tools: [], label: 'm', window: 8000, compactAt: undefined, ...more }
  return doesNotFit(messages, refused).message
}

describe('the error of a request that can never fit', () => {
  it('names files with the setting that they come from, also if one quotes a file', () => {
    const quoting = file('b.md', `${file('inner.md', 'x'.repeat(5000))}\n${'y'.repeat(20_000)}`)
    const text = `# Knowledge to follow\n\n${file('a.md', 'a')}\n\n${quoting}`
    expect(messageFor([textMessage('system', 'Hi.'), textMessage('user', text), textMessage('user', 'Go.')])).toMatch(
      /^m: the request is too long; it has about [\d,]+ tokens, and the context window of the model has 8,000 tokens; the largest parts are knowledge_globs \(2 files\) with 24\.5kb, b\.md \(knowledge_globs\) with 24\.5kb$/,
    )
  })

  it('names results of tools by their call, texts by their beginning, and the tools', () => {
    const messages: readonly Message[] = [
      textMessage('user', `Sort\nthis: ${'word '.repeat(2000)}`),
      { role: 'assistant', parts: [{ type: 'tool_call', id: '1', name: 'look', input: '{"n":1}' }] },
      { role: 'tool', parts: [{ type: 'tool_result', id: '1', parts: [{ type: 'text', text: 'z'.repeat(12_000) }] }] },
    ]
    const tools = [{ name: 'look', description: 'd'.repeat(8000), parameters: {} }]
    expect(messageFor(messages, { tools })).toMatch(
      /the largest parts are the result of look {"n":1} with 11\.8kb, the text "Sort this: word .*" with 9\.8kb, the tools \(1\) with 7\.9kb$/,
    )
  })

  it('starts with what the server says, and keeps its reason', () => {
    const refusal = new BatonError('MODEL_FAILED', 'm: the server says no.', { reason: 'CONTEXT_EXCEEDED' })
    const error = doesNotFit([textMessage('user', 'Hi')], {
      refusal,
      tools: [],
      label: 'm',
      window: undefined,
      compactAt: false,
    })
    expect([error.message, error.reason]).toEqual([
      'm: the server says no; it has about 1 tokens, and the context window of the model is not known; the largest parts are the text "Hi" with 0.1kb',
      'CONTEXT_EXCEEDED',
    ])
    expect(error.hint).toContain('compact_at = false')
  })
})
