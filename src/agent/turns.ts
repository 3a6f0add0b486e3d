import { modelText } from '../base/model-text.ts'
import { BatonError } from '../base/error.ts'
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
import type { ProgramDecision } from '../event/permission.ts'
import { callPlace, part, type Place, placeText } from '../event/place.ts'
import { estimateTokens } from '../model/estimate.ts'
import { candidates } from '../model/cool-down.ts'
import type { FinishReason } from '../model/provider.ts'
import { passesFilters } from '../tool/tool-filter.ts'
import type { Compaction } from './compaction.ts'
import { createContextRoom } from './context-room.ts'
import { withRecordedWording, createMessageLog, type MessageLog, type OfferedTools, type Said } from './message-log.ts'
import { type Answer, type ModelCallResult, askModels, isTooLong } from './model-call.ts'
import type { AskOptions, CalledTool, ProgramStep, Reply } from './modes/mode.ts'
import type { OpenPrompt } from './open-prompt.ts'
import type { AgentParts, ChosenModel } from './parts.ts'
import { createProgramWork } from './program-work.ts'
import { mapSiblings } from '../base/concurrency.ts'
import { callTool, type RunningCalls } from './tool-calls.ts'

/** How many tools of one turn run at the same time. */
const toolsAtOnce = 8

/** Tokens that most answers do not exceed, and what a summary may have at least. */
const usualOutput = 32_000
const leastSummary = 4096

/** A request with so many times the tokens of the window is not sent: the number is an estimate. */
const certain = 2

/** How an answer ends that is a whole summary, or nearly: one that reached its limit is of more use than none. */
const isWhole: ReadonlySet<FinishReason> = new Set<FinishReason>(['stop', 'tool_calls', 'length', 'other'])

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
  const room = createContextRoom({ compactAt, output: settings.max_tokens ?? usualOutput, windowOf })
  let turns = 0
  /** How many answers there were. */
  let asked = 0
  /** Of the model that answered last. */
  let taken: SupportedFiles | undefined
  /** How many calls of the last turn have run. */
  let ran = 0
  const running: RunningCalls = new Map()
  const conversation = { messages: log.all, ...(model === '' ? {} : { model }) }

  /** Records which messages a request delivers: the others are delivered by a later request, in any process. */
  async function takeMail(place: Place): Promise<void> {
    if (inbox?.isOpen() !== true) return
    const inboxCall = { name: 'inbox', args: null }
    const { effects } = opener.services
    const told = await effects.observeAsync([...place, part('inbox')], inboxCall, async () => [...inbox.waiting()])
    inbox.know(told.map(({ id }) => id))
    if (told.length > 0) log.addOwn([textMessage('user', told.map(({ text }) => text).join('\n\n'))])
  }

  /** The places of the calls of the next turn. */
  function nextCalls(): readonly Place[] {
    const { at } = below(context, { kind: 'turn', index: turns }).scope
    return [model, ...fallbackModels].map((_, index) => callPlace(at, index))
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

  /** A request in the words in which an earlier process said it, if it is the same request. */
  function recordedAs(place: Place, next: Said): Said {
    const { effects } = opener.services
    const [before] = [model, ...fallbackModels].flatMap((_, index) => effects.requested(callPlace(place, index)) ?? [])
    if (before === undefined) return next
    return withRecordedWording({ ...next, unsentTools: unsent().map(definitionOf), isOwn: log.isOwn }, before)
  }

  function takeRecorded(place: Place, offersTools: boolean): void {
    const recorded = recordedAs(place, { ...log.next(), tools: offersTools ? offered : undefined })
    log.takeNext(recorded)
    offered = recorded.tools ?? offered
  }

  const idOf = (index: number): string => `${placeText(opener.scope.at)}/message${index === 0 ? '' : `-${index + 1}`}`

  /** The next turn: its number, its place, and whether an earlier process already got its answer. */
  function beginTurn(): { readonly index: number; readonly place: Place; readonly isTold: boolean } {
    const isTold = wasAnswered()
    const index = turns
    turns += 1
    ran = 0
    return { index, isTold, place: below(context, { kind: 'turn', index }).scope.at }
  }

  /** Asks the model with all messages; if they are too long for it, or nearly, they are made shorter first. */
  async function ask(prompt: OpenPrompt, options: AskOptions = {}): Promise<Reply> {
    sendMoreTools()
    const offersTools = (options.tools ?? true) && offered.length > 0
    let refusal: BatonError | undefined
    for (;;) {
      await takeMail(below(context, { kind: 'turn', index: turns }).scope.at)
      const compaction = await nextCompaction(offersTools, refusal)
      if (compaction?.kind === 'summary') {
        refusal = await summarize(prompt, compaction, offersTools)
        continue
      }
      if (compaction !== undefined) await shorten(compaction)
      try {
        return await askNow(prompt, options, compaction)
      } catch (error) {
        if (!isTooLong(error)) throw error
        // once: a request that is too long even then never fits
        if (room.isCompacted()) throw await tooLarge(error, offersTools)
        refusal = error
        room.refused(log.all(), offersTools ? offered : [])
      }
    }
  }

  async function askNow(
    prompt: OpenPrompt,
    { tools: offers = true, output: isFinal = true, acceptsEmpty: takesEmpty = false }: AskOptions,
    compaction: Compaction | undefined,
  ): Promise<Reply> {
    const { index, place, isTold } = beginTurn()
    const id = idOf(index)
    const item = { id, type: 'agent_message' } as const
    const offersTools = offers && offered.length > 0
    takeRecorded(place, offersTools)
    emit(opener, { type: 'item.started', item })
    const answered = await askModels(
      {
        at: place,
        models: [model, ...fallbackModels],
        request: {
          ...settings,
          ...(prompt.model === 'high' ? { reasoning_effort: 'high' } : {}),
          ...(output === undefined || !isFinal ? {} : { output }),
          ...(offersTools ? { tools: offered } : {}),
          messages: log.all(),
        },
        recorded: { ...log.next(), ...defined({ compaction }) },
        itemId: id,
        acceptsEmpty: acceptsEmpty || takesEmpty,
        isBatched: agent.isBatched === true && index === 0,
      },
      parts,
      withServices(opener, { signal: prompt.signal }),
    )
    const { answer, empty } = answered
    asked += 1
    prompt.count(answered)
    taken = answered.chosen.taken
    if (!isTold && empty === undefined) warnOfAnswer(answered, { agent, offersTools }, opener)
    emit(opener, { type: 'item.completed', item: { ...item, text: textOf(answer) } })
    const calls = offersTools ? toolCallsOf(answer) : []
    const content = calls.length === 0 ? withoutCalls(answer.parts) : answer.parts
    // servers refuse a message without content
    log.answered(empty === undefined ? { role: 'assistant', parts: content } : undefined)
    room.answered(answer.usage, log.all().length)
    return { text: textOf(answer), calls, itemId: id, isLast: asked >= maxTurns, end: endOf(answer.finish), ...defined({ empty }) }
  }

  /** How the conversation has to be made shorter before the next request, in a resumed run as it was. */
  async function nextCompaction(
    offersTools: boolean,
    refusal: BatonError | undefined,
  ): Promise<Compaction | undefined> {
    const { effects } = opener.services
    const [before] = nextCalls().flatMap((at) => effects.requested(at) ?? [])
    if (before !== undefined) return compactionIn(before.request)
    const all = log.all()
    const shortage = await room.shortage(all, offersTools ? offered : [])
    if (shortage === undefined) {
      if (refusal !== undefined) throw await tooLarge(refusal, offersTools)
      return undefined
    }
    const { planCompaction } = await import('./compaction.ts')
    const isHead = (message: Message, position: number): boolean =>
      message.role === 'system' || log.isOfPrompt(position) || log.instructions.has(textOf(message))
    const neverFits = (some: readonly Message[]): boolean => estimateTokens(some) > certain * shortage.window
    const plan = neverFits(all.filter(isHead)) ? undefined : planCompaction(all, { shortage, isHead })
    if (plan !== undefined) return plan
    if (refusal !== undefined || neverFits(all)) throw await tooLarge(refusal, offersTools)
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
      let answer: Answer
      try {
        answer = await askForSummary(prompt, compaction, withTools)
      } catch (error) {
        if (!isTooLong(error)) throw error
        if (compaction.cut !== undefined) throw await tooLarge(error, offersTools)
        room.refusedSummary(log.all(), offersTools ? offered : [])
        return error
      }
      const text = textOf(answer).trim()
      if (text === '' || !isWhole.has(answer.finish)) continue
      await shorten(compaction, { text, isTold })
      return undefined
    }
    throw new BatonError('MODEL_FAILED', 'the conversation has become too long, and the model did not summarize it', {
      hint: 'Resume the run to ask it again.',
    })
  }

  async function askForSummary(prompt: OpenPrompt, compaction: Compaction, withTools: boolean): Promise<Answer> {
    const { instruction, messagesToSummarize } = await import('./compaction.ts')
    const { index, place } = beginTurn()
    const id = idOf(index)
    const item = { id, type: 'summary' } as const
    const before = log.hashOf(compaction.from)
    const now = { messages: [instruction], tools: withTools ? offered : undefined, ...defined({ before }) }
    const { messages, tools: recordedTools } = recordedAs(place, now)
    const { max_tokens: most } = settings
    emit(opener, { type: 'item.started', item })
    const answered = await askModels(
      {
        at: place,
        models: [model, ...fallbackModels],
        request: {
          ...settings,
          ...(most === undefined ? {} : { max_tokens: Math.max(most, leastSummary) }),
          ...defined({ tools: recordedTools }),
          messages: [...messagesToSummarize(log.all(), compaction), ...messages],
        },
        recorded: { messages, compaction, ...defined({ before }) },
        itemId: id,
        acceptsEmpty: true,
      },
      parts,
      withServices(opener, { signal: prompt.signal }),
    )
    prompt.spend(answered)
    emit(opener, { type: 'item.completed', item: { ...item, text: textOf(answered.answer) } })
    return answered.answer
  }

  /** Makes the conversation shorter: the next request records all of it. */
  async function shorten(
    compaction: Compaction,
    { text, isTold = wasAnswered() }: { readonly text?: string; readonly isTold?: boolean } = {},
  ): Promise<void> {
    const { compacted } = await import('./compaction.ts')
    const before = log.all()
    const { messages, positionOf } = compacted(before, compaction, text)
    const tokensBefore = room.sizeOf(before, offered)
    log.replace(messages, positionOf)
    room.compacted()
    if (isTold) return
    emit(opener, {
      type: 'conversation.compacted',
      reason: compaction.why,
      messages: compaction.from - compaction.keeps.length,
      tokens_before: Math.round(tokensBefore),
      tokens_after: Math.round((tokensBefore * estimateTokens(messages)) / Math.max(1, estimateTokens(before))),
    })
  }

  async function tooLarge(refusal: BatonError | undefined, offersTools: boolean): Promise<BatonError> {
    const { doesNotFit } = await import('./too-large.ts')
    const tools = offersTools ? offered : []
    return doesNotFit(log.all(), { refusal, tools, label: await labelOf(), window: await windowOf(), compactAt })
  }

  /** The model that answers next. */
  async function chosenModel(): Promise<ChosenModel | undefined> {
    const [name = ''] = candidates([model, ...fallbackModels], parts.coolDown)
    try {
      return await parts.chooseModel(name === '' ? undefined : name)
    } catch {
      // the request reports it
      return undefined
    }
  }

  async function windowOf(): Promise<number | undefined> {
    const chosen = await chosenModel()
    return chosen && (await parts.prices()).windowOf(chosen.priced)
  }

  async function labelOf(): Promise<string> {
    return (await chosenModel())?.label ?? 'the model'
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
    place: () => below(context, { kind: 'turn', index: turns }).scope.at,
    tools,
    offered: offering.map(({ name }) => name),
    ...(output === undefined ? {} : { output }),
    hasMail: async (signal) => inbox !== undefined && inbox.next(signal),
    ask,
    askAgain(message, warning) {
      if (!wasAnswered()) emit(opener, { type: 'warning', message: warning })
      log.add([textMessage('user', message)])
    },
    async runTools(prompt, calls) {
      const { signal, timeline } = prompt
      const turn = below(context, { kind: 'turn', index: turns - 1 })
      const first = ran
      ran += calls.length
      try {
        const called = await mapSiblings(calls, { limit: toolsAtOnce, signal }, async (sent, sibling, inner) => {
          const call = meantBy(sent, tools)
          const index = first + sibling
          const place = withScope(below(turn, { kind: 'tool', index, name: call.name }), defined({ taken }))
          const at = withServices(place, { signal: inner, conversation })
          const { name, input } = call
          const asked = { id: `${idOf(turns - 1)}/${index}`, name, input }
          return { call, result: await callTool(asked, { tools, opener, context: at, timeline, running }) }
        })
        log.addOwn(called.map(resultMessage))
        for (const one of called) prompt.reserveUse()(useOf(one))
        return called
      } catch (error) {
        refuse(calls, modelText`interrupted`)
        throw error
      }
    },
    async runProgram({ mode, signal, timeline, reserveUse }, { function: name, input, run }) {
      const index = ran
      ran += 1
      const id = `${idOf(turns - 1)}/${index}`
      const place = below(context, { kind: 'turn', index: turns - 1 }, { kind: 'tool', index, name })
      const at = withServices(place, { conversation, signal })
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
function meantBy(call: ToolCallPart, tools: readonly Tool[]): ToolCallPart {
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

function compactionIn(request: unknown): Compaction | undefined {
  const found = isObject(request) ? request['compaction'] : undefined
  return isObject(found) ? (found as unknown as Compaction) : undefined
}
