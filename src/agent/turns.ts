import { modelText } from '../base/model-text.ts'
import { defined, isObject } from '../base/json.ts'
import {
  isOffered,
  isSentAtFirst,
  type ModelAgent,
  type ModelEnd,
  type Tool,
  type ToolResult,
  type ToolUse,
} from '../event/agent.ts'
import { below, emit, type RunContext, withScope, withServices } from '../event/context.ts'
import {
  type Message,
  type SupportedFiles,
  textMessage,
  textOf,
  type ToolCallPart,
  toolCallsOf,
} from '../event/message.ts'
import type { RecordedRequest } from '../event/effects.ts'
import type { ProgramDecision } from '../event/permission.ts'
import { callPlace, part, type Place, placeText } from '../event/place.ts'
import { estimateTokens } from '../model/estimate.ts'
import { candidates } from '../model/cool-down.ts'
import type { FinishReason } from '../model/provider.ts'
import { passesFilters } from '../tool/tool-filter.ts'
import type { Compaction } from './compaction.ts'
import type { LastAnswer } from './context-room.ts'
import { createMessageLog, type MessageLog, type OfferedTools, type RecordedMessages } from './message-log.ts'
import { type ModelCallResult, type Question, askModels, isTooLong } from './model-call.ts'
import type { AskOptions, CalledTool, ProgramStep, Reply } from './modes/mode.ts'
import type { OpenPrompt } from './open-prompt.ts'
import type { AgentParts } from './parts.ts'
import type { RequestTexts } from './recorded-wording.ts'
import type { Shortening } from './shortening.ts'
import { createProgramWork } from './program-work.ts'
import { mapSiblings } from '../base/concurrency.ts'
import { callTool, type RunningCalls } from './tool-calls.ts'

/** How many tools of one turn run at the same time. */
const toolsAtOnce = 8

/** Tokens: no model that is in use has a smaller window. */
const alwaysFits = 3000
/** Tokens of a first request: nothing of it can be left out but earlier messages of a chat. */
const firstFits = 60_000

/** A request of the next turn. */
export interface Sending extends Pick<Question, 'recorded' | 'acceptsEmpty'> {
  readonly type: 'agent_message' | 'summary'
  readonly request: Question['request']
}

interface BrokenAnswer {
  readonly text: string
  readonly itemId: string
}

/** The places of a conversation's turns. */
export interface TurnPlaces {
  /** Where events are sent from. */
  readonly opener: RunContext
  /** Where turns are recorded. */
  readonly context: RunContext
}

/**
 * The turns of one conversation: what is asked and what is called for its prompts. Requests and calls are recorded by
 * the number of the turn, so that a resumed run repeats nothing.
 */
export interface Turns {
  readonly log: MessageLog
  /** Whether an earlier process of this run already got the answer to the next turn, and reported why it was asked. */
  readonly wasAnswered: () => boolean
  /** Whether a replayed run made no request for the next turn. */
  readonly endsHere: () => boolean
  /** Where the next turn is recorded. */
  readonly place: () => Place
  /** The tools that may be called. */
  readonly tools: readonly Tool[]
  /** The names of those that are offered to the model. */
  readonly offered: readonly string[]
  /** The required form of the whole answer. */
  readonly output?: NonNullable<ModelAgent['output']>
  /**
   * Waits until a message for the conversation has arrived, which the next request delivers. False: there is none, and
   * none will arrive. @throws a suspension if every possible sender waits for the user
   */
  readonly hasMail: (signal: AbortSignal) => Promise<boolean>
  /**
   * Delivers messages for the conversation, asks the model with all messages, and adds its answer to them.
   * @throws BatonError of the model call
   */
  readonly ask: (prompt: OpenPrompt, options?: AskOptions) => Promise<Reply>
  /**
   * The text of an answer that did not arrive in full, because the last request failed or was stopped, and the item that
   * it was streamed as; undefined: there is none.
   */
  readonly broken: () => BrokenAnswer | undefined
  /** The messages after the last request that it did not deliver, without the answer to it; none before the first. */
  readonly undelivered: () => readonly Message[]
  /** The place of the last turn; before the first, that of the conversation. */
  readonly lastPlace: () => Place
  /** Adds a message about the last answer, and warns unless an earlier process did. */
  readonly askAgain: (message: string, warning: string) => void
  /** Runs calls of the last answer concurrently, and adds their results. @throws errors that end the run */
  readonly runTools: (prompt: OpenPrompt, calls: readonly ToolCallPart[]) => Promise<readonly CalledTool[]>
  /** Runs a program, or other work of a mode, as one call of the last turn. @throws errors that end the run */
  readonly runProgram: (
    prompt: OpenPrompt,
    start: Pick<ProgramStep, 'function' | 'input' | 'run'>,
  ) => Promise<ToolResult>
  /** Adds error results for calls that are not run: hosts reject a request with an open call. */
  readonly refuse: (calls: readonly ToolCallPart[], why: string) => void
  /** Adds a result as a message of the user. */
  readonly tell: (result: ToolResult) => void
  /** Answers the question of a running call, by the id of its output; a no-op for other ids. */
  readonly approve: (callId: string) => Promise<void>
  readonly reject: (callId: string, reason?: string) => Promise<void>
}

export function createTurns(agent: ModelAgent, parts: AgentParts, { opener, context }: TurnPlaces): Turns {
  const { maxTurns = Infinity, fallbackModels = [], output, acceptsEmpty = false, inbox } = agent
  const { tools: filters } = context.scope.rights
  const tools = (agent.tools ?? []).filter(({ name }) => passesFilters(name, filters))
  const { said = [] } = agent
  const offering = tools.filter((tool) => isOffered(tool) && tool.isDeferred !== true)
  let offered: OfferedTools = offering.filter((tool) => isSentAtFirst(tool, said)).map(definitionOf)
  const idle = offering.filter((tool) => !isSentAtFirst(tool, said))
  const { model = '', ...settings } = agent.settings
  const log = createMessageLog({ said, portable: context.services.portable })
  const { compactAt } = opener.scope
  let requested: { readonly turn: number; readonly request: RecordedRequest | undefined } | undefined
  let last: LastAnswer | undefined
  let shortening: Shortening | undefined
  let turns = 0
  /** How many answers there were. */
  let asked = 0
  /** Of the model that answered last. */
  let taken: SupportedFiles | undefined
  /** How many calls of the last turn have run. */
  let ran = 0
  let broken: BrokenAnswer | undefined
  /** The name of the model that is asked first. */
  let first = model
  /** How many messages requests and answers have recorded. */
  let delivered = 0
  const running: RunningCalls = new Map()
  const conversation = () => ({ messages: log.all, ...(first === '' ? {} : { model: first }) })

  /** Records which messages a request delivers: the others are delivered by a later request, in any process. */
  async function takeMail(place: Place): Promise<void> {
    if (inbox?.isOpen() !== true) return
    const inboxCall = { name: 'inbox', args: null }
    const { effects } = opener.services
    const told = await effects.observeAsync([...place, part('inbox')], inboxCall, async () => [...inbox.waiting()])
    inbox.know(told.map(({ id }) => id))
    if (told.length > 0) log.addOwn([textMessage('user', told.map(({ text }) => text).join('\n\n'))])
  }

  const nextPlace = (): Place => below(context, { kind: 'turn', index: turns }).scope.at

  /** The places of the calls of the next turn. */
  function nextCalls(): readonly Place[] {
    return [model, ...fallbackModels].map((_, index) => callPlace(nextPlace(), index))
  }

  function wasAnswered(): boolean {
    return nextCalls().some((at) => opener.services.effects.wasDone(at))
  }

  /** The tools that requests do not carry yet. */
  function unsent(): readonly Tool[] {
    const names = new Set(offered.map(({ name }) => name))
    return idle.filter(({ name }) => !names.has(name))
  }

  /** Adds the tools that are no longer idle at the end of the list, so that a host keeps what it has cached of those before. */
  function sendMoreTools(): void {
    const more = unsent().filter((tool) => tool.isIdle?.(said) !== true)
    offered = [...offered, ...more.map(definitionOf)]
  }

  /** What an earlier process requested in the next turn, which is read once. */
  function requestedNext(): RecordedRequest | undefined {
    if (requested?.turn !== turns) {
      const { effects } = opener.services
      const [request] = nextCalls().flatMap((at) => effects.requested(at) ?? [])
      requested = { turn: turns, request }
    }
    return requested.request
  }

  /** The next request in the words in which an earlier process said it, if it is the same request. */
  async function recordedAs(next: RequestTexts): Promise<RequestTexts> {
    const before = requestedNext()
    if (before === undefined) return next
    const { withRecordedWording } = await import('./recorded-wording.ts')
    return withRecordedWording({ ...next, unsentTools: unsent().map(definitionOf), isOwn: log.isOwn }, before)
  }

  async function takeRecorded(offersTools: boolean): Promise<void> {
    const recorded = await recordedAs({ ...log.next(), tools: offersTools ? offered : undefined })
    log.takeNext(recorded)
    offered = recorded.tools ?? offered
  }

  const idOf = (index: number): string => `${placeText(opener.scope.at)}/message${index === 0 ? '' : `-${index + 1}`}`

  /** Asks the model with all messages; if they are too long for it, or nearly, they are made shorter first. */
  async function ask(prompt: OpenPrompt, options: AskOptions = {}): Promise<Reply> {
    first = prompt.asksFor ?? model
    sendMoreTools()
    const offersTools = (options.tools ?? true) && offered.length > 0
    for (;;) {
      await takeMail(nextPlace())
      const next = needsRoom(offersTools) ? await (await openShortening()).prepare(prompt, offersTools) : 'ask'
      if (next === 'again') continue
      try {
        return await askNow(prompt, { ...options, tools: offersTools }, next === 'ask' ? undefined : next)
      } catch (error) {
        if (!isTooLong(error)) throw error
        await (await openShortening()).refused(error, offersTools)
      }
    }
  }

  async function askNow(
    prompt: OpenPrompt,
    { tools: offersTools = true, output: isFinal = true, acceptsEmpty: takesEmpty = false }: AskOptions,
    compaction: Compaction | undefined,
  ): Promise<Reply> {
    const isTold = wasAnswered()
    await takeRecorded(offersTools)
    delivered = log.all().length
    const { id, answered } = await send(prompt, {
      type: 'agent_message',
      request: {
        ...(output === undefined || !isFinal ? {} : { output }),
        ...(offersTools ? { tools: offered } : {}),
        messages: log.all(),
      },
      recorded: { ...log.next(), ...defined({ compaction }) },
      acceptsEmpty: acceptsEmpty || takesEmpty,
    })
    const { answer, empty } = answered
    asked += 1
    prompt.count(answered)
    taken = answered.chosen.taken
    if (!isTold && empty === undefined) warnOfAnswer(answered, { agent, offersTools }, opener)
    const calls = offersTools ? toolCallsOf(answer) : []
    const content = calls.length === 0 ? withoutCalls(answer.parts) : answer.parts
    // servers refuse a message without content
    log.answered(empty === undefined ? { role: 'assistant', parts: content } : undefined)
    delivered = log.all().length
    const { input, output: written } = answer.usage
    // a model that counts no tokens
    last = input + written === 0 ? undefined : { input, tokens: input + written, messages: log.all().length }
    shortening?.answered(last)
    const end = endOf(answer.finish)
    return { text: textOf(answer), calls, itemId: id, isLast: asked >= maxTurns, end, ...defined({ empty }) }
  }

  /** Makes the request of the next turn. */
  async function send(
    prompt: OpenPrompt,
    { type, request, recorded, acceptsEmpty: takesEmpty }: Sending,
  ): Promise<{ readonly id: string; readonly answered: ModelCallResult }> {
    const at = nextPlace()
    const index = turns
    const id = idOf(index)
    turns += 1
    ran = 0
    broken = undefined
    emit(opener, { type: 'item.started', item: { id, type } })
    const answered = await askModels(
      {
        at,
        models: [first, ...fallbackModels],
        request: { ...settings, ...request },
        recorded,
        itemId: id,
        acceptsEmpty: takesEmpty,
        isBatched: type === 'agent_message' && agent.isBatched === true && index === 0,
        ...(type === 'agent_message'
          ? { onBroken: (text) => void (broken = text.trim() === '' ? undefined : { text, itemId: id }) }
          : {}),
      },
      parts,
      withServices(opener, { signal: prompt.signal }),
    )
    // an earlier try may have failed
    broken = undefined
    emit(opener, { type: 'item.completed', item: { id, type, text: textOf(answered.answer) } })
    return { id, answered }
  }

  /** Whether it has to be looked at, before the next request, if that fits. */
  function needsRoom(offersTools: boolean): boolean {
    if (shortening !== undefined || recordedNext()?.compaction !== undefined) return true
    const fits = last === undefined ? firstFits : alwaysFits
    const least = typeof compactAt === 'number' && compactAt >= 1 ? Math.min(fits, compactAt) : fits
    const added = estimateTokens(log.all().slice(last?.messages ?? 0), offersTools ? offered : [])
    return compactAt !== false && (last?.tokens ?? 0) + added >= least
  }

  function recordedNext(): RecordedMessages | undefined {
    const { request } = requestedNext() ?? {}
    return isObject(request) ? (request as unknown as RecordedMessages) : undefined
  }

  async function openShortening(): Promise<Shortening> {
    const { createShortening } = await import('./shortening.ts')
    return (shortening ??= createShortening(last, {
      log,
      compactAt,
      settings,
      offered: () => offered,
      recordedNext,
      wasAnswered,
      send,
      recordedAs,
      emit: (event) => emit(opener, event),
      onShorter() {
        last = undefined
        delivered = log.all().length
      },
      async chosen() {
        const [name = ''] = candidates([first, ...fallbackModels], parts.coolDown)
        return parts.chooseModel(name === '' ? undefined : name)
      },
      prices: parts.prices,
    }))
  }

  function refuse(calls: readonly ToolCallPart[], why: string): void {
    log.addOwn(calls.map((call) => refusedCall(call, why)))
  }

  function decide(callId: string, decision: ProgramDecision): void {
    const at = running.get(callId)
    if (at !== undefined) opener.services.questions?.answer(at, decision)
  }

  return {
    log,
    wasAnswered,
    endsHere: () => nextCalls().every((at) => opener.services.effects.lacks?.(at) === true),
    place: nextPlace,
    tools,
    offered: offering.map(({ name }) => name),
    ...(output === undefined ? {} : { output }),
    hasMail: async (signal) => inbox !== undefined && inbox.next(signal),
    ask,
    broken: () => broken,
    undelivered: () => (turns === 0 ? [] : log.all().slice(delivered)),
    lastPlace: () => (turns === 0 ? context.scope.at : below(context, { kind: 'turn', index: turns - 1 }).scope.at),
    askAgain(message, warning) {
      if (!wasAnswered()) emit(opener, { type: 'warning', message: warning })
      log.add([textMessage('user', message)])
    },
    async runTools(prompt, calls) {
      const { signal, timeline } = prompt
      const turn = below(context, { kind: 'turn', index: turns - 1 })
      const begin = ran
      ran += calls.length
      const finished = new Map<number, CalledTool>()
      try {
        const called = await mapSiblings(calls, { limit: toolsAtOnce, signal }, async (sent, sibling, inner) => {
          const call = intendedCall(sent, tools)
          const index = begin + sibling
          const place = withScope(below(turn, { kind: 'tool', index, name: call.name }), defined({ taken }))
          const at = withServices(place, { signal: inner, conversation: conversation() })
          const { name, input } = call
          const asked = { id: `${idOf(turns - 1)}/${index}`, name, input }
          const one = { call, result: await callTool(asked, { tools, opener, context: at, timeline, running }) }
          finished.set(sibling, one)
          return one
        })
        log.addOwn(called.map(resultMessage))
        for (const one of called) prompt.reserveUse()(useOf(one))
        return called
      } catch (error) {
        log.addOwn(
          calls.map((call, sibling) => {
            const one = finished.get(sibling)
            return one === undefined ? refusedCall(call, modelText`interrupted`) : resultMessage(one)
          }),
        )
        throw error
      }
    },
    async runProgram({ mode, signal, timeline, reserveUse }, { function: name, input, run }) {
      const index = ran
      ran += 1
      const id = `${idOf(turns - 1)}/${index}`
      const place = below(context, { kind: 'turn', index: turns - 1 }, { kind: 'tool', index, name })
      const at = withServices(place, { conversation: conversation(), signal })
      const isApproved = opener.scope.modeOptions?.[mode]?.['auto_approve'] === true
      const program = createProgramWork({
        context: at,
        opener,
        id,
        name,
        tools,
        timeline,
        running,
        isApproved,
        onCall: reserveUse,
      })
      const own: Tool = { name, description: '', parameters: {}, run: () => run(program) }
      const call = { id, name, input: JSON.stringify(input) }
      return callTool(call, { tools: [own], opener, context: at, timeline })
    },
    refuse,
    tell: ({ text, files = [] }) => log.addOwn([{ role: 'user', parts: [{ type: 'text', text }, ...files] }]),
    approve: async (callId) => decide(callId, 'allow'),
    reject: async (callId, reason) => decide(callId, reason === undefined ? 'deny' : { remark: reason }),
  }
}

function definitionOf({ name, description, parameters }: Tool): OfferedTools[number] {
  return { name, description, parameters }
}

/** The call that a model means, if it calls a tool by another one. */
function intendedCall(call: ToolCallPart, tools: readonly Tool[]): ToolCallPart {
  const other = tools.find(({ name }) => name === call.name)?.meant?.(call.input)
  return other === undefined ? call : { ...call, ...other }
}

function resultMessage({ call: { id }, result: { text, files = [], isError } }: CalledTool): Message {
  const parts = [{ type: 'text', text } as const, ...files]
  return { role: 'tool', parts: [{ type: 'tool_result', id, parts, ...(isError === true ? { is_error: true } : {}) }] }
}

/** The result of a call that was not finished: hosts reject a request with a call without result. */
function refusedCall({ id }: ToolCallPart, text: string): Message {
  return { role: 'tool', parts: [{ type: 'tool_result', id, parts: [{ type: 'text', text }], is_error: true }] }
}

function useOf({ call: { id, name, input }, result: { text: output, isError } }: CalledTool): ToolUse {
  return { id, name, input, output, ...(isError === true ? { is_error: true } : {}) }
}

/** The answer without calls of tools that were not offered, and without reasoning that led only to them. */
function withoutCalls(parts: Message['parts']): Message['parts'] {
  const said = parts.filter(({ type }) => type !== 'tool_call')
  return said.length === parts.length
    ? parts
    : said.slice(0, said.findLastIndex(({ type }) => type !== 'reasoning') + 1)
}

function endOf(finish: FinishReason): ModelEnd {
  switch (finish) {
    case 'length':
      return 'max_tokens'
    case 'incomplete':
    case 'content_filter':
      return 'incomplete'
    case 'stop':
    case 'tool_calls':
    case 'refusal':
    case 'other':
      return 'done'
  }
}

/** Warns about an incomplete or empty answer. */
function warnOfAnswer(
  { chosen, answer }: ModelCallResult,
  { agent, offersTools }: { readonly agent: ModelAgent; readonly offersTools: boolean },
  context: RunContext,
): void {
  const { label } = chosen
  const isCall = offersTools && toolCallsOf(answer).length > 0
  if (textOf(answer).trim() === '' && !isCall) {
    emit(context, { type: 'warning', message: `${label} returned an empty answer` })
  }
  const trouble = isCall ? undefined : troubles[answer.finish]
  if (trouble !== undefined) emit(context, { type: 'warning', message: `${label} ${trouble}` })
  if (answer.finish === 'length') {
    emit(context, { type: 'warning', message: 'the answer was truncated at its output limit', hint: lengthHint(agent) })
  }
}

/** Warnings for finish reasons after which the answer is incomplete. */
const troubles: { readonly [K in FinishReason]?: string } = {
  content_filter: 'was stopped by its content filter: the answer is incomplete',
  refusal: 'refused to answer: its text is the refusal',
  incomplete: 'stopped early: the answer is incomplete',
  tool_calls: 'called a tool, but none is offered: the answer may be incomplete',
}

/** Agents of AIPack have no max_tokens: there the model's own limit applies. */
function lengthHint({ name }: ModelAgent): string {
  return name === 'main' ? 'Raise max_tokens.' : 'Ask for less at a time, or name a model with a higher output limit.'
}
