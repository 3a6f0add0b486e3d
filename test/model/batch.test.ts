import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { readBatch, type Batch } from '../../src/model/batch.ts'
import { chatFormat } from '../../src/model/wire/chat.ts'
import type { ChatState } from '../../src/model/wire/chat-stream.ts'

function together(...chunks: readonly Json[]): Batch<ChatState> {
  const data = chunks.map((chunk) => (chunk === '[DONE]' ? chunk : JSON.stringify(chunk)))
  return readBatch(
    chatFormat,
    chatFormat.start,
    data.map((text) => ({ name: '', data: text, complete: true })),
  )
}

function delta(content: Json, finish: string | null = null): Json {
  return { choices: [{ index: 0, delta: content, finish_reason: finish }] }
}

describe('events that arrive together', () => {
  it('give neighbouring text and neighbouring reasoning as one piece each, in their order', () => {
    const { events } = together(
      delta({ reasoning: 'h' }),
      delta({ reasoning: 'm' }),
      delta({ content: 'Y' }),
      delta({ content: '' }),
      delta({ content: 'es' }),
      delta({ reasoning: 'so' }),
      delta({ content: '.' }),
    )
    expect(events).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'Yes' },
      { type: 'reasoning', text: 'so' },
      { type: 'text', text: '.' },
    ])
  })

  it('end at the end mark', () => {
    const { events, state } = together(delta({ content: 'a' }, 'stop'), '[DONE]', delta({ content: 'b' }))
    expect(events).toEqual([{ type: 'text', text: 'a' }])
    expect(state).toMatchObject({ finish: 'stop', done: true })
  })

  it('give what came before a fault with it', () => {
    const batch = together(delta({ content: 'a' }), { error: 'lost' }, delta({ content: 'b' }))
    expect(batch).toMatchObject({ events: [{ type: 'text', text: 'a' }], fault: { detail: 'lost' } })
  })
})
