import { describe, expect, it } from 'vitest'
import type { EventBody, RunEvent } from '../../src/event/event.ts'
import { createStreamedAnswer } from '../../src/render/streamed-answer.ts'
import { answer, event, piece, planned } from '../helpers/run-events.ts'

const ask = 'task/0/ask'

function inAsk(body: EventBody): RunEvent {
  return event(body, ask)
}

const begun = inAsk({ type: 'item.started', item: { id: ask, type: 'agent_message' } })
const ended = inAsk({ type: 'item.completed', item: { id: ask, type: 'agent_message', text: '' } })
const output = [
  inAsk({ type: 'item.started', item: { id: ask, type: 'program_output' } }),
  piece(0, 'found 3\n'),
  inAsk({ type: 'item.completed', item: { id: ask, type: 'program_output', text: '' } }),
]

/** What was written by each event that wrote something. */
function written(...events: readonly RunEvent[]): readonly string[] {
  const writes: string[] = []
  let text = ''
  const renderer = createStreamedAnswer((part) => (text += part))
  for (const one of events) {
    renderer.event(one)
    if (text !== '') writes.push(text)
    text = ''
  }
  return writes
}

describe('an answer that is streamed', () => {
  it('is written line by line, the last line at its end, and only once', () => {
    expect(written(planned(1), begun, piece(0, 'one\ntw'), piece(0, 'o'), ended, answer(0, 'one\ntwo', 1))).toEqual([
      'one\n',
      'two\n',
    ])
  })

  it('stays as far as it had come if it is stopped', () => {
    const error = { code: 'ABORTED', message: 'stopped' }
    const stopped = inAsk({ type: 'prompt.error', prompt_id: 'p', state: 'cancelled', error })
    const partial = inAsk({ type: 'prompt.output', prompt_id: 'p', index: 0, output: { type: 'text', item_id: ask } })
    expect(written(planned(1), begun, piece(0, 'one\ntw'), partial, stopped)).toEqual(['one\n', 'tw\n'])
  })

  it('is written as a whole if there are several tasks, or another agent prints something', () => {
    expect(written(planned(2), begun, piece(0, 'one\n'), ended)).toEqual([])
    const elsewhere = event({ type: 'item.delta', item_id: 'x', text: 'aside\n' }, 'main/task/0/ask')
    expect(written(planned(1), begun, elsewhere)).toEqual([])
  })

  const changes = '<FILE_CHANGES>\n<FILE_NEW file_path="a">\none\n</FILE_NEW>\n</FILE_CHANGES>\n'

  it.each([1, 3, 7, 1_000])('contains no file changes, in pieces of %i characters', (size) => {
    const text = `First <FILE_CHANGES>.\n\n${changes}\nLast </FILE_CHANGES>`
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    const shown = written(
      planned(1),
      begun,
      ...pieces.map((one) => piece(0, one)),
      ended,
      answer(0, 'First <FILE_CHANGES>.\n\nLast </FILE_CHANGES>', 1),
    )
    expect(shown.join('')).toBe('First <FILE_CHANGES>.\n\nLast </FILE_CHANGES>\n')
  })

  it('is written as a whole if it keeps its file changes', () => {
    const text = `Like this:\n${changes}`
    expect(written(planned(1), begun, piece(0, text), ended, answer(0, text, 1))).toEqual(['Like this:\n', text])
  })

  it('contains no reasoning of the model', () => {
    const thought = inAsk({ type: 'item.delta', item_id: ask, text: 'hm\n', reasoning: true })
    expect(written(planned(1), begun, thought, piece(0, 'yes\n'))).toEqual(['yes\n'])
  })

  it('is written again if an agent has changed it afterwards', () => {
    expect(written(planned(1), begun, piece(0, 'draft\n'), ended, answer(0, 'final', 1))).toEqual([
      'draft\n',
      'final\n',
    ])
  })

  it('reports a restart after a failed call, but only if a part of it was written', () => {
    const error = { code: 'MODEL', message: 'gone' }
    const retry = inAsk({ type: 'retry', item_id: ask, model: 'm', attempt: 1, delay_ms: 1, error })
    expect(written(planned(1), begun, piece(0, 'one'), retry)).toEqual([
      'one\n(the answer was cut off and starts over)\n',
    ])
    expect(written(planned(1), begun, retry)).toEqual([])
  })

  it('consists of the outputs of the programs in code mode, separated by empty lines', () => {
    const prompt = inAsk({ type: 'prompt.created', prompt_id: 'p', user_id: 'u', mode: 'code' })
    const program = [begun, piece(0, 'print(1)\n'), ended]
    expect(written(planned(1), prompt, ...program, ...output, ...program, ...output)).toEqual([
      'found 3\n',
      '\n\n',
      'found 3\n',
    ])
  })
})
