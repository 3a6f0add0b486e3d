import type { Json, JsonObject } from '../../src/base/json.ts'
import type { Usage } from '../../src/event/message.ts'
import { type Batch, type BatchReader, readBatches } from '../../src/model/answer.ts'
import type { ModelFault } from '../../src/model/errors.ts'
import type { FinishReason, ModelEvent } from '../../src/model/provider.ts'
import { createSseDecoder } from '../../src/model/sse.ts'
import type { WireFormat } from '../../src/model/wire/format.ts'

/** The result of reading a whole stream. */
interface WireAnswer {
  /** The pieces, one by one. */
  readonly events: readonly ModelEvent[]
  /** What must be sent back, by block; omitted if nothing. */
  readonly sealed?: readonly SealEvent[]
  readonly finish: FinishReason | undefined
  readonly usage: Usage | undefined
  readonly costUsd?: number | undefined
  readonly fault?: ModelFault
}

type SealEvent = Extract<ModelEvent, { readonly type: 'provider' }>

/** One stream event as bytes: the JSON under `data:`, and the name of its type, if it has one, under `event:`. */
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
export function readWire(
  format: WireFormat,
  stream: string | Uint8Array,
  { pieceSize = Infinity }: { readonly pieceSize?: number } = {},
): WireAnswer {
  const bytes = typeof stream === 'string' ? new TextEncoder().encode(stream) : stream
  const decoder = createSseDecoder()
  const decoded = []
  for (let at = 0; at < bytes.length; at += pieceSize) decoded.push(...decoder.push(bytes.subarray(at, at + pieceSize)))
  decoded.push(...decoder.end())

  const answer = readBatches(format)
  const batches: Batch[] = []
  for (const event of decoded) {
    if (answer.found.done) break
    const batch = answer.read([event])
    batches.push(batch)
    if (batch.fault !== undefined) return answerOf(answer, batches)
  }
  return answerOf(answer, [...batches, answer.end()])
}

/** Reads a body that is not a stream. */
export function readWireBody(format: WireFormat, body: Json): WireAnswer {
  const answer = readBatches(format)
  return answerOf(answer, [answer.readBody(typeof body === 'string' ? body : JSON.stringify(body))])
}

function answerOf({ found }: BatchReader, batches: readonly Batch[]): WireAnswer {
  const { finish, usage, costUsd } = found
  const fault = batches.at(-1)?.fault
  const events = batches.flatMap((batch) => batch.events)
  const sealed = events.filter((event) => event.type === 'provider')
  return {
    events: events.filter(({ type }) => type !== 'provider'),
    ...(sealed.length === 0 ? {} : { sealed }),
    finish,
    usage,
    ...(costUsd === undefined ? {} : { costUsd }),
    ...(fault === undefined ? {} : { fault }),
  }
}

/** The text of the events, joined. */
export function textOf(events: readonly ModelEvent[], type: 'text' | 'reasoning' = 'text'): string {
  return events.map((event) => (event.type === type ? event.text : '')).join('')
}
