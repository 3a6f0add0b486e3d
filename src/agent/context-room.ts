import type { Message } from '../event/message.ts'
import { estimateTokens } from '../model/estimate.ts'
import type { OfferedTools } from './message-log.ts'

/** When a conversation is made shorter: tokens of a request, a share of the context window, or never. */
export type CompactAt = number | false

/** The next request is too long, or nearly. */
export interface Shortage {
  /** `too_long`: the server has refused it. */
  readonly why: 'window' | 'too_long'
  /** Of the model; infinite if it is not known. */
  readonly window: number
  /** Tokens that a request should not exceed. */
  readonly limit: number
  /** Tokens that a request for a summary may have. */
  readonly room: number
  /** What the tokens of this conversation are, in estimated ones. */
  readonly scale: number
}

/** What is known of the last answer: tokens of its request, with those of the answer, and how many messages there were then. */
export interface LastAnswer {
  readonly input: number
  readonly tokens: number
  readonly messages: number
}

/** How much of the context window of its model a conversation fills. */
export interface ContextRoom {
  readonly answered: (answer: LastAnswer | undefined) => void
  /** The server has refused a request with these messages because of its length. */
  readonly refused: (messages: readonly Message[], tools: OfferedTools) => void
  /** The server has refused a request for a summary of these messages because of its length. */
  readonly refusedSummary: (messages: readonly Message[], tools: OfferedTools) => void
  /** The conversation was made shorter. */
  readonly compacted: () => void
  /** Whether it was made shorter since the last answer. */
  readonly isCompacted: () => boolean
  /** Tokens of a request with these messages. */
  readonly sizeOf: (messages: readonly Message[], tools: OfferedTools) => number
  /** Undefined: the request fits. */
  readonly shortage: (messages: readonly Message[], tools: OfferedTools) => Promise<Shortage | undefined>
}

interface RoomOptions {
  /** Default: 80 % of the window, or what an answer leaves of it. */
  readonly compactAt: CompactAt | undefined
  /** Tokens that an answer may have. */
  readonly output: number
  /** Tokens of the context window; undefined: not known. Looked up only for long conversations. */
  readonly windowOf: () => Promise<number | undefined>
}

const defaultShare = 0.8
/** What is tried after a refusal: a share of the refused request. */
const refusedShare = 0.6
/** A request for a summary may fill the window up to here. */
const summaryShare = 0.9
/** Tokens of a part of a conversation are estimated, and may be that many times too many. */
const estimated = 1.25
/** If a compaction could not help, the next one waits until the conversation has grown. */
const growth = 1.2
export function createContextRoom(
  known: LastAnswer | undefined,
  { compactAt, output, windowOf }: RoomOptions,
): ContextRoom {
  let last = known
  /** A request for a summary was refused as well, although it had less than the last answered request, or hardly more. */
  let isSummaryRefused = false
  let refusedSize: number | undefined
  /** What the server has refused: its window is smaller. */
  let tooMany = Infinity
  /** The size after the last compaction. */
  let least = 0
  let isCompacted = false

  function sizeOf(messages: readonly Message[], tools: OfferedTools): number {
    if (last === undefined) return estimateTokens(messages, tools)
    return last.tokens + estimateTokens(messages.slice(last.messages))
  }

  /** Tokens from which on a conversation is made shorter. */
  function limitOf(window: number): number {
    if (typeof compactAt === 'number') return compactAt >= 1 ? compactAt : compactAt * window
    return Math.min(defaultShare * window, window - Math.min(output, window / 2))
  }

  return {
    answered(answer) {
      last = answer
      if (isCompacted) least = answer?.tokens ?? 0
      isCompacted = false
    },
    refused(messages, tools) {
      refusedSize = sizeOf(messages, tools)
      tooMany = Math.min(tooMany, refusedSize)
    },
    refusedSummary(messages, tools) {
      isSummaryRefused = true
      refusedSize = sizeOf(messages, tools)
    },
    compacted() {
      last = undefined
      isSummaryRefused = false
      refusedSize = undefined
      isCompacted = true
    },
    isCompacted: () => isCompacted,
    sizeOf,
    async shortage(messages, tools) {
      if (compactAt === false) return undefined
      const size = sizeOf(messages, tools)
      const scale = size / Math.max(1, estimateTokens(messages, tools))
      if (refusedSize !== undefined) {
        const limit = refusedShare * refusedSize
        // what was answered fits, and is paid for as kept if it is sent as it was
        const fits = isSummaryRefused ? 0 : (last?.input ?? 0) * estimated
        return { why: 'too_long', window: (await windowOf()) ?? Infinity, limit, room: Math.max(limit, fits), scale }
      }
      const window = (await windowOf()) ?? Infinity
      const limit = Math.min(limitOf(window), defaultShare * tooMany)
      if (size < Math.max(limit, least * growth)) return undefined
      return {
        why: 'window',
        window,
        limit,
        room: Math.max((last?.input ?? 0) * estimated, Math.min(window, tooMany) * summaryShare),
        scale,
      }
    },
  }
}
