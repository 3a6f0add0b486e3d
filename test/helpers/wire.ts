import type { Json, JsonObject } from '../../src/base/json.ts'
import type { Usage } from '../../src/event/message.ts'
import type { ModelFault } from '../../src/model/errors.ts'
import type { FinishReason, ModelEvent } from '../../src/model/provider.ts'
import { createSseDecoder } from '../../src/model/sse.ts'
import type { AnswerState, WireFormat } from '../../src/model/wire/format.ts'

/** What reading a whole stream gave. */
interface WireAnswer {
  readonly events: readonly ModelEvent[]
  readonly finish: FinishReason | undefined
  readonly usage: Usage | undefined
  readonly costUsd?: number | undefined
  readonly fault?: ModelFault
}

/** One event of a stream as its bytes: the JSON under `data:`, the name of its type under `event:` when it has one. */
export function sseText(...events: readonly (JsonObject | string)[]): string {
  return events
    .map((event) => {
      if (typeof event === 'string') return `data: ${event}\n\n`
      const { type } = event
      return `${typeof type === 'string' ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`
    })
    .join('')
}

/** Reads a stream as the transport does: up to the end mark, the end of the bytes or the first fault. */
export function readWire<S extends AnswerState>(
  format: WireFormat<S>,
  stream: string | Uint8Array,
  { pieceSize = Infinity }: { readonly pieceSize?: number } = {},
): WireAnswer {
  const bytes = typeof stream === 'string' ? new TextEncoder().encode(stream) : stream
  const decoder = createSseDecoder()
  const decoded = []
  for (let at = 0; at < bytes.length; at += pieceSize) decoded.push(...decoder.push(bytes.subarray(at, at + pieceSize)))
  decoded.push(...decoder.end())

  const events: ModelEvent[] = []
  let state = format.start
  for (const event of decoded) {
    if (state.done) break
    const step = format.read(state, event)
    if (step.kind === 'fault') return { ...answerOf(state, events), fault: step.fault }
    state = step.state
    events.push(...step.events)
  }
  const end = format.end(state)
  if (end.kind === 'fault') return { ...answerOf(state, events), fault: end.fault }
  return answerOf(end.state, [...events, ...end.events])
}

/** Reads a body that is no stream. */
export function readWireBody<S extends AnswerState>(format: WireFormat<S>, body: Json): WireAnswer {
  const step = format.readBody(typeof body === 'string' ? body : JSON.stringify(body))
  if (step.kind === 'fault') return { ...answerOf(format.start, []), fault: step.fault }
  return answerOf(step.state, step.events)
}

function answerOf(state: AnswerState, events: readonly ModelEvent[]): WireAnswer {
  const { finish, usage, costUsd } = state
  return { events, finish, usage, ...(costUsd === undefined ? {} : { costUsd }) }
}

/** The text of the events, joined. */
export function textOf(events: readonly ModelEvent[], type: 'text' | 'reasoning' = 'text'): string {
  return events.map((event) => (event.type === type ? event.text : '')).join('')
}
