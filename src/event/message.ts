/** One message of a conversation (R282). */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  /** Who speaks, where several share a role. */
  readonly name?: string
  /** Tools the assistant asked for; only with the role `assistant`. */
  readonly tool_calls?: readonly ToolCall[]
  /** The call this is the result of; only with the role `tool`. */
  readonly tool_call_id?: string
  /** A file that goes with the text: an image or a document. */
  readonly attachment?: Attachment
  /** The provider may keep everything up to here for the next call. */
  readonly cache?: true
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON as the model wrote it, which may not be valid. */
  readonly arguments: string
}

interface Attachment {
  readonly name: string
  readonly mediaType: string
  /** Base64. */
  readonly data: string
}

/**
 * Tokens of one call or of many. `cached` and `cache_write` are parts of `input`, `reasoning` is part of `output`.
 * `cache_write` is there only where a provider charges for filling its cache.
 */
export interface Usage {
  readonly calls: number
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
  readonly cache_write?: number
}

export const noUsage: Usage = { calls: 0, input: 0, output: 0, cached: 0, reasoning: 0 }

export function addUsage(left: Usage, right: Usage): Usage {
  const written = (left.cache_write ?? 0) + (right.cache_write ?? 0)
  return {
    calls: left.calls + right.calls,
    input: left.input + right.input,
    output: left.output + right.output,
    cached: left.cached + right.cached,
    reasoning: left.reasoning + right.reasoning,
    ...(written === 0 ? {} : { cache_write: written }),
  }
}
