/** What a host wants otherwise than OpenAI's own chat completions (spec/parts.md 4 "Quirk table"). */
export interface Quirks {
  /** The name of the output limit. */
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
  /** Reasoning must be sent back with the assistant's message when tools were called. */
  readonly replaysReasoning: boolean
  /**
   * Refuses requests with fields of OpenAI's that it does not know: `stream_options` (it counts tokens unasked), `seed`
   * and the `name` of a message.
   */
  readonly refusesExtras?: boolean
}

/** What a host of which nothing is known is assumed to understand. */
export const commonQuirks: Quirks = {
  outputLimit: 'max_tokens',
  reasoning: 'effort',
  structured: 'schema',
  cacheMarks: false,
  cacheKey: false,
  replaysReasoning: false,
}
