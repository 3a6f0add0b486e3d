import { describe, expect, it } from 'vitest'
import { createBus, withoutPieces } from '../../src/event/bus.ts'
import type { EventBody } from '../../src/event/event.ts'
import { createMask } from '../../src/journal/secrets.ts'

const key = 'sk-4f9a8b7c6d5e'
const mask = createMask({ A_TOKEN: key })

/** What listeners get for these events: the texts of pieces, and the types of all others. */
function seen(...events: readonly EventBody[]): readonly string[] {
  const bus = createBus({ runId: 'r', now: () => new Date(0), hide: mask.hide, begun: mask.begun })
  const found: string[] = []
  bus.subscribe((event) => found.push(event.type === 'item.delta' ? event.text : event.type))
  for (const event of events) bus.send([], event)
  return found
}

const delta = (text: string, id = 'a'): EventBody => ({ type: 'item.delta', item_id: id, text })
const reasoning = (text: string): EventBody => ({ type: 'item.delta', item_id: 'a', text, reasoning: true })
const completed = (text: string): EventBody => ({
  type: 'item.completed',
  item: { id: 'a', type: 'agent_message', text },
})
const error = { code: 'MODEL_FAILED', message: 'x' }
const retry: EventBody = { type: 'retry', item_id: 'a', model: 'm', attempt: 1, delay_ms: 1, error }

describe('the last lines of a command', () => {
  it('contain no secret, and no beginning of one that is still being printed', () => {
    const bus = createBus({ runId: 'r', now: () => new Date(0), hide: mask.hide, begun: mask.begun })
    const found: string[] = []
    bus.subscribe((event) => event.type === 'tool.output' && found.push(event.text))
    const printed = (text: string): void => bus.send([], { type: 'tool.output', id: 'c', name: 'bash', text })
    for (let cut = 1; cut < key.length; cut += 1) printed(`token ${key.slice(0, cut)}`)
    printed(`token ${key}\nmore`)
    expect([...new Set(found)]).toEqual(['token ', 'token «secret:A_TOKEN»\nmore'])
  })

  it('are not created for listeners that pass over pieces', () => {
    const bus = createBus({ runId: 'r', now: () => new Date(0) })
    const found: string[] = []
    bus.subscribe(withoutPieces((event) => found.push(event.type)))
    bus.send([], { type: 'tool.output', id: 'c', name: 'bash', text: 'x' })
    expect(found).toEqual([])
  })
})

describe('pieces of an answer', () => {
  it('contain no secret, wherever the answer is split', () => {
    for (let cut = 1; cut < key.length; cut += 1) {
      const shown = seen(delta(`It is ${key.slice(0, cut)}`), delta(`${key.slice(cut)}!`), completed(`It is ${key}!`))
      expect(shown.join('|')).toBe('It is |«secret:A_TOKEN»!|item.completed')
    }
  })

  it('contain no secret that arrives letter by letter, and neither of two consecutive secrets', () => {
    const letters = `${key}${key} end`.split('').map((letter) => delta(letter))
    expect(seen(...letters).join('')).toBe('«secret:A_TOKEN»«secret:A_TOKEN» end')
  })

  it('are complete if a possible secret turns out to be none', () => {
    expect(seen(delta('ask '), delta('sk-4f'), delta(' or'), delta(' sk'), completed('…'))).toEqual([
      'ask ',
      'sk-4f or',
      ' ',
      'sk',
      'item.completed',
    ])
  })

  it('of a failed call are dropped if they may be half a secret', () => {
    expect(seen(delta(`a ${key.slice(0, 9)}`), retry, delta('b'), completed('b'))).toEqual([
      'a ',
      'retry',
      'b',
      'item.completed',
    ])
  })

  it('of different items, and of text and reasoning, are not mixed', () => {
    const half = key.slice(0, 5)
    expect(seen(delta(half), reasoning(half), delta('x', 'b'), reasoning('!'), delta(key.slice(5)))).toEqual([
      'x',
      `${half}!`,
      '«secret:A_TOKEN»',
    ])
  })
})
