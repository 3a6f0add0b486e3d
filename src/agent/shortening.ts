import { BatonError } from '../base/error.ts'
import { defined } from '../base/json.ts'
import type { ModelSettings } from '../event/agent.ts'
import type { EventBody } from '../event/event.ts'
import { type Message, textOf } from '../event/message.ts'
import { estimateTokens } from '../model/estimate.ts'
import type { PriceList } from '../model/prices.ts'
import type { FinishReason } from '../model/provider.ts'
import { type Compaction, compacted, instruction, messagesToSummarize, planCompaction } from './compaction.ts'
import { type CompactAt, createContextRoom, type LastAnswer } from './context-room.ts'
import type { MessageLog, OfferedTools, RecordedMessages } from './message-log.ts'
import { isTooLong, type ModelCallResult } from './model-call.ts'
import type { OpenPrompt } from './open-prompt.ts'
import type { ChosenModel } from './parts.ts'
import type { RequestTexts } from './recorded-wording.ts'
import { doesNotFit } from './too-large.ts'
import type { Sending } from './turns.ts'

/** A conversation as its turns know it. */
export interface LongConversation {
  readonly log: MessageLog
  readonly compactAt: CompactAt | undefined
  readonly settings: Omit<ModelSettings, 'model'>
  readonly offered: () => OfferedTools
  /** What an earlier process requested in the next turn. */
  readonly recordedNext: () => RecordedMessages | undefined
  /** Whether it got the answer. */
  readonly wasAnswered: () => boolean
  /** Makes the request of the next turn. */
  readonly send: (prompt: OpenPrompt, sending: Sending) => Promise<{ readonly answered: ModelCallResult }>
  /** The request of the next turn in the words in which an earlier process said it. */
  readonly recordedAs: (said: RequestTexts) => Promise<RequestTexts>
  readonly emit: (event: EventBody) => void
  /** Called when messages were replaced. */
  readonly onShorter: () => void
  /** The model that answers next. @throws BatonError of the choice */
  readonly chosen: () => Promise<ChosenModel>
  readonly prices: () => Promise<PriceList>
}

/** Makes one conversation shorter, whenever it gets too long for its model. */
export interface Shortening {
  /**
   * What comes before the next request. `ask`: it fits; `again`: look again, because a turn was used for a summary.
   * Otherwise the messages were cut for it like that.
   * @throws BatonError MODEL_FAILED for a request that can never fit; that of the call for a summary
   */
  readonly prepare: (prompt: OpenPrompt, offersTools: boolean) => Promise<'ask' | 'again' | Compaction>
  /** The server has refused a request as too long. @throws the refusal, with what is too large, if it never fits */
  readonly refused: (refusal: BatonError, offersTools: boolean) => Promise<void>
  readonly answered: (answer: LastAnswer | undefined) => void
}

/** Tokens that most answers do not exceed, and what a summary may have at least. */
const defaultOutput = 32_000
const leastSummary = 4096

/** A request with so many times the tokens of the window is not sent: the number is an estimate. */
const certain = 2

/** How an answer ends that is a whole summary, or nearly: one that reached its limit is of more use than none. */
const isWhole: ReadonlySet<FinishReason> = new Set<FinishReason>(['stop', 'tool_calls', 'length', 'other'])

/** @param last of the answers so far */
export function createShortening(last: LastAnswer | undefined, conversation: LongConversation): Shortening {
  const { log, compactAt, settings, offered, wasAnswered, emit } = conversation
  const { max_tokens: most } = settings
  const room = createContextRoom(last, { compactAt, output: most ?? defaultOutput, windowOf })
  /** Of the last request; undefined: it was accepted. */
  let refusal: BatonError | undefined

  async function prepare(prompt: OpenPrompt, offersTools: boolean): Promise<'ask' | 'again' | Compaction> {
    const compaction = await nextCompaction(offersTools)
    if (compaction === undefined) return 'ask'
    if (compaction.kind === 'cut') {
      shorten(compaction, { isTold: wasAnswered() })
      return compaction
    }
    refusal = await summarize(prompt, compaction, offersTools)
    return 'again'
  }

  /** How the conversation has to be made shorter before the next request, in a resumed run as it was. */
  async function nextCompaction(offersTools: boolean): Promise<Compaction | undefined> {
    const before = conversation.recordedNext()
    if (before !== undefined) return before.compaction
    const all = log.all()
    const shortage = await room.shortage(all, toolsOf(offersTools))
    if (shortage === undefined) {
      if (refusal !== undefined) throw await tooLarge(offersTools)
      return undefined
    }
    const isHead = (message: Message, position: number): boolean =>
      message.role === 'system' || log.isOfPrompt(position) || log.instructions.has(textOf(message))
    const neverFits = (some: readonly Message[]): boolean => estimateTokens(some) > certain * shortage.window
    const plan = neverFits(all.filter(isHead)) ? undefined : planCompaction(all, { shortage, isHead })
    if (plan !== undefined) return plan
    if (refusal !== undefined || neverFits(all)) throw await tooLarge(offersTools)
    return undefined
  }

  /**
   * Asks the model for a summary, which takes the place of most messages. With the same tools as other requests, so that
   * it is paid for as one that the server has kept; a model that calls one all the same is asked again without tools.
   * Returns the refusal of the request because of its length, after which one with shorter texts may fit.
   */
  async function summarize(
    prompt: OpenPrompt,
    compaction: Compaction,
    offersTools: boolean,
  ): Promise<BatonError | undefined> {
    for (const withTools of offersTools ? [true, false] : [false]) {
      const isTold = wasAnswered()
      try {
        const { answer } = await askForSummary(prompt, compaction, withTools)
        const text = textOf(answer).trim()
        if (text === '' || !isWhole.has(answer.finish)) continue
        shorten(compaction, { text, isTold })
        return undefined
      } catch (error) {
        if (!isTooLong(error)) throw error
        refusal = error
        if (compaction.cut !== undefined) throw await tooLarge(offersTools)
        room.refusedSummary(log.all(), toolsOf(offersTools))
        return error
      }
    }
    throw new BatonError('MODEL_FAILED', 'the conversation has become too long, and the model did not summarize it', {
      hint: 'Resume the run to ask it again.',
    })
  }

  async function askForSummary(
    prompt: OpenPrompt,
    compaction: Compaction,
    withTools: boolean,
  ): Promise<ModelCallResult> {
    const before = log.hashOf(compaction.from)
    const now = { messages: [instruction], tools: withTools ? offered() : undefined, ...defined({ before }) }
    const { messages, tools } = await conversation.recordedAs(now)
    const { answered } = await conversation.send(prompt, {
      type: 'summary',
      request: {
        ...(most === undefined ? {} : { max_tokens: Math.max(most, leastSummary) }),
        ...defined({ tools }),
        messages: [...messagesToSummarize(log.all(), compaction), ...messages],
      },
      recorded: { messages, compaction, ...defined({ before }) },
      acceptsEmpty: true,
    })
    prompt.spend(answered)
    return answered
  }

  /** Makes the conversation shorter: the next request records all of it. */
  function shorten(
    compaction: Compaction,
    { text, isTold }: { readonly text?: string; readonly isTold: boolean },
  ): void {
    const before = log.all()
    const { messages, positionOf } = compacted(before, compaction, text)
    const tokens = room.sizeOf(before, offered())
    log.replace(messages, positionOf)
    room.compacted()
    conversation.onShorter()
    if (isTold) return
    emit({
      type: 'conversation.compacted',
      reason: compaction.why,
      messages: compaction.from - compaction.keeps.length,
      tokens_before: Math.round(tokens),
      tokens_after: Math.round((tokens * estimateTokens(messages)) / Math.max(1, estimateTokens(before))),
    })
  }

  function toolsOf(offersTools: boolean): OfferedTools {
    return offersTools ? offered() : []
  }

  async function tooLarge(offersTools: boolean): Promise<BatonError> {
    const chosen = await model()
    const { label = 'the model' } = chosen ?? {}
    return doesNotFit(log.all(), { refusal, tools: toolsOf(offersTools), label, window: await windowOf(), compactAt })
  }

  async function model(): Promise<ChosenModel | undefined> {
    try {
      return await conversation.chosen()
    } catch {
      // the request reports it
      return undefined
    }
  }

  async function windowOf(): Promise<number | undefined> {
    const chosen = await model()
    return chosen && (await conversation.prices()).windowOf(chosen.priced)
  }

  return {
    prepare,
    async refused(error, offersTools) {
      refusal = error
      // once: a request that is too long even then never fits
      if (room.isCompacted()) throw await tooLarge(offersTools)
      room.refused(log.all(), toolsOf(offersTools))
    },
    answered(answer) {
      refusal = undefined
      room.answered(answer)
    },
  }
}
