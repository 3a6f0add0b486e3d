import type { JsonObject } from '../base/json.ts'
import type { Message, ProviderData, Usage } from '../event/message.ts'
import type { BatchApi } from './batch/api.ts'

/** A tool the model may call. `parameters` is a JSON Schema of type object. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

/** Requires the whole answer to be JSON that matches the schema. */
export interface OutputFormat {
  /** Letters, digits, `_` and `-`, at most 64 characters. */
  readonly name: string
  readonly schema: JsonObject
}

/** One call of a model. The server decides about omitted settings. */
export interface ModelRequest {
  readonly model: string
  readonly messages: readonly Message[]
  readonly temperature?: number
  readonly top_p?: number
  /** Output limit in tokens, including reasoning. */
  readonly max_tokens?: number
  /** none, minimal, low, medium, high, xhigh or max. */
  readonly reasoning_effort?: string
  /** none, auto, concise or detailed. */
  readonly reasoning_summary?: string
  readonly seed?: number
  readonly tools?: readonly ToolDefinition[]
  readonly output?: OutputFormat
}

/**
 * Why the model stopped. `length`: the output limit was reached; `refusal`: the model declined to answer; `incomplete`:
 * it stopped early for another reason. `other`: no reason, or an unknown one.
 */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'refusal' | 'incomplete' | 'other'

/**
 * The internal stream that all wire formats are converted to. `start` is the first event if the server sends an
 * id for its answer; `finish` is the last one of every stream; errors in a stream are thrown. Pieces with the
 * same block number form one part of the answer, and parts are ordered by block number.
 */
export type ModelEvent =
  | { readonly type: 'start'; readonly id: string }
  | { readonly type: 'text'; readonly block: number; readonly text: string }
  | { readonly type: 'reasoning'; readonly block: number; readonly text: string }
  /** A piece of a tool call. The first one has the id; the name comes with it or later. */
  | {
      readonly type: 'tool_call'
      readonly block: number
      readonly id?: string
      readonly name?: string
      readonly input: string
    }
  /** Data to send back with this part. It completes the block; a part without text has no other pieces. */
  | {
      readonly type: 'provider'
      readonly block: number
      readonly part: 'text' | 'reasoning' | 'tool_call'
      readonly provider: ProviderData
    }
  /** What was received of this block is no part of the answer, or follows again, as another kind of part. */
  | { readonly type: 'discard'; readonly block: number }
  /** `costUsd`: as reported by the provider, if it does. */
  | { readonly type: 'usage'; readonly usage: Usage; readonly costUsd?: number }
  | { readonly type: 'finish'; readonly reason: FinishReason }

/** A setting of a request that is not sent, and the reason as the end of a sentence about the model. */
export interface UnsentSetting {
  readonly name: string
  readonly reason: string
  readonly hint: string
}

/**
 * One way to call models. `stream` throws `BatonError` (`MODEL_FAILED`, `KEY_MISSING`, `KEY_REFUSED`) if a call fails.
 */
export interface ModelProvider {
  readonly name: string
  /** False if it does not support tools. Omitted if it does, or if that is not known. */
  readonly callsTools?: false
  /** False if it is not a model, and processes no tokens. Omitted: its usage is estimated where it reports none. */
  readonly usesTokens?: false
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
  /** Opens the batch API of the host. Omitted: it has none. */
  readonly openBatches?: () => Promise<BatchApi>
  /** The setting by which the user can say that the host has one. */
  readonly batchKey?: string
  /** The settings that are not sent because the model does not support them. Omitted if not known. */
  unsent?(request: ModelRequest): readonly UnsentSetting[]
}
