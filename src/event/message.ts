import type { Json } from '../base/json.ts'

/** The ways of asking a model that are known. */
export type WireFormatName = 'chat' | 'responses' | 'anthropic' | 'gemini'

/** One message of a conversation (R282). Its parts are in the order in which they were said. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly parts: readonly MessagePart[]
  /** Who speaks, where several share a role. */
  readonly name?: string
  /** The provider may keep everything up to here for the next call. */
  readonly cache?: true
}

export type MessagePart = TextPart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart

/**
 * What one wire format wants back in the next request, as it came: signatures, encrypted reasoning, ids of items. It is
 * sent to that format only; the others get what the part says in their own terms.
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
  /** It was put into a prompt as a resource of a server: nobody has chosen it for the model that is asked. */
  readonly isResource?: true
}

/** Which files a model takes as they are. */
export interface TakenFiles {
  readonly image: boolean
  readonly document: boolean
}

/** What a model thought, as far as it shows it: empty where all of it is in `provider`. */
interface ReasoningPart extends AnyPart {
  readonly type: 'reasoning'
  readonly text: string
}

/** A tool the model asked for; only with the role `assistant`. */
export interface ToolCallPart extends AnyPart {
  readonly type: 'tool_call'
  readonly id: string
  readonly name: string
  /** JSON as the model wrote it, which may not be valid. */
  readonly input: string
}

/** What a tool gave; only with the role `tool`. */
export interface ToolResultPart extends AnyPart {
  readonly type: 'tool_result'
  /** The id of the call. */
  readonly id: string
  readonly parts: readonly (TextPart | FilePart)[]
  readonly is_error?: true
}

/** Characters of the arguments of a call that are kept: more than any tool takes. */
export const mostArguments = 16 * 1024 * 1024

/** Stands for the arguments of a call that had more than are kept: JSON, because formats send it back. */
export function cutArguments(characters: number): string {
  return JSON.stringify({ cut_arguments: characters })
}

/** How many characters the arguments of a call had that are not kept; undefined: they are there. */
export function cutFrom(input: string): number | undefined {
  const [, characters] = /^\{"cut_arguments":(\d+)\}$/.exec(input) ?? []
  return characters === undefined ? undefined : Number(characters)
}

/** A message of one text. */
export function textMessage(role: Message['role'], text: string): Message {
  return { role, parts: [{ type: 'text', text }] }
}

/** The text of a message, without reasoning, files, and what tools were asked or gave. */
export function textOf({ parts }: Pick<Message, 'parts'>): string {
  return joined(parts, 'text')
}

/** What the model thought before and between its words. */
export function reasoningOf({ parts }: Pick<Message, 'parts'>): string {
  return joined(parts, 'reasoning')
}

/** The tools that a message asks for, in its order. */
export function toolCallsOf({ parts }: Pick<Message, 'parts'>): readonly ToolCallPart[] {
  return parts.filter((part) => part.type === 'tool_call')
}

function joined(parts: readonly MessagePart[], type: 'text' | 'reasoning'): string {
  const texts = parts.flatMap((part) => (part.type === type ? [part.text] : []))
  // joining copies, and one text may be large
  return texts.length === 1 ? (texts[0] ?? '') : texts.join('')
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
