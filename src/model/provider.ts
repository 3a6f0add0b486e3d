import type { JsonObject } from '../base/json.ts'
import type { Message, ProviderData, Usage } from '../event/message.ts'

/** A tool the model may call. `parameters` is a JSON Schema of type object. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

/** What the whole answer must be: JSON that fits the schema. */
export interface OutputFormat {
  /** Letters, digits, `_` and `-`, at most 64 characters. */
  readonly name: string
  readonly schema: JsonObject
}

/** One call of a model (R281, R283, R284). What is left out is left to the server. */
export interface ModelRequest {
  readonly model: string
  readonly messages: readonly Message[]
  readonly temperature?: number
  readonly top_p?: number
  /** Output limit in tokens, reasoning included. */
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
 * Why the model stopped. `length`: the output limit was reached; `refusal`: what it says is that it does not answer;
 * `incomplete`: it stopped in the middle for another reason. `other`: it gave no reason, or one that is not known.
 */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'refusal' | 'incomplete' | 'other'

/**
 * The one internal stream that all wire formats are turned into (R285). `start` is the first event when the server names
 * its answer, `finish` the last one of every stream; what is an error in R285 is thrown. Pieces with the same block
 * number make up one part of the answer, and the parts stand in the order of their numbers.
 */
export type ModelEvent =
  | { readonly type: 'start'; readonly id: string }
  | { readonly type: 'text'; readonly block: number; readonly text: string }
  | { readonly type: 'reasoning'; readonly block: number; readonly text: string }
  /** A piece of a tool call. Id and name come with the first one. */
  | {
      readonly type: 'tool_call'
      readonly block: number
      readonly id?: string
      readonly name?: string
      readonly input: string
    }
  /** What the format wants back with this part. It completes the block, which has no other pieces when `part` was silent. */
  | {
      readonly type: 'provider'
      readonly block: number
      readonly part: 'text' | 'reasoning' | 'tool_call'
      readonly provider: ProviderData
    }
  /** `costUsd`: the provider's own figure, when it sends one. */
  | { readonly type: 'usage'; readonly usage: Usage; readonly costUsd?: number }
  | { readonly type: 'finish'; readonly reason: FinishReason }

/** A setting of a request that is not sent, and what that comes from, as the end of a sentence about the model. */
export interface UnsentSetting {
  readonly name: string
  readonly reason: string
  readonly hint: string
}

/** One way to reach models. `stream` throws `BatonError` (`MODEL_FAILED`, `KEY_MISSING`, `KEY_REFUSED`) when a call fails. */
export interface ModelProvider {
  readonly name: string
  /** False: requests with tools are not for it. Left out: it calls them, or nobody knows. */
  readonly callsTools?: false
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
  /** The settings that the model is not sent because it does not take them. Left out: nobody knows. */
  unsent?(request: ModelRequest): readonly UnsentSetting[]
}
