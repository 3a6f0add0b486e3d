import { sha256 } from '../base/hash.ts'
import { canonicalJson, type Json } from '../base/json.ts'
import type { Message } from '../event/message.ts'
import type { ModelRequest } from '../model/provider.ts'
import type { Compaction } from './compaction.ts'

/** The new messages of a request, so that a journal grows only with the conversation. */
export type RecordedMessages = {
  readonly messages: readonly Message[]
  readonly before?: { readonly count: number; readonly hash: string }
  /** How the conversation is made shorter: for this request, or by the summary that this request asks for. */
  readonly compaction?: Compaction
}

/** The messages of a conversation, and how many of them are recorded. */
export interface MessageLog {
  readonly all: () => readonly Message[]
  readonly add: (messages: readonly Message[]) => void
  /** Adds the messages of a prompt; what was said in earlier conversations may come first. */
  readonly addPrompt: (messages: readonly Message[]) => void
  /** Whether a message belongs to the prompt that is being answered. */
  readonly isOfPrompt: (position: number) => boolean
  /** Adds messages that this program makes from what the record has anyway: results of tools, mail, feedback. */
  readonly addOwn: (messages: readonly Message[]) => void
  readonly isOwn: (message: Message) => boolean
  /** Instructions of modes that it has, in the words of this version. */
  readonly instructions: Set<string>
  /** Replaces the messages since the last answer by those of a request that an earlier process recorded. */
  readonly takeNext: (recorded: RecordedMessages) => void
  /** The messages since the last answer; earlier ones are recorded already. */
  readonly next: () => RecordedMessages
  /** Adds an answer of the model, which is recorded by its call; undefined: it is empty. */
  readonly answered: (message: Message | undefined) => void
  /** The first messages, of which only a hash is recorded. */
  readonly hashOf: (count: number) => RecordedMessages['before']
  /**
   * Replaces all messages by fewer ones, which the next request records in full. Those that were not there before are
   * own ones.
   * @param positionOf where a message is now; undefined: it is gone
   */
  readonly replace: (messages: readonly Message[], positionOf: (position: number) => number | undefined) => void
}

interface LogOptions {
  /** Messages that another run has recorded: wherever they are, only their hash is recorded. */
  readonly said?: readonly Message[] | undefined
  /** Replaces machine-specific paths and secrets in a text before it is hashed. Default: no change. */
  readonly portable?: ((text: string) => string) | undefined
}

export function createMessageLog({ said = [], portable = (text) => text }: LogOptions = {}): MessageLog {
  const textOf = (some: readonly Message[]): string => portable(canonicalText(some))
  const elsewhere = new Set(said)
  let prompt: ReadonlySet<number> = new Set()
  const messages: Message[] = []
  let recorded = 0
  let hashed = 0
  let hash = ''
  let saidHash: string | undefined
  const own = new WeakSet<Message>()
  return {
    all: () => [...messages],
    add: (added) => void messages.push(...added),
    addOwn(added) {
      for (const message of added) own.add(message)
      messages.push(...added)
    },
    addPrompt(added) {
      const answered = added.findLastIndex(({ role }) => role === 'assistant' || role === 'tool')
      const first = messages.length
      prompt = new Set(
        added.flatMap((message, index) => (index > answered && !elsewhere.has(message) ? [first + index] : [])),
      )
      messages.push(...added)
    },
    isOfPrompt: (position) => prompt.has(position),
    isOwn: (message) => own.has(message),
    instructions: new Set(),
    takeNext({ messages: taken, before }) {
      if (recorded > 0 || elsewhere.size === 0) return void messages.splice(recorded, Infinity, ...taken)
      saidHash = before?.hash
      const fresh = messages.flatMap((message, index) => (elsewhere.has(message) ? [] : [index]))
      for (const [number, index] of fresh.entries()) messages[index] = taken[number] ?? (messages[index] as Message)
    },
    next() {
      const fresh = messages.slice(recorded)
      if (recorded === 0 && elsewhere.size === 0) return { messages: fresh }
      if (recorded === 0) {
        const before = { count: said.length, hash: saidHash ?? sha256(textOf(said)) }
        return { before, messages: fresh.filter((message) => !elsewhere.has(message)) }
      }
      if (hashed < recorded) hash = sha256(`${hash} ${textOf(messages.slice(hashed, recorded))}`)
      hashed = recorded
      return { before: { count: recorded, hash }, messages: fresh }
    },
    answered(message) {
      if (message !== undefined) messages.push(message)
      recorded = messages.length
    },
    hashOf: (count) => ({ count, hash: sha256(textOf(messages.slice(0, count))) }),
    replace(others, positionOf) {
      const before = new Set(messages)
      for (const message of others) if (!before.has(message)) own.add(message)
      prompt = new Set([...prompt].flatMap((position) => positionOf(position) ?? []))
      messages.splice(0, Infinity, ...others)
      elsewhere.clear()
      recorded = 0
      hashed = 0
      hash = ''
    },
  }
}

/** The same text for values of this process and for values read from a record. */
export function canonicalText(value: readonly Message[] | Json): string {
  return canonicalJson(JSON.parse(JSON.stringify(value)) as Json)
}

export type OfferedTools = NonNullable<ModelRequest['tools']>
