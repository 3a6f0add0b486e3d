import type { Estimate } from '../event/effects.ts'
import { type FilePart, type Message, type MessagePart, noUsage, type Usage } from '../event/message.ts'
import { modelFailureOf, type FailureClass } from './errors.ts'
import type { ModelRequest, ToolDefinition } from './provider.ts'

/** Measured on source code; counting by a vocabulary would cost more time than it is worth. */
const bytesPerToken = 3.6

/** Images are charged by their pixels: about as much as the hosts charge for a large one. */
const tokensOfLargeImage = 5000

const usualOutput = 16_384

/** Less output than this is no answer. */
const leastOutput = 1024

/** Tokens of a request, by its UTF-8 bytes; files roughly, by their size. */
export function estimateTokens(messages: readonly Message[], tools: readonly ToolDefinition[] = []): number {
  const parts = messages.flatMap((message) => message.parts)
  const names = messages.map(({ name = '' }) => name)
  const texts = [...names, ...parts.flatMap(textsOf), ...tools.map((tool) => JSON.stringify(tool))]
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const files = parts.flatMap(filesOf).reduce((sum, file) => sum + fileTokens(file), 0)
  return Math.ceil(bytes / bytesPerToken) + files
}

function textsOf(part: MessagePart): readonly string[] {
  switch (part.type) {
    case 'text':
      return [part.text]
    case 'reasoning':
      // encrypted, where it is not shown
      return [part.text === '' && part.provider !== undefined ? JSON.stringify(part.provider.data) : part.text]
    case 'tool_call':
      return [part.name, part.input]
    case 'tool_result':
      return part.parts.flatMap(textsOf)
    case 'file':
      return []
  }
}

function filesOf(part: MessagePart): readonly FilePart[] {
  if (part.type === 'tool_result') return part.parts.flatMap(filesOf)
  return part.type === 'file' ? [part] : []
}

/**
 * What a call may cost at most: its input, and the output limit it asks for. `perToken` in US dollars; undefined when
 * the model has no known price.
 */
export function estimateOf(
  { messages, tools, output, max_tokens: asked = usualOutput }: ModelRequest,
  perToken: { readonly input: number; readonly output: number } | undefined,
): Estimate {
  const schema = output === undefined ? 0 : Math.ceil(Buffer.byteLength(JSON.stringify(output.schema)) / bytesPerToken)
  const tokens = estimateTokens(messages, tools) + schema
  if (perToken === undefined) return { tokens, output: { tokens: asked, least: leastOutput } }
  return {
    tokens,
    usd: tokens * perToken.input,
    output: { tokens: asked, usdPerToken: perToken.output, least: leastOutput },
  }
}

function fileTokens({ mediaType, data }: FilePart): number {
  const tokens = Math.ceil((data.length * 0.75) / bytesPerToken)
  return mediaType.startsWith('image/') ? Math.min(tokens, tokensOfLargeImage) : tokens
}

/** Failures in which the host says itself that it did no work. In all others it may have, and may charge for it. */
const uncharged: ReadonlySet<FailureClass> = new Set<FailureClass>([
  'auth',
  'invalid_request',
  'not_found',
  'quota',
  'rate_limit',
  'unavailable',
])

/**
 * The tokens of a call that failed: none where the host did no work, else its input, and what had come of the answer.
 * An estimate, because the host counts only whole answers.
 */
export function usageOfFailedCall(error: unknown, request: ModelRequest, came: string): Usage {
  const failure = modelFailureOf(error)
  const isFree = failure === undefined || uncharged.has(failure.class) || (failure.class === 'network' && came === '')
  return isFree ? { ...noUsage, calls: 1 } : estimatedUsage(request, came)
}

/** What a call used whose server did not say: `came` is what it answered. */
export function estimatedUsage({ messages, tools }: ModelRequest, came: string): Usage {
  return {
    ...noUsage,
    calls: 1,
    input: estimateTokens(messages, tools),
    output: Math.ceil(Buffer.byteLength(came) / bytesPerToken),
  }
}
