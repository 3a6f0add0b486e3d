import { modelText } from '../base/model-text.ts'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../base/json.ts'
import { summaryMessage } from '../event/conversation-summary.ts'
import { type Message, textMessage, textOf, toolCallsOf, type ToolResultPart } from '../event/message.ts'
import { stoppedAnswer } from '../event/stopped-answer.ts'
import type { Grant } from '../event/permission.ts'
import { chatPlaceOf, type ChatPlace } from './chat-place.ts'
import { grantIn, grantKey, revokedIn } from './grants.ts'
import type { JournalRecord } from './record.ts'
import type { SecretMask } from './secrets.ts'
import { openFileRecords, type RecordSource } from './source.ts'

/** What the messages of a chat have said, for the model of the next message. */
export interface ChatContext {
  /** Without system messages: each message has its own. */
  readonly messages: readonly Message[]
  /** What the user allowed for the rest of the chat, newest first. A summary does not end it. */
  readonly grants: readonly Grant[]
  /** The runs in which something was allowed, newest first. */
  readonly grantedIn: readonly string[]
  /** A run whose record is missing: everything said up to it is lost. */
  readonly lost?: string
}

/**
 * Reads what was said in a chat up to a run, from the records of its messages, newest first, back to one that
 * summarizes everything before it; from those before, it reads only what was allowed.
 * @param runs the folder of all runs
 * @param last the id of the run of the last message
 * @param read reads a message by the folder of its run, for example from memory
 */
export async function readChatContext(
  runs: string,
  last: string,
  mask: SecretMask,
  read: ReadChatMessage = readAgain,
): Promise<ChatContext> {
  let said: readonly Message[] = []
  let part: MessagePart = 'whole'
  const grants: Grant[] = []
  const grantedIn: string[] = []
  const seen = new Set<string>()
  for (let id: string | undefined = last; id !== undefined && !seen.has(id);) {
    seen.add(id)
    const folder = join(runs, id)
    if (!existsSync(folder)) return { messages: said, grants, grantedIn, ...(part === 'whole' ? { lost: id } : {}) }
    const { chat, messages, granted, isSummarized } = await read(folder, mask, part)
    if (granted.length > 0) {
      const revoked = revokedIn(folder)
      grants.push(...granted.filter((grant) => !revoked.has(grantKey(grant))))
      grantedIn.push(id)
    }
    id = chat?.after
    if (part === 'grants') continue
    if (chat?.isSummary === true) {
      const summary = messages.findLast(({ role }) => role === 'assistant')
      // one that failed is skipped
      if (summary === undefined || textOf(summary).trim() === '') continue
      said = [summaryMessage(textOf(summary)), ...said]
      part = 'grants'
    } else {
      said = [...messages, ...said]
      if (isSummarized) part = 'grants'
    }
  }
  return { messages: said, grants, grantedIn }
}

interface RecordedMessage {
  readonly chat: ChatPlace | undefined
  /** What was asked, with notes of what happened before it. */
  readonly instruction: string
  readonly messages: readonly Message[]
  readonly granted: readonly Grant[]
  /** While it was answered, the conversation was summarized: its messages start with everything before. */
  readonly isSummarized: boolean
}

function readAgain(folder: string, mask: SecretMask, part: MessagePart): Promise<RecordedMessage> {
  return readChatMessage(folder, mask, { part })
}

/**
 * Reads messages as they were at a moment, in milliseconds since 1970: without what was done when they were resumed
 * later.
 */
export function readerAt(until: number): ReadChatMessage {
  return (folder, mask, part) => readChatMessage(folder, mask, { part, until })
}

/** `grants`: what was allowed, and its place in the chat, without what was said. */
type MessagePart = 'whole' | 'grants'

export type ReadChatMessage = (folder: string, mask: SecretMask, part: MessagePart) => Promise<RecordedMessage>

/**
 * Reads each message once, and again only if its record has grown since: a long chat has many. What was said before a
 * summary is not kept.
 */
export function createChatReader(): ReadChatMessage {
  const known = new Map<
    string,
    { readonly size: number; readonly part: MessagePart; readonly message: RecordedMessage }
  >()
  return async (folder, mask, part) => {
    const size = sizeOf(folder)
    const found = known.get(folder)
    const isKnown = found?.size === size && (found.part === 'whole' || part === 'grants')
    const message = isKnown ? found.message : await readAgain(folder, mask, part)
    known.set(folder, { size, part, message: part === 'grants' ? { ...message, messages: [] } : message })
    return message
  }
}

/** Bytes of the record. */
function sizeOf(folder: string): number {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}

interface Turn {
  readonly asked: readonly Message[]
  answer?: Message
  /** What followed, and no request has delivered. It counts in the last turn. */
  rest?: readonly Message[]
}

/** The conversation of the main agent in the only task of a run, in the round that counts. */
const mainTurn = /^(?:redo\/(\d+)\/)?task\/(\d+)\/agent\/ask\/turn\/(\d+)(?:#\d+)?$/
const mainConversation = /^(?:redo\/\d+\/)?task\/\d+\/agent\/ask$/
const wholeTask = /^(?:redo\/\d+\/)?(?:iteration\/\d+\/)?task\/(\d+)$/

/** Reads what one message of a chat has said, from the record of its run. */
export async function readChatMessage(
  folder: string,
  mask: SecretMask,
  { part = 'whole', until = Infinity }: { readonly part?: MessagePart; readonly until?: number } = {},
): Promise<RecordedMessage> {
  const source = openFileRecords(folder, { mask })
  const turns = new Map<number, Turn>()
  let isSummarized = false
  const contents = new Map<number, string>()
  const granted: Grant[] = []
  let chat: ChatPlace | undefined
  let instruction = ''
  let round = 0
  /** How a prompt that asked no model ended. */
  let unasked: string | undefined
  let isLater = false
  try {
    await source.scan((record) => {
      // its first process is earlier than the next message, whatever the clock says
      if (record.k === 'seg') isLater = record.e > 1 && record.t > until
      if (isLater) return
      if (record.k === 'run.start') {
        const facts = source.value(record.facts)
        chat = chatPlaceOf(facts)
        instruction = instructionOf(facts)
        return
      }
      if (!('p' in record)) return
      if (record.k === 'ended' && record.kind === 'approval' && record.status === 'ok') {
        granted.push(...grantIn(source.value(record.value)))
        return
      }
      if (part === 'grants') return
      const task = wholeTask.exec(record.p)
      if (task !== null && (record.k === 'begin' || record.k === 'done')) {
        const index = Number(task[1])
        contents.set(index, record.k === 'done' ? contentOf(source.value(record.value)) : '')
        return
      }
      if (record.k === 'prompt' && mainConversation.test(record.p)) unasked = stateOf(source.value(record.prompt))
      const [, redo = '0', , turn] = mainTurn.exec(record.p) ?? []
      if (turn === undefined) return
      if (Number(redo) > round) {
        turns.clear()
        isSummarized = false
      }
      round = Math.max(round, Number(redo))
      if (addTo(turns, Number(turn), record, source) === 'anew') isSummarized = true
    })
  } finally {
    source.close()
  }
  if (turns.size > 0 && contents.size <= 1)
    return { chat, instruction, granted, messages: messagesOf(turns), isSummarized }
  // several answers, or one that did not come from the main agent alone
  const answer = [...contents].toSorted(([left], [right]) => left - right).map(([, content]) => content)
  const answered = answer.filter((text) => text !== '').join('\n\n')
  const asked = instruction === '' ? [] : [textMessage('user', instruction)]
  const isStopped = answered === '' && (unasked === 'cancelled' || unasked === 'failed')
  const messages = [
    ...asked,
    ...(answered === '' ? [] : [textMessage('assistant', answered)]),
    ...(isStopped ? [stoppedAnswer('', unasked === 'cancelled')] : []),
  ]
  return { chat, instruction, granted, messages, isSummarized: false }
}

/** `anew`: the conversation was made shorter before this turn, which has all of it. */
function addTo(
  turns: Map<number, Turn>,
  turn: number,
  record: JournalRecord,
  source: RecordSource,
): 'anew' | undefined {
  if (record.k === 'started') {
    const request = source.value(record.request)
    const { messages: said, before, compaction } = isObject(request) ? request : {}
    // what is asked for a summary, and what is answered, is no part of the conversation
    if (isObject(compaction) && compaction['kind'] === 'summary') return undefined
    const messages = Array.isArray(said) ? (said as Message[]) : []
    const isAnew = before === undefined && turns.size > 0 && !turns.has(turn)
    if (isAnew) turns.clear()
    turns.set(turn, { asked: messages.filter(({ role }) => role !== 'system') })
    return isAnew ? 'anew' : undefined
  }
  const known = turns.get(turn)
  if (record.k === 'prompt' && known !== undefined) {
    const rest: unknown = source.value(record.rest)
    known.rest = Array.isArray(rest) ? (rest as Message[]) : []
  }
  if (record.k !== 'ended' || record.status !== 'ok') return undefined
  const value = source.value(record.value)
  if (known === undefined || !isObject(value) || !Array.isArray(value['parts'])) return undefined
  known.answer = { role: 'assistant', parts: value['parts'] as Message['parts'] }
  return undefined
}

/** In the order in which they were said; calls without a result get one that says so. */
function messagesOf(turns: ReadonlyMap<number, Turn>): readonly Message[] {
  const inOrder = [...turns.entries()].toSorted(([left], [right]) => left - right).map(([, turn]) => turn)
  const said = inOrder.flatMap(({ asked, answer }) => (answer === undefined ? asked : [...asked, answer]))
  const messages = [...said, ...(inOrder.at(-1)?.rest ?? [])]
  return messages.flatMap((message, at): readonly Message[] => {
    const calls = message.role === 'assistant' ? toolCallsOf(message) : []
    if (calls.length === 0) return [message]
    const next = messages.findIndex(({ role }, index) => index > at && role === 'assistant')
    const results = messages.slice(at + 1, next === -1 ? undefined : next).flatMap(({ parts }) => parts)
    const isOpen = ({ id }: { readonly id: string }): boolean =>
      !results.some((part) => part.type === 'tool_result' && part.id === id)
    return [message, ...calls.filter(isOpen).map(interruptedResult)]
  })
}

const interrupted = modelText`the call was interrupted`

/** Whether a result only stands for one that the run has not got. */
export function isInterrupted({ parts }: ToolResultPart): boolean {
  return parts.length === 1 && parts[0]?.type === 'text' && parts[0].text === interrupted
}

function interruptedResult({ id }: { readonly id: string }): Message {
  const parts = [{ type: 'text', text: interrupted }] as const
  return { role: 'tool', parts: [{ type: 'tool_result', id, parts, is_error: true }] }
}

function stateOf(prompt: unknown): string | undefined {
  return isObject(prompt) && typeof prompt['state'] === 'string' ? prompt['state'] : undefined
}

function contentOf(value: unknown): string {
  return isObject(value) && typeof value['content'] === 'string' ? value['content'] : ''
}

function instructionOf(facts: unknown): string {
  const invocation = isObject(facts) ? facts['invocation'] : undefined
  if (!isObject(invocation)) return ''
  const { instruction, text } = invocation
  return typeof instruction === 'string' ? instruction : typeof text === 'string' ? text : ''
}
