import { describe, expect, it } from 'vitest'
import { assembleAnswer, type ModelAnswer } from '../../src/model/assemble.ts'
import { cutArguments, cutFrom, mostArguments } from '../../src/event/message.ts'
import type { ModelEvent } from '../../src/model/provider.ts'

function assembled(...events: readonly ModelEvent[]): ModelAnswer {
  const answer = assembleAnswer()
  for (const event of events) answer.add(event)
  return answer.answer()
}

const provider = { format: 'anthropic', data: { signature: 'x' } } as const

describe('an answer', () => {
  it('contains its parts in the order of their blocks, each assembled from its pieces', () => {
    const { parts } = assembled(
      { type: 'start', id: 'a1' },
      { type: 'tool_call', block: 2, id: 'c1', name: 'read', input: '' },
      { type: 'reasoning', block: 0, text: 'h' },
      { type: 'text', block: 1, text: 'I lo' },
      { type: 'tool_call', block: 3, id: 'c2', name: 'list', input: '{}' },
      { type: 'reasoning', block: 0, text: 'm' },
      { type: 'tool_call', block: 2, input: '{"a":' },
      { type: 'provider', block: 0, part: 'reasoning', provider },
      { type: 'text', block: 1, text: 'ok' },
      { type: 'tool_call', block: 2, input: '1}' },
    )
    expect(parts).toEqual([
      { type: 'reasoning', text: 'hm', provider },
      { type: 'text', text: 'I look' },
      { type: 'tool_call', id: 'c1', name: 'read', input: '{"a":1}' },
      { type: 'tool_call', id: 'c2', name: 'list', input: '{}' },
    ])
  })

  it('drops arguments of a call that are too long, and reports their length', () => {
    const answer = assembleAnswer()
    const piece = 'x'.repeat(mostArguments / 4)
    const call = (block: number, input: string): ModelEvent => ({ type: 'tool_call', block, input })
    answer.add({ type: 'tool_call', block: 0, id: 'c0', name: 'todo', input: '{}' })
    answer.add({ type: 'tool_call', block: 1, id: 'c1', name: 'write', input: '' })
    for (let count = 0; count < 4; count += 1) answer.add(call(1, piece))
    expect(answer.hasCut()).toBe(false)
    for (let count = 0; count < 8; count += 1) answer.add(call(1, piece))
    expect([answer.hasCut(), answer.size()]).toEqual([true, 3 * mostArguments + 2])
    const [first, second] = answer.answer().parts
    expect(first).toMatchObject({ name: 'todo', input: '{}' })
    expect(second).toEqual({ type: 'tool_call', id: 'c1', name: 'write', input: cutArguments(3 * mostArguments) })
    expect(cutFrom(cutArguments(7))).toBe(7)
    expect(cutFrom('{"cut_arguments":"a"}')).toBeUndefined()
  })

  it('keeps a part without text only if it must be sent back', () => {
    const { parts } = assembled(
      { type: 'text', block: 0, text: '' },
      { type: 'provider', block: 1, part: 'reasoning', provider },
    )
    expect(parts).toEqual([{ type: 'reasoning', text: '', provider }])
  })

  it('contains the usage, the price and the finish reason, which is unknown without an end', () => {
    const usage = { calls: 1, input: 2, output: 3, cached: 0, reasoning: 0 }
    expect(assembled({ type: 'usage', usage, costUsd: 0.5 }, { type: 'finish', reason: 'stop' })).toEqual({
      parts: [],
      usage,
      costUsd: 0.5,
      finish: 'stop',
    })
    expect(assembled().finish).toBe('other')
  })

  it('counts the characters received', () => {
    const answer = assembleAnswer()
    answer.add({ type: 'reasoning', block: 0, text: 'ab' })
    answer.add({ type: 'text', block: 1, text: 'cd' })
    answer.add({ type: 'tool_call', block: 2, id: 'c', name: 'read', input: 'ef' })
    expect(answer.size()).toBe(6)
  })
})
