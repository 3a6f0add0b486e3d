import type { JsonObject } from '../../base/json.ts'
import type { Usage } from '../../event/message.ts'
import type { ModelFault } from '../errors.ts'
import type { FinishReason, ModelEvent, ModelRequest } from '../provider.ts'
import type { SseEvent } from '../sse.ts'
import type { Quirks } from './quirks.ts'

export type WireFormatName = 'chat' | 'responses' | 'anthropic' | 'gemini'

/** What every format knows of an answer so far; formats add what they need. */
export interface AnswerState {
  /** Why the model stopped, once it said so. */
  readonly finish: FinishReason | undefined
  readonly usage: Usage | undefined
  /** The provider's own price of the call in US dollars. */
  readonly costUsd?: number
  /** The end mark came, nothing after it counts. */
  readonly done: boolean
}

export type AnswerStep<S extends AnswerState> =
  | { readonly kind: 'events'; readonly state: S; readonly events: readonly ModelEvent[] }
  | { readonly kind: 'fault'; readonly fault: ModelFault }

/**
 * One way of asking a model and of reading its answer: pure functions, the transport does the rest (DESIGN 8). Usage
 * and finish are kept in the state; the transport sends them as the last two events, whatever the order on the wire.
 */
export interface WireFormat<S extends AnswerState = AnswerState> {
  readonly name: WireFormatName
  /** Path below the base URL with its query, for example `/chat/completions`. */
  path(request: ModelRequest): string
  /** The headers the key goes into; names in lower case. */
  keyHeaders(apiKey: string): Readonly<Record<string, string>>
  /** Headers every request needs; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The body of a streaming request. */
  body(request: ModelRequest, quirks: Quirks): JsonObject
  readonly start: S
  /** Reads one event of the stream. Pieces become events at once. */
  read(state: S, event: SseEvent): AnswerStep<S>
  /** Reads a whole answer, which some servers send instead of a stream. */
  readBody(body: string): AnswerStep<S>
  /** A fault when the stream ended too early; else what is still to be said before usage and finish. */
  end(state: S): AnswerStep<S>
}
