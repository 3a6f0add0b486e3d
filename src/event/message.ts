export interface Message {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
  /** A file that goes with the text: an image or a document. */
  readonly attachment?: Attachment
  /** The provider may keep everything up to here for the next call. */
  readonly cache?: true
}

interface Attachment {
  readonly name: string
  readonly mediaType: string
  /** Base64. */
  readonly data: string
}

/** Tokens of one call or of many. `cached` is part of `input`, `reasoning` is part of `output`. */
export interface Usage {
  readonly calls: number
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
}

export const noUsage: Usage = { calls: 0, input: 0, output: 0, cached: 0, reasoning: 0 }

export function addUsage(left: Usage, right: Usage): Usage {
  return {
    calls: left.calls + right.calls,
    input: left.input + right.input,
    output: left.output + right.output,
    cached: left.cached + right.cached,
    reasoning: left.reasoning + right.reasoning,
  }
}
