import type { Json } from '../base/json.ts'

/** The known wire formats for calling a model. */
export type WireFormatName = 'chat' | 'responses' | 'anthropic' | 'gemini'

/** One message of a conversation. Its parts are in chronological order. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly parts: readonly MessagePart[]
  /** Name of the speaker, if several share a role. */
  readonly name?: string
  /** The provider may cache everything up to here for the next call. */
  readonly cache?: true
}

export type MessagePart = TextPart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart

/**
 * Data that a wire format expects back verbatim in the next request: signatures, encrypted reasoning, item ids. Sent to
 * that format only; other formats get the content of the part in their own terms.
 */
export interface ProviderData {
  readonly format: WireFormatName
  readonly data: Json
}

interface AnyPart {
  readonly provider?: ProviderData
}

export interface TextPart extends AnyPart {
  readonly type: 'text'
  readonly text: string
}

/** An image or a document. */
export interface FilePart extends AnyPart {
  readonly type: 'file'
  readonly name: string
  readonly mediaType: string
  /** Base64. */
  readonly data: string
  /** It was inserted into a prompt as a resource of a server, so nobody chose it for the called model. */
  readonly isResource?: true
}

/** The kinds of files that a model accepts as is. */
export interface SupportedFiles {
  readonly image: boolean
  readonly document: boolean
}

/** The visible reasoning of a model; empty if all of it is in `provider`. */
interface ReasoningPart extends AnyPart {
  readonly type: 'reasoning'
  readonly text: string
}

/** A tool call of the model; only with the role `assistant`. */
export interface ToolCallPart extends AnyPart {
  readonly type: 'tool_call'
  readonly id: string
  readonly name: string
  /** JSON as the model wrote it, which may be invalid. */
  readonly input: string
}

/** The result of a tool; only with the role `tool`. */
export interface ToolResultPart extends AnyPart {
  readonly type: 'tool_result'
  /** The id of the call. */
  readonly id: string
  readonly parts: readonly (TextPart | FilePart)[]
  readonly is_error?: true
}

/** Limit on the characters of call arguments that are kept; more than any tool accepts. */
export const mostArguments = 16 * 1024 * 1024

/** Placeholder for arguments over the limit. It is JSON, because wire formats send it back. */
export function cutArguments(characters: number): string {
  return JSON.stringify({ cut_arguments: characters })
}

/** The number of characters of arguments that were not kept; undefined: they were kept. */
export function cutFrom(input: string): number | undefined {
  const [, characters] = /^\{"cut_arguments":(\d+)\}$/.exec(input) ?? []
  return characters === undefined ? undefined : Number(characters)
}

export function textMessage(role: Message['role'], text: string): Message {
  return { role, parts: [{ type: 'text', text }] }
}

/** The text of a message, without reasoning, files, tool calls and tool results. */
export function textOf({ parts }: Pick<Message, 'parts'>): string {
  return joined(parts, 'text')
}

export function reasoningOf({ parts }: Pick<Message, 'parts'>): string {
  return joined(parts, 'reasoning')
}

export function toolCallsOf({ parts }: Pick<Message, 'parts'>): readonly ToolCallPart[] {
  return parts.filter((part) => part.type === 'tool_call')
}

function joined(parts: readonly MessagePart[], type: 'text' | 'reasoning'): string {
  const texts = parts.flatMap((part) => (part.type === type ? [part.text] : []))
  // avoids the copy of a join, because a single text may be large
  return texts.length === 1 ? (texts[0] ?? '') : texts.join('')
}

/**
 * Tokens of one or more calls. `cached` and `cache_write` are parts of `input`, `reasoning` is part of `output`.
 * `cache_write` is present only if the provider charges for filling its cache.
 */
export interface Usage {
  readonly calls: number
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
  readonly cache_write?: number
  /** `input` and `output` are partly or wholly estimated, because a server did not report them. */
  readonly estimated?: true
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
    ...(left.estimated === true || right.estimated === true ? { estimated: true } : {}),
  }
}
