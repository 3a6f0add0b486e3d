import { isBatonError } from '../base/error.ts'
import { isObject } from '../base/json.ts'
import type { Cost, Estimate } from '../event/effects.ts'
import { type Message, noUsage, type Usage } from '../event/message.ts'
import { modelFailureOf, type FailureClass } from './errors.ts'
import type { ModelRequest, ToolDefinition } from './provider.ts'

/** Measured on source code (spec/parts.md 4); counting by a vocabulary would cost more time than it is worth. */
const bytesPerToken = 3.6

/** Images are charged by their pixels: about as much as the hosts charge for a large one. */
const tokensOfLargeImage = 5000

/** The output that is reserved when a request sets no limit. */
const usualOutput = 16_384

/** Less output than this is no answer (DESIGN 8 "Budget"). */
const leastOutput = 1024

/** Tokens of a request, by its UTF-8 bytes (spec/parts.md 4); attachments roughly, by their size. */
export function estimateTokens(messages: readonly Message[], tools: readonly ToolDefinition[] = []): number {
  const texts = messages.flatMap(({ content, name = '', tool_calls: calls = [] }) => {
    return [content, name, ...calls.flatMap((call) => [call.name, call.arguments])]
  })
  const bytes = [...texts, ...tools.map((tool) => JSON.stringify(tool))].reduce((sum, text) => sum + bytesOf(text), 0)
  const attached = messages.reduce((sum, { attachment }) => sum + attachmentTokens(attachment), 0)
  return Math.ceil(bytes / bytesPerToken) + attached
}

/**
 * What a call may cost at most (DESIGN 8 "Budget"): its input, and the output limit it asks for. `perToken` in US
 * dollars; undefined when the model has no known price.
 */
export function estimateOf(
  { messages, tools, output, max_tokens: asked = usualOutput }: ModelRequest,
  perToken: { readonly input: number; readonly output: number } | undefined,
): Estimate {
  const schema = output === undefined ? 0 : Math.ceil(bytesOf(JSON.stringify(output.schema)) / bytesPerToken)
  const tokens = estimateTokens(messages, tools) + schema
  if (perToken === undefined) return { tokens, output: { tokens: asked, least: leastOutput } }
  return {
    tokens,
    usd: tokens * perToken.input,
    output: { tokens: asked, usdPerToken: perToken.output, least: leastOutput },
  }
}

function attachmentTokens(attachment: Message['attachment']): number {
  if (attachment === undefined) return 0
  const { mediaType, data } = attachment
  const tokens = Math.ceil((data.length * 0.75) / bytesPerToken)
  return mediaType.startsWith('image/') ? Math.min(tokens, tokensOfLargeImage) : tokens
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text)
}

/**
 * What a finished model call did cost, read from its recorded value: `usage`, and `costUsd`, which is null when the
 * price is not known. What is not known is left out: the price, and the tokens when the host did not count them and the
 * call was not free. Undefined for values that are no answer.
 */
export function costOfAnswer(value: unknown): Cost | undefined {
  if (!isObject(value) || !isObject(value['usage'])) return undefined
  const { usage, costUsd } = value
  const tokens = count(usage['input']) + count(usage['output'])
  return {
    calls: Math.max(1, count(usage['calls'])),
    ...(tokens > 0 || costUsd === 0 ? { tokens } : {}),
    ...(typeof costUsd === 'number' ? { usd: costUsd } : {}),
  }
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
export function usageOfFailedCall(error: unknown, { messages, tools }: ModelRequest, came: string): Usage {
  const failure = modelFailureOf(error)
  const isFree = failure === undefined || uncharged.has(failure.class) || (failure.class === 'network' && came === '')
  if (isFree) return { ...noUsage, calls: 1 }
  return {
    ...noUsage,
    calls: 1,
    input: estimateTokens(messages, tools),
    output: Math.ceil(bytesOf(came) / bytesPerToken),
  }
}

/** What a failed model call did cost; undefined when that is not known. */
export function costOfFailedCall(error: unknown): Cost | undefined {
  const failure = modelFailureOf(error) ?? (isBatonError(error) ? modelFailureOf(error.cause) : undefined)
  return failure !== undefined && uncharged.has(failure.class) ? { calls: 1, tokens: 0, usd: 0 } : undefined
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
