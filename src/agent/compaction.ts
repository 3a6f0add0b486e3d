import { modelText } from '../base/model-text.ts'
import { summaryInstruction, summaryMessage } from '../event/conversation-summary.ts'
import {
  cutArguments,
  type Message,
  type MessagePart,
  textMessage,
  textOf,
  type ToolResultPart,
} from '../event/message.ts'
import { estimateTokens } from '../model/estimate.ts'
import type { ToolName } from '../tool/toolbox/rows.ts'
import type { Shortage } from './context-room.ts'

/**
 * How a conversation is made shorter: plain JSON, recorded with the request that it leads to, so that a resumed run and a
 * replay make it shorter in the same way, whatever they know of the model. Positions are those of messages.
 */
export type Compaction = {
  /** `cut`: there is nothing to summarize, but results of tools are too long. */
  readonly kind: 'summary' | 'cut'
  readonly why: Shortage['why']
  /** Where the last turns begin, which stay. */
  readonly from: number
  /** What stays of the messages before. */
  readonly keeps: readonly number[]
  /** Most characters of a text in the request for the summary. Omitted: all. */
  readonly cut?: number
  /** Most characters of a result in the turns that stay. Omitted: all. */
  readonly cut_kept?: number
}

/** Shares of the limit. */
const share = {
  /** Earlier turns that stay along with the last one. */
  earlier: 0.15,
  /** The last turn. */
  last: 0.5,
  /** What a compaction must save at least: otherwise the next one would follow at once. */
  saved: 0.15,
}

/** Most characters of a text, from mild to hard. */
const cuts = [32_000, 16_000, 8000, 4000, 2000, 1000, 500]

interface Planning {
  readonly shortage: Shortage
  /** Whether a message is what the conversation is about: the system text, and the prompt that is being answered. */
  readonly isHead: (message: Message, index: number) => boolean
}

/** Plans how a conversation becomes short enough; undefined: too little would be saved. */
export function planCompaction(messages: readonly Message[], { shortage, isHead }: Planning): Compaction | undefined {
  const { why, limit, room, scale } = shortage
  const tokens = (some: readonly Message[]): number => estimateTokens(some) * scale
  const answer = messages.findLastIndex(({ role }) => role === 'assistant')
  const last = answer === -1 ? messages.length : answer
  const from = startOfLastTurns(messages, last, (some) => tokens(some) <= limit * share.earlier)
  const replaced = standingTools(messages)
  const stays = (message: Message, index: number): boolean => {
    if (isHead(message, index)) return true
    const tool = standingToolOf(message)
    return tool !== undefined && !replaced.has(tool)
  }
  const before = messages.slice(0, from)
  const keeps = before.flatMap((message, index) => (stays(message, index) ? [index] : []))
  const summarized = before.filter((message, index) => !stays(message, index) && !isSummary(message))
  const turn = messages.slice(last)
  const cutKept = cutTo(turn, limit * share.last, (most) =>
    tokens(turn.map((message) => withShortResults(message, most))),
  )
  const ofKept = cutKept === undefined ? {} : { cut_kept: cutKept }
  if (tokens(summarized) >= limit * share.saved) {
    const cut = cutTo(before, room, (most) => tokens(before.map((message) => withShortTexts(message, most))))
    return { kind: 'summary', why, from, keeps, ...(cut === undefined ? {} : { cut }), ...ofKept }
  }
  const saved = tokens(turn) - tokens(turn.map((message) => withShortResults(message, cutKept)))
  return saved >= limit * share.saved
    ? { kind: 'cut', why, from: last, keeps: positionsBefore(last), ...ofKept }
    : undefined

  /** The mildest cut after which they fit; undefined: they fit as they are. */
  function cutTo(some: readonly Message[], most: number, cutTokens: (cut: number) => number): number | undefined {
    if (tokens(some) <= most) return undefined
    return cuts.find((cut) => cutTokens(cut) <= most) ?? cuts.at(-1)
  }
}

function positionsBefore(index: number): readonly number[] {
  return Array.from({ length: index }, (_, position) => position)
}

/** A turn begins with an answer: its calls stay together with their results. */
function startOfLastTurns(
  messages: readonly Message[],
  last: number,
  fit: (some: readonly Message[]) => boolean,
): number {
  let from = last
  for (let index = last - 1; index >= 0; index -= 1) {
    if (messages[index]?.role !== 'assistant') continue
    if (!fit(messages.slice(index, last))) break
    from = index
  }
  return from
}

/** The messages of the request for a summary: those before the last turns, and the instruction. */
export function messagesToSummarize(messages: readonly Message[], { from, cut }: Compaction): readonly Message[] {
  return messages.slice(0, from).map((message) => withShortTexts(message, cut))
}

export const instruction = textMessage('user', summaryInstruction)

/**
 * The messages of a conversation that takes its place: what stays, the results that still stand, such as the list of
 * steps, the summary, and the last turns. `asked`: the positions of the messages that were at these positions before.
 */
export function compacted(
  messages: readonly Message[],
  { from, keeps, cut_kept: cutKept }: Compaction,
  summary: string | undefined,
): { readonly messages: readonly Message[]; readonly positionOf: (before: number) => number | undefined } {
  const stay = keeps.flatMap((index) => messages[index] ?? [])
  const standing = summary === undefined ? [] : standingMessages(messages, from)
  const head = [...stay, ...standing, ...(summary === undefined ? [] : [summaryMessage(summary)])]
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const turns = messages
    .slice(from)
    .map((message, index) => (from + index < last ? message : withShortResults(message, cutKept)))
  return {
    messages: [...head, ...turns],
    positionOf(before) {
      if (before >= from) return before - from + head.length
      const kept = keeps.indexOf(before)
      return kept === -1 ? undefined : kept
    },
  }
}

/** Tools whose last result holds until the next one. */
const standing: ReadonlySet<string> = new Set<ToolName>(['todo', 'enter_plan', 'exit_plan'])

function stands(tool: string): boolean {
  return standing.has(tool)
}

const summaryHead = textOf(summaryMessage(''))

function isSummary(message: Message): boolean {
  return message.role === 'user' && textOf(message).startsWith(summaryHead)
}

/** The tools whose last result stands, and that have one after the last compaction. */
function standingTools(messages: readonly Message[]): ReadonlySet<string> {
  return new Set(standingResults(messages).keys())
}

/** The last result of each tool whose last result stands, with its position. */
function standingResults(
  messages: readonly Message[],
): ReadonlyMap<string, { readonly position: number; readonly result: ToolResultPart }> {
  const names = new Map<string, string>()
  const found = new Map<string, { readonly position: number; readonly result: ToolResultPart }>()
  for (const [position, { parts }] of messages.entries()) {
    for (const part of parts) {
      // some servers use an id again
      if (part.type === 'tool_call') names.set(part.id, part.name)
      const name = part.type === 'tool_result' && part.is_error !== true ? names.get(part.id) : undefined
      if (part.type === 'tool_result' && name !== undefined && stands(name)) found.set(name, { position, result: part })
    }
  }
  return found
}

function standingMessages(messages: readonly Message[], from: number): readonly Message[] {
  return [...standingResults(messages)].flatMap(([tool, { position, result }]) =>
    position >= from
      ? []
      : [textMessage('user', `${standingHead(tool)}\n\n${textOf(result as Pick<Message, 'parts'>)}`)],
  )
}

function standingHead(tool: string): string {
  return modelText`What the last call of ${tool} has returned still holds:`
}

/** The tool of a message that keeps a result from an earlier compaction. */
function standingToolOf(message: Message): string | undefined {
  if (message.role !== 'user') return undefined
  const text = textOf(message)
  return [...text.slice(0, 200).matchAll(/\w+/g)]
    .map(([word]) => word)
    .find((word) => {
      return stands(word) && text.startsWith(standingHead(word))
    })
}

/** Whether other texts than results are cut as well, and from how many characters on. */
const hardCut = 2000
const ofOtherTexts = 4

function withShortTexts(message: Message, most: number | undefined): Message {
  if (most === undefined || message.role === 'system') return message
  const short = withShortResults(message, most)
  if (most > hardCut) return short
  const longest = most * ofOtherTexts
  return {
    ...short,
    parts: short.parts.flatMap((part): readonly MessagePart[] => {
      switch (part.type) {
        case 'text':
          return part.text.length > longest ? [{ type: 'text', text: shortText(part.text, longest) }] : [part]
        case 'tool_call':
          return part.input.length > longest ? [{ ...part, input: cutArguments(part.input.length) }] : [part]
        case 'file':
          return [{ type: 'text', text: omittedText(part.name) }]
        case 'reasoning':
        case 'tool_result':
          return [part]
      }
    }),
  }
}

/** From here on files in results, such as images, are left out. */
const withoutFiles = 8000

function withShortResults(message: Message, most: number | undefined): Message {
  if (most === undefined || message.role !== 'tool') return message
  const parts = message.parts.map((part): MessagePart => {
    if (part.type !== 'tool_result') return part
    return {
      ...part,
      parts: part.parts.map((one) => {
        if (one.type === 'file') return most > withoutFiles ? one : { type: 'text', text: omittedText(one.name) }
        return one.text.length > most ? { ...one, text: shortText(one.text, most) } : one
      }),
    }
  })
  return { ...message, parts }
}

function omittedText(name: string): string {
  return modelText`[${name} is left out, because the conversation has become too long]`
}

/** The beginning and the end of a text, and what says how much is left out between them. */
function shortText(text: string, most: number): string {
  const [first, last] = [Math.ceil((most * 2) / 3), Math.floor(most / 3)]
  const count = text.length - first - last
  const note = modelText`[${count} characters are left out here, because the conversation has become too long]`
  return `${whole(text.slice(0, first))}\n${note}\n${whole(text.slice(-last))}`
}

/** Without the halves of characters that a cut leaves. */
function whole(text: string): string {
  return text.replaceAll(/\p{Cs}/gu, '')
}
