import type { ModelEvent } from '../provider.ts'
import type { AnswerState, AnswerStep } from './format.ts'
import { fieldsOf, listOf, said, textEvents, textOf, type Fields } from './reading.ts'
import { isRefusal, partText } from './responses-answer.ts'

/** What of the text came so far. */
export interface SaidText {
  /** The parts of messages whose text came, in pieces or whole. */
  readonly written: readonly string[]
  /** There are words of a refusal among it. */
  readonly refused: boolean
}

export const noText: SaidText = { written: [], refused: false }

type TextState = AnswerState & SaidText

/** A piece of text. */
export function writeText<S extends TextState>(
  state: S,
  fields: Fields,
  { isRefusal: refused }: { readonly isRefusal: boolean },
): AnswerStep<S> {
  const key = partKey(fields)
  const isKnown = state.written.at(-1) === key && (state.refused || !refused)
  return said(isKnown ? state : noted(state, key, refused), ...textEvents('text', textOf(fields, 'delta')))
}

/** The end of a part of a message: its text, when no piece of it came. `from`: what holds the text. */
export function finishPart<S extends TextState>(state: S, fields: Fields, from: unknown): AnswerStep<S> {
  const text = partText(from)
  if (text === '' || isWritten(state, fields)) return said(state)
  return said(noted(state, partKey(fields), isRefusal(from)), ...textEvents('text', text))
}

/** The end of a message: the text of those of its parts of which nothing came. */
export function finishItem<S extends TextState>(state: S, fields: Fields): AnswerStep<S> {
  const events: ModelEvent[] = []
  let after = state
  for (const [index, part] of listOf(fieldsOf(fields, 'item'), 'content').entries()) {
    const step = finishPart(after, { ...fields, content_index: index }, part)
    if (step.kind === 'fault') return step
    after = step.state
    events.push(...step.events)
  }
  return said(after, ...events)
}

/** The item of the output that an event belongs to; empty when it does not say so. */
export function itemKey(fields: Fields): string {
  const index = fields['output_index']
  if (typeof index === 'number') return String(index)
  const id = textOf(fields, 'item_id')
  return id === '' ? textOf(fields['item'], 'id') : id
}

const nameless = '/0'

function partKey(fields: Fields): string {
  const part = fields['content_index']
  return `${itemKey(fields)}/${typeof part === 'number' ? part : 0}`
}

/** An event that does not say which part it belongs to may belong to any of them: nothing is to be said twice. */
function isWritten({ written }: SaidText, fields: Fields): boolean {
  if (written.length === 0) return false
  return itemKey(fields) === '' || written.includes(nameless) || written.includes(partKey(fields))
}

function noted<S extends TextState>(state: S, key: string, refused: boolean): S {
  const written = state.written.includes(key) ? state.written : [...state.written, key]
  return { ...state, written, refused: state.refused || refused }
}
