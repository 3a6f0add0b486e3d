import { sha256 } from '../base/hash.ts'
import { canonicalJson, type Json } from '../base/json.ts'
import type { Message } from '../event/message.ts'
import type { RecordedMessages } from './model-call.ts'

/** The messages of a conversation, and which of them are recorded already. */
export interface MessageLog {
  readonly all: () => readonly Message[]
  readonly add: (messages: readonly Message[]) => void
  /** Those that are new since the last answer, which records the rest. */
  readonly next: () => RecordedMessages
  /** Adds an answer of the model: it is recorded by its call. */
  readonly answered: (message: Message) => void
}

interface LogOptions {
  /** Messages that another run has recorded: they are told by their hash, wherever they stand. */
  readonly said?: readonly Message[] | undefined
  /** What a text is on every machine, and whatever the secrets are there: that is hashed. Left out: itself. */
  readonly portable?: ((text: string) => string) | undefined
}

/** The log of a conversation that begins. */
export function createMessageLog({ said = [], portable = (text) => text }: LogOptions = {}): MessageLog {
  const textOf = (some: readonly Message[]): string => portable(canonicalText(some))
  const elsewhere = new Set(said)
  const messages: Message[] = []
  let recorded = 0
  let hashed = 0
  let hash = ''
  return {
    all: () => [...messages],
    add: (added) => void messages.push(...added),
    next() {
      const fresh = messages.slice(recorded)
      if (recorded === 0 && said.length === 0) return { messages: fresh }
      if (recorded === 0) {
        const before = { count: said.length, hash: sha256(textOf(said)) }
        return { before, messages: fresh.filter((message) => !elsewhere.has(message)) }
      }
      if (hashed < recorded) hash = sha256(`${hash} ${textOf(messages.slice(hashed, recorded))}`)
      hashed = recorded
      return { before: { count: recorded, hash }, messages: fresh }
    },
    answered(message) {
      messages.push(message)
      recorded = messages.length
    },
  }
}

/** The same text for values of this process and for those that a record gives back. */
export function canonicalText(value: readonly Message[] | Json): string {
  return canonicalJson(JSON.parse(JSON.stringify(value)) as Json)
}
