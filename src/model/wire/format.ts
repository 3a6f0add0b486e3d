import type { JsonObject } from '../../base/json.ts'
import type { Usage, WireFormatName } from '../../event/message.ts'
import type { ModelFault } from '../errors.ts'
import type { FinishReason, ModelEvent, ModelRequest } from '../provider.ts'
import type { Send, SendOptions } from '../send.ts'
import type { SseEvent } from '../sse.ts'

/** Metadata of an answer, as far as received. */
export interface AnswerMetadata {
  /** Why the model stopped, once known. */
  finish: FinishReason | undefined
  usage: Usage | undefined
  /** The provider's own price of the call in US dollars. */
  costUsd: number | undefined
  /** Whether the end mark was received; everything after it is ignored. */
  done: boolean
}

/** Reads one answer. Every method returns the fault that ends the answer, if there is one. */
export interface AnswerParser {
  readonly found: Readonly<AnswerMetadata>
  read(event: SseEvent): ModelFault | undefined
  /** Reads a complete answer, which some servers send instead of a stream. */
  readBody(body: string): ModelFault | undefined
  /** Call at the end of the stream: emits the remaining events, or returns a fault if it ended too early. */
  end(): ModelFault | undefined
}

/** Receives the pieces of an answer, except `usage` and `finish`, which are in `found`. */
export type Emit = (event: ModelEvent) => void

/**
 * One wire format: builds requests and parses answers, without side effects; the transport does the rest. Usage and
 * finish are the last two events of every answer, whatever their order on the wire, so the transport creates them from
 * `found`.
 */
export interface WireFormat {
  readonly name: WireFormatName
  /** Path below the base URL with its query, for example `/chat/completions`. */
  path(request: ModelRequest): string
  /** The function that sends its requests to an endpoint. */
  createSender(options: SendOptions): Send
  body(request: ModelRequest, quirks: Quirks): JsonObject
  /** A parser for one answer. Pieces are emitted at once. */
  parser(emit: Emit): AnswerParser
}

export function noMetadata(): AnswerMetadata {
  return { finish: undefined, usage: undefined, costUsd: undefined, done: false }
}

/** How a host differs from OpenAI's own chat completions. */
export interface Quirks {
  readonly outputLimit: 'max_tokens' | 'max_completion_tokens'
  /**
   * How a reasoning effort is requested: `reasoning_effort`; `reasoning: { effort }`; `thinking: { type }`;
   * `enable_thinking`; not at all.
   */
  readonly reasoning: 'effort' | 'object' | 'thinking' | 'enable' | 'none'
  /** How far an `[output]` schema can be enforced by the host. */
  readonly structured: 'schema' | 'json' | 'none'
  /** Supports `cache_control` on message parts. */
  readonly cacheMarks: boolean
  /** Supports `prompt_cache_key` in chat completions. The Responses API always does. */
  readonly cacheKey: boolean
  /**
   * Which part of the model's reasoning is sent back in chat completions: its text, unchanged; the `reasoning_details`
   * signed by the host, if it sent any; nothing, because the host refuses unknown fields.
   */
  readonly replaysReasoning: 'text' | 'details' | 'none'
  /** Can return encrypted reasoning, which can be sent back to a server that stores nothing. */
  readonly encryptsReasoning?: boolean
  /**
   * Refuses requests with some fields of OpenAI: `stream_options` (it reports tokens without being asked), `seed` and
   * the `name` of a message.
   */
  readonly refusesExtras?: boolean
  /** Which files its models accept: images and PDF documents; images (at least some models); only text. */
  readonly files: 'all' | 'images' | 'none'
}

/** The assumptions about an unknown host. */
export const commonQuirks: Quirks = {
  outputLimit: 'max_tokens',
  reasoning: 'effort',
  structured: 'schema',
  cacheMarks: false,
  cacheKey: false,
  replaysReasoning: 'details',
  files: 'images',
}
