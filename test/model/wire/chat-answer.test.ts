import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/base/json.ts'
import type { ModelEvent } from '../../../src/model/provider.ts'
import type { AnswerParser } from '../../../src/model/wire/format.ts'
import { parseChat } from '../../../src/model/wire/chat-answer.ts'

interface Reading {
  readonly parser: AnswerParser
  readonly events: readonly ModelEvent[]
  /** Reads a chunk; returns its fault. */
  readonly read: (chunk: JsonObject | string) => ReturnType<AnswerParser['read']>
}

function reading(): Reading {
  const events: ModelEvent[] = []
  const parser = parseChat((event) => events.push(event))
  return {
    parser,
    events,
    read: (chunk) =>
      parser.read({ name: '', data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk), complete: true }),
  }
}

function delta(content: JsonObject, finish: string | null = null): JsonObject {
  return { id: 'c', choices: [{ index: 0, delta: content, finish_reason: finish }] }
}

describe('the parser of one chat completion', () => {
  it('emits each piece as soon as its chunk was read', () => {
    const { read, events, parser } = reading()
    read(delta({ content: 'Ye' }))
    expect(events).toEqual([
      { type: 'start', id: 'c' },
      { type: 'text', block: 0, text: 'Ye' },
    ])
    read(delta({ content: 's' }))
    expect(events.at(-1)).toEqual({ type: 'text', block: 0, text: 's' })
    expect(parser.found.finish).toBeUndefined()
    read(delta({}, 'stop'))
    expect([parser.found.finish, parser.found.done]).toEqual(['stop', false])
    read('[DONE]')
    expect([parser.found.done, parser.end()]).toEqual([true, undefined])
  })

  it('adds reasoning to the output of a server that does not count it, by its total', () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 20 } }
    const counted = (total: number): unknown => {
      const { read, parser } = reading()
      read({ ...delta({}, 'stop'), usage: { ...usage, total_tokens: total, cost: 0.5 } })
      return [parser.found.usage?.output, parser.found.usage?.reasoning, parser.found.costUsd]
    }
    expect(counted(35)).toEqual([25, 20, 0.5])
    expect(counted(15)).toEqual([5, 20, 0.5])
  })

  it('ends with a fault if the stream stops before the answer does', () => {
    const { read, parser } = reading()
    read(delta({ content: 'Ye' }))
    expect(parser.end()).toMatchObject({ what: 'closed the connection during the answer', retryable: true })
  })

  it('treats an error finish reason of a server as a fault', () => {
    const { read } = reading()
    expect(read(delta({ content: 'Ye' }))).toBeUndefined()
    expect(read(delta({}, 'server_error'))).toBeDefined()
  })

  it('reads a whole completion as one answer, and refuses other JSON', () => {
    const { parser, events } = reading()
    const message = { role: 'assistant', content: 'Yes' }
    const whole = { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }] }
    expect(parser.readBody(JSON.stringify(whole))).toBeUndefined()
    expect(events).toContainEqual({ type: 'text', block: 0, text: 'Yes' })
    expect(reading().parser.readBody('{"ok":true}')).toMatchObject({
      what: 'answered with JSON that is not a chat completion',
    })
  })
})
