import { cutText } from '../base/cut-text.ts'
import { BatonError, rewordError } from '../base/error.ts'
import { sizeText } from '../base/size.ts'
import { withoutControls } from '../base/frame.ts'
import { type FilePart, type Message, type MessagePart, textOf, toolCallsOf } from '../event/message.ts'
import { estimateTokens } from '../model/estimate.ts'
import type { CompactAt } from './context-room.ts'
import { material } from './material.ts'
import type { OfferedTools } from './message-log.ts'

interface Refused {
  /** What the server says; undefined: the request was not sent. */
  readonly refusal: BatonError | undefined
  readonly tools: OfferedTools
  /** The model. */
  readonly label: string
  /** Tokens of its context window, if known. */
  readonly window: number | undefined
  readonly compactAt: CompactAt | undefined
}

/** The error of a request that does not fit into the context of its model: what is too large, and what to do. */
export function doesNotFit(messages: readonly Message[], refused: Refused): BatonError {
  const { refusal, tools, label, window, compactAt } = refused
  const parts = largestParts(messages, tools)
  const about = `it has about ${tokensText(estimateTokens(messages, tools))}`
  const room =
    window === undefined
      ? 'the context window of the model is not known'
      : `the context window of the model has ${tokensText(window)}`
  const largest = parts.map(({ name, bytes }) => `${name} with ${sizeText(bytes)}`)
  const said = refusal?.message.replace(/\.$/, '') ?? `${label}: the request is too long`
  const message = `${said}; ${about}, and ${room}; the largest parts are ${largest.join(', ')}`
  const hint = [
    hints[parts[0]?.kind ?? 'text'],
    'Or use a model with a larger window: baton models lists them.',
    ...(compactAt === false ? ['With compact_at = false the conversation is not summarized.'] : []),
  ].join(' ')
  if (refusal === undefined) return new BatonError('MODEL_FAILED', message, { reason: 'CONTEXT_EXCEEDED', hint })
  return rewordError(refusal, { message, hint })
}

function tokensText(tokens: number): string {
  return `${Math.round(tokens).toLocaleString('en-US')} tokens`
}

/** A part of a request that somebody can make smaller. */
interface Part {
  readonly kind: 'file' | 'text' | 'result' | 'said' | 'tools'
  readonly name: string
  readonly bytes: number
}

const hints: { readonly [K in Part['kind']]: string } = {
  file: 'Name fewer or smaller files, or let the model read the parts that it needs with tools = ["read", "grep"].',
  text: 'Shorten the text, or put it into a file that the model reads in parts with tools = ["read", "grep"].',
  result: 'Let the model ask the tool for less at a time.',
  said: 'Divide the work into steps, each with a conversation of its own.',
  tools: 'Offer fewer tools.',
}

const mostNamed = 3

function largestParts(messages: readonly Message[], tools: OfferedTools): readonly Part[] {
  const calls = new Map(messages.flatMap((message) => toolCallsOf(message).map((call) => [call.id, call] as const)))
  const offered: Part = { kind: 'tools', name: `the tools (${tools.length})`, bytes: bytesOf(JSON.stringify(tools)) }
  const parts = [...messages.flatMap(partsIn), ...(tools.length === 0 ? [] : [offered])]
  const sorted = parts.toSorted((one, other) => other.bytes - one.bytes)
  const [first] = sorted
  // what is small beside the largest one is not the problem
  return sorted.filter(({ bytes }) => bytes * 10 >= (first?.bytes ?? 0)).slice(0, mostNamed)

  function partsIn(message: Message): readonly Part[] {
    const { role, parts: all } = message
    if (role === 'user') return [...partsOfText(textOf(message)), ...all.flatMap(fileIn)]
    if (role === 'tool') return all.flatMap(resultIn)
    const bytes = bytesOf(JSON.stringify(all))
    return role === 'system'
      ? [{ kind: 'text', name: 'the system text', bytes }]
      : [{ kind: 'said', name: `an answer "${shown(textOf(message))}"`, bytes }]
  }

  function resultIn(part: MessagePart): readonly Part[] {
    if (part.type !== 'tool_result') return []
    const { name = 'a tool', input = '' } = calls.get(part.id) ?? {}
    const bytes = part.parts.reduce((sum, one) => sum + (one.type === 'text' ? bytesOf(one.text) : dataBytes(one)), 0)
    return [{ kind: 'result', name: `the result of ${name} ${shown(input)}`, bytes }]
  }
}

function fileIn(part: MessagePart): readonly Part[] {
  return part.type === 'file' ? [{ kind: 'file', name: shown(part.name), bytes: dataBytes(part) }] : []
}

function dataBytes({ data }: FilePart): number {
  return Math.ceil(data.length * 0.75)
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text)
}

const opening = /^<file path="([^"\n]*)"[^>\n]*? lines="(\d+)"[^>\n]*>\n/gm

/** The files that a text quotes, and the rest of it. */
function partsOfText(text: string): readonly Part[] {
  const source = Object.values(material).find(({ heading }) => text.startsWith(`# ${heading}\n`))?.from
  const files: Part[] = []
  let end = 0
  for (const found of text.matchAll(opening)) {
    const [head, path = '', lines = '0'] = found
    // a file may quote files itself
    if (found.index < end) continue
    const start = found.index + head.length
    end = start
    for (let line = 0; line < Number(lines) && end !== -1; line += 1) end = text.indexOf('\n', end) + 1 || text.length
    const name = source === undefined ? shown(path) : `${shown(path)} (${source})`
    files.push({ kind: 'file', name, bytes: bytesOf(text.slice(start, end)) })
  }
  const all = files.reduce((sum, { bytes }) => sum + bytes, 0)
  const rest = bytesOf(text) - all
  const together: Part = { kind: 'file', name: `${source ?? 'files'} (${files.length} files)`, bytes: all }
  return [
    ...(files.length > 1 ? [together] : []),
    ...files,
    { kind: 'text', name: `the text "${shown(text)}"`, bytes: rest },
  ]
}

/** Characters of a text that say which one it is. */
const mostShown = 60

function shown(text: string): string {
  return cutText(withoutControls(text.replaceAll(/\s+/g, ' ').trim()), mostShown)
}
