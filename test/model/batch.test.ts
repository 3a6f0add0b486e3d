import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { type Batch, type BatchReader, readBatches } from '../../src/model/answer.ts'
import { chatFormat } from '../../src/model/wire/chat.ts'

function together(...chunks: readonly Json[]): Batch & Pick<BatchReader, 'found'> {
  const data = chunks.map((chunk) => (chunk === '[DONE]' ? chunk : JSON.stringify(chunk)))
  const answer = readBatches(chatFormat)
  return { found: answer.found, ...answer.read(data.map((text) => ({ name: '', data: text, complete: true }))) }
}

function delta(content: Json, finish: string | null = null): Json {
  return { choices: [{ index: 0, delta: content, finish_reason: finish }] }
}

describe('events that arrive together', () => {
  it('merge adjacent text and adjacent reasoning into one piece each, in order', () => {
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
      { type: 'reasoning', block: 0, text: 'hm' },
      { type: 'text', block: 1, text: 'Yes' },
      { type: 'reasoning', block: 2, text: 'so' },
      { type: 'text', block: 3, text: '.' },
    ])
  })

  it('end at the end mark', () => {
    const { events, found } = together(delta({ content: 'a' }, 'stop'), '[DONE]', delta({ content: 'b' }))
    expect(events).toEqual([{ type: 'text', block: 0, text: 'a' }])
    expect(found).toMatchObject({ finish: 'stop', done: true })
  })

  it('include those before a fault', () => {
    const batch = together(delta({ content: 'a' }), { error: 'lost' }, delta({ content: 'b' }))
    expect(batch).toMatchObject({ events: [{ type: 'text', text: 'a' }], fault: { detail: 'lost' } })
  })
})
