import type { Estimate } from '../event/effects.ts'
import { type FilePart, type Message, type MessagePart, noUsage, type Usage } from '../event/message.ts'
import { modelFailureOf, type FailureClass } from './errors.ts'
import type { ModelRequest, ToolDefinition } from './provider.ts'

/** Measured on source code; a real tokenizer would cost more time than it is worth. */
const bytesPerToken = 3.6

/** Images are charged by pixels; this is about what hosts charge for a large one. */
const tokensOfLargeImage = 5000

const defaultOutput = 16_384

/** Less output than this is not a useful answer. */
const leastOutput = 1024

/** Estimates the tokens of a request from its UTF-8 bytes, and of files roughly from their size. */
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
      // if the text is not shown, its encrypted form is sent
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
 * Upper bound for the cost of a call: its input, and the output limit it requests. `perToken` in US dollars; undefined
 * if the price of the model is not known.
 */
export function estimateOf(
  request: ModelRequest,
  perToken: { readonly input: number; readonly output: number } | undefined,
): Estimate {
  const { max_tokens: asked = defaultOutput } = request
  const tokens = inputTokens(request)
  if (perToken === undefined) return { tokens, output: { tokens: asked, least: leastOutput } }
  return {
    tokens,
    usd: tokens * perToken.input,
    output: { tokens: asked, usdPerToken: perToken.output, least: leastOutput },
  }
}

function inputTokens({ messages, tools, output }: ModelRequest): number {
  const schema = output === undefined ? 0 : Math.ceil(Buffer.byteLength(JSON.stringify(output.schema)) / bytesPerToken)
  return estimateTokens(messages, tools) + schema
}

function fileTokens({ mediaType, data }: FilePart): number {
  const tokens = Math.ceil((data.length * 0.75) / bytesPerToken)
  return mediaType.startsWith('image/') ? Math.min(tokens, tokensOfLargeImage) : tokens
}

/** Failures in which the host reports that it did no work. In all others it may have worked, and may charge for it. */
const uncharged: ReadonlySet<FailureClass> = new Set<FailureClass>([
  'auth',
  'invalid_request',
  'not_found',
  'quota',
  'rate_limit',
  'unavailable',
])

/**
 * The tokens of a failed call: none if the host did no work, otherwise its input and the part of the answer that was
 * received. An estimate, because hosts report usage only for complete answers.
 */
export function usageOfFailedCall(error: unknown, request: ModelRequest, came: string): Usage {
  const failure = modelFailureOf(error)
  const isUnreached = failure?.class === 'network' || failure?.isUnreached === true
  const isFree = failure === undefined || uncharged.has(failure.class) || (isUnreached && came === '')
  return isFree ? { ...noUsage, calls: 1 } : estimatedUsage(request, came)
}

/** Estimates the usage of a call if the server did not report it; `came` is the answer received. */
export function estimatedUsage(request: ModelRequest, came: string): Usage {
  return {
    ...noUsage,
    calls: 1,
    input: inputTokens(request),
    output: Math.ceil(Buffer.byteLength(came) / bytesPerToken),
    estimated: true,
  }
}
