import type { JsonObject } from '../../base/json.ts'
import type { Usage, WireFormatName } from '../../event/message.ts'
import type { ModelFault } from '../errors.ts'
import type { FinishReason, ModelEvent, ModelRequest } from '../provider.ts'
import type { SseEvent } from '../sse.ts'

/** What an answer says about itself, as far as it has come. */
export interface Found {
  /** Why the model stopped, once it said so. */
  finish: FinishReason | undefined
  usage: Usage | undefined
  /** The provider's own price of the call in US dollars. */
  costUsd: number | undefined
  /** The end mark came, nothing after it counts. */
  done: boolean
}

/** Reads one answer. Every method returns the fault that ends the answer, if there is one. */
export interface AnswerParser {
  readonly found: Readonly<Found>
  read(event: SseEvent): ModelFault | undefined
  /** Reads a whole answer, which some servers send instead of a stream. */
  readBody(body: string): ModelFault | undefined
  /** The stream has ended: emits what is still to be said, or returns a fault when it ended too early. */
  end(): ModelFault | undefined
}

/** Takes the pieces of an answer; all but `usage` and `finish`, which are in `found`. */
export type Emit = (event: ModelEvent) => void

/**
 * One way of asking a model and of reading its answer, without any effect; the transport does the rest. Usage and finish
 * are the last two events of every answer, whatever their order on the wire, so the transport makes them of `found`.
 */
export interface WireFormat {
  readonly name: WireFormatName
  /** Path below the base URL with its query, for example `/chat/completions`. */
  path(request: ModelRequest): string
  /** The headers the key goes into; names in lower case. */
  keyHeaders(apiKey: string): Readonly<Record<string, string>>
  /** Headers every request needs; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  body(request: ModelRequest, quirks: Quirks): JsonObject
  /** A parser for one answer. Pieces are emitted at once. */
  parser(emit: Emit): AnswerParser
}

export function nothingFound(): Found {
  return { finish: undefined, usage: undefined, costUsd: undefined, done: false }
}

/** What a host wants otherwise than OpenAI's own chat completions. */
export interface Quirks {
  readonly outputLimit: 'max_tokens' | 'max_completion_tokens'
  /**
   * How a reasoning effort is asked for: `reasoning_effort`; `reasoning: { effort }`; `thinking: { type }`;
   * `enable_thinking`; not at all.
   */
  readonly reasoning: 'effort' | 'object' | 'thinking' | 'enable' | 'none'
  /** How far an `[output]` schema can be enforced by the host. */
  readonly structured: 'schema' | 'json' | 'none'
  /** `cache_control` on message parts is understood. */
  readonly cacheMarks: boolean
  /** `prompt_cache_key` is understood. */
  readonly cacheKey: boolean
  /**
   * What a chat completion gets back of the model's reasoning: its text, which the host wants as it came; the
   * `reasoning_details` it has signed, if it sent any; nothing, because the host refuses fields that it does not know.
   */
  readonly replaysReasoning: 'text' | 'details' | 'none'
  /** Reasoning can be had encrypted, so that it can be sent back to a server that stores nothing. */
  readonly encryptsReasoning?: boolean
  /**
   * Refuses requests with fields of OpenAI's that it does not know: `stream_options` (it counts tokens unasked), `seed`
   * and the `name` of a message.
   */
  readonly refusesExtras?: boolean
  /** Which files its models take: images and PDF documents, images (or some of its models do), nothing but text. */
  readonly files: 'all' | 'images' | 'none'
}

/** What a host of which nothing is known is assumed to understand. */
export const commonQuirks: Quirks = {
  outputLimit: 'max_tokens',
  reasoning: 'effort',
  structured: 'schema',
  cacheMarks: false,
  cacheKey: false,
  replaysReasoning: 'details',
  files: 'images',
}
