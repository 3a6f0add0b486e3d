import type { Message, Usage } from '../event/message.ts'

export interface ModelRequest {
  readonly model: string
  readonly messages: readonly Message[]
  readonly temperature?: number
  readonly top_p?: number
  readonly max_tokens?: number
  readonly reasoning_effort?: string
  readonly seed?: number
}

/** Why the model stopped. `length`: the output limit was reached. */
export type FinishReason = 'stop' | 'length' | 'content_filter' | 'other'

/** The one internal stream all wire formats are turned into (DESIGN 8). `finish` is the last event of every stream. */
export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'finish'; readonly reason: FinishReason }

/** One way to reach models. `stream` throws `BatonError` (`MODEL_FAILED`, `KEY_MISSING`, `KEY_REFUSED`) when a call fails. */
export interface ModelProvider {
  readonly name: string
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
}
