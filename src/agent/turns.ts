import { defined, isObject, type Json } from '../base/json.ts'
import { isOffered, type ModelAgent, type ModelEnd, type Tool, type ToolUse } from '../event/agent.ts'
import { below, emit, type RunContext, withScope, withServices } from '../event/context.ts'
import { type Message, type TakenFiles, textMessage, textOf, type ToolCallPart, toolCallsOf } from '../event/message.ts'
import type { SpokenDecision } from '../event/permission.ts'
import { callPlace, part, type Place, placeText } from '../event/place.ts'
import type { FinishReason, ModelRequest } from '../model/provider.ts'
import { passesFilters } from '../tool/tool-filter.ts'
import { createMessageLog, type MessageLog } from './message-log.ts'
import type { CalledTool } from './modes/mode.ts'
import type { Timeline } from './modes/timeline.ts'
import type { AgentParts } from './parts.ts'
import { mapSiblings } from './siblings.ts'
import { callTool, type RunningCalls } from './tool-calls.ts'
import { type Answered, askModels } from './turn.ts'
import { differsOnlyInOwnTexts, hasOwnText } from '../base/model-text.ts'
import type { RequestedBefore } from '../event/effects.ts'
import { toolNames } from '../tool/toolbox/rows.ts'
import type { RecordedMessages } from './model-call.ts'

/** How many tools of one turn run at the same time. */
const toolsAtOnce = 8

/** The places of a conversation's turns. */
export interface TurnPlaces {
  /** Where events are sent from. */
  readonly opener: RunContext
  /** Where turns are recorded. */
  readonly context: RunContext
}

interface TurnOptions {
  /** False: no tools are offered to the model. */
  readonly tools?: boolean
  /** False: its answer need not fit `[output]`. */
  readonly output?: boolean
  /** An empty answer is accepted if there is no further model to ask. */
  readonly acceptsEmpty?: boolean
  /** It is asked with its highest effort. */
  readonly isHigh: boolean
  readonly signal: AbortSignal
}

interface Turn extends Answered {
  readonly calls: readonly ToolCallPart[]
  readonly itemId: string
  /** `max_turns` is reached: this message allows no further turn. */
  readonly isLast: boolean
}

/** The turns of one conversation. Requests and tool calls are recorded by turn number. */
export interface Turns {
  readonly log: MessageLog
  /** Whether an earlier process of this run already got the answer to the next turn, and reported why it was asked. */
  readonly wasAnswered: () => boolean
  /** Whether a replayed run made no request for the next turn. */
  readonly endsHere: () => boolean
  /** Where the next turn is recorded. */
  readonly place: () => Place
  /** The tools that may be offered. */
  readonly tools: readonly Tool[]
  /** The required form of the whole answer. */
  readonly output?: NonNullable<ModelAgent['output']>
  /**
   * Waits until a message for the conversation has arrived, which the next request delivers. False: there is none, and
   * none will arrive. @throws a suspension if every possible sender waits for the user
   */
  readonly hasMail: (signal: AbortSignal) => Promise<boolean>
  /** Adds messages for the conversation first. @throws BatonError of the model call */
  readonly ask: (options: TurnOptions) => Promise<Turn>
  /** Runs the calls of the last turn. @throws errors that end the run */
  readonly runTools: (
    calls: readonly ToolCallPart[],
    options: { readonly signal: AbortSignal; readonly timeline: Timeline },
  ) => Promise<readonly CalledTool[]>
  /** The place and id of the next call of the last turn, which the mode runs itself. */
  readonly ownCall: (name: string) => { readonly context: RunContext; readonly id: string }
  /** The places of running calls, by their ids. */
  readonly running: RunningCalls
  /** Answers the question of a running call, by the id of its output; a no-op for other ids. */
  readonly decide: (callId: string, decision: SpokenDecision) => void
}

export function createTurns(agent: ModelAgent, parts: AgentParts, { opener, context }: TurnPlaces): Turns {
  const { maxTurns = Infinity, fallbackModels = [], output, acceptsEmpty = false, inbox } = agent
  const { tools: filters } = context.scope.rights
  const tools = (agent.tools ?? []).filter(({ name }) => passesFilters(name, filters))
  let offered: OfferedTools = tools
    .filter(isOffered)
    .map(({ name, description, parameters }) => ({ name, description, parameters }))
  const { model = '', ...settings } = agent.settings
  const log = createMessageLog({ said: agent.said, portable: context.services.portable })
  let turns = 0
  /** Of the model that answered last. */
  let taken: TakenFiles | undefined
  /** How many calls of the last turn have run. */
  let ran = 0
  const running: RunningCalls = new Map()
  const conversation = { messages: log.all, ...(model === '' ? {} : { model }) }

  /** Records which messages a request delivers: the others are delivered by a later request, in any process. */
  async function takeMail(place: Place): Promise<void> {
    if (inbox?.isOpen() !== true) return
    const asked = { name: 'inbox', args: null }
    const { effects } = opener.services
    const told = await effects.observeAsync([...place, part('inbox')], asked, async () => [...inbox.waiting()])
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

  /** Says the next request in the words in which an earlier process did, if it is the same request. */
  function takeRecorded(place: Place, offersTools: boolean): void {
    const { effects } = opener.services
    const [before] = [model, ...fallbackModels].flatMap((_, index) => effects.requested(callPlace(place, index)) ?? [])
    if (before === undefined) return
    const said = { ...log.next(), tools: offersTools ? offered : undefined, isOwn: log.isOwn }
    const recorded = asRecorded(said, before)
    log.takeNext(recorded)
    offered = recorded.tools ?? offered
  }

  const idOf = (index: number): string => `${placeText(opener.scope.at)}/message${index === 0 ? '' : `-${index + 1}`}`

  return {
    log,
    wasAnswered,
    endsHere: () => nextCalls().every((at) => opener.services.effects.lacks?.(at) === true),
    place: () => below(context, { kind: 'turn', index: turns }).scope.at,
    tools,
    ...(output === undefined ? {} : { output }),
    hasMail: async (signal) => inbox !== undefined && inbox.next(signal),
    async ask({
      tools: offers = true,
      output: isFinal = true,
      acceptsEmpty: takesEmpty = acceptsEmpty,
      isHigh,
      signal,
    }) {
      const index = turns
      const isTold = wasAnswered()
      turns += 1
      ran = 0
      const place = below(context, { kind: 'turn', index })
      const id = idOf(index)
      const item = { id, type: 'agent_message' } as const
      const offersTools = offers && offered.length > 0
      await takeMail(place.scope.at)
      takeRecorded(place.scope.at, offersTools)
      emit(opener, { type: 'item.started', item })
      const answered = await askModels(
        {
          at: place.scope.at,
          models: [model, ...fallbackModels],
          request: {
            ...settings,
            ...(isHigh ? { reasoning_effort: 'high' } : {}),
            ...(output === undefined || !isFinal ? {} : { output }),
            ...(offersTools ? { tools: offered } : {}),
            messages: log.all(),
          },
          recorded: log.next(),
          itemId: id,
          acceptsEmpty: takesEmpty,
        },
        parts,
        withServices(opener, { signal }),
      )
      const { answer } = answered
      taken = answered.chosen.taken
      if (!isTold) warnOfAnswer(answered, { agent, offersTools }, opener)
      emit(opener, { type: 'item.completed', item: { ...item, text: textOf(answer) } })
      const calls = offersTools ? toolCallsOf(answer) : []
      log.answered({ role: 'assistant', parts: calls.length === 0 ? withoutCalls(answer.parts) : answer.parts })
      return { ...answered, calls, itemId: id, isLast: turns >= maxTurns }
    },
    async runTools(calls, { signal, timeline }) {
      const turn = below(context, { kind: 'turn', index: turns - 1 })
      const first = ran
      ran += calls.length
      return mapSiblings(calls, { limit: toolsAtOnce, signal }, async (call, sibling, inner) => {
        const index = first + sibling
        const place = withScope(below(turn, { kind: 'tool', index, name: call.name }), defined({ taken }))
        const at = withServices(place, { signal: inner, conversation })
        const { name, input } = call
        const id = `${idOf(turns - 1)}/${index}`
        return { call, result: await callTool({ id, name, input }, { tools, opener, context: at, timeline, running }) }
      })
    },
    ownCall(name) {
      const index = ran
      ran += 1
      const at = below(context, { kind: 'turn', index: turns - 1 }, { kind: 'tool', index, name })
      return { context: withServices(at, { conversation }), id: `${idOf(turns - 1)}/${index}` }
    },
    running,
    decide(callId, decision) {
      const at = running.get(callId)
      if (at !== undefined) opener.services.questions?.answer(at, decision)
    },
  }
}

export function resultMessage({ call: { id }, result: { text, files = [], isError } }: CalledTool): Message {
  const parts = [{ type: 'text', text } as const, ...files]
  return { role: 'tool', parts: [{ type: 'tool_result', id, parts, ...(isError === true ? { is_error: true } : {}) }] }
}

/** The result of a call that was not finished: hosts reject a request with a call without result. */
export function refusedCall({ id }: ToolCallPart, text: string): Message {
  return { role: 'tool', parts: [{ type: 'tool_result', id, parts: [{ type: 'text', text }], is_error: true }] }
}

export function useOf({ call: { id, name, input }, result: { text: output, isError } }: CalledTool): ToolUse {
  return { id, name, input, output, ...(isError === true ? { is_error: true } : {}) }
}

/** The answer without calls of tools that were not offered, and without reasoning that led only to them. */
function withoutCalls(parts: Message['parts']): Message['parts'] {
  const said = parts.filter(({ type }) => type !== 'tool_call')
  return said.length === parts.length
    ? parts
    : said.slice(0, said.findLastIndex(({ type }) => type !== 'reasoning') + 1)
}

export function endOf(finish: FinishReason): ModelEnd {
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
  { chosen, answer }: Answered,
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

export type OfferedTools = NonNullable<ModelRequest['tools']>

/** What a request says that may contain texts of this program. */
interface Said extends RecordedMessages {
  readonly tools: OfferedTools | undefined
}

interface Now extends Said {
  /** Whether this program made a message, from what the record has anyway. */
  readonly isOwn: (message: Message) => boolean
}

/**
 * A request in the words in which it was recorded: the version that recorded it may have worded its own texts
 * differently, and had other tools of its own. What differs otherwise stays as it is now.
 */
export function asRecorded(now: Now, { request, sources, files }: RequestedBefore): Said {
  if (!isObject(request) || !Array.isArray(request['messages'])) return now
  const then = request as unknown as Said
  if (now.before?.count !== then.before?.count) return now
  return {
    messages: messagesAsRecorded(now, then.messages, files),
    tools: areSameTools(now.tools, then.tools, sources) ? then.tools : now.tools,
    ...(then.before && { before: then.before }),
  }
}

function messagesAsRecorded(
  { messages, isOwn }: Now,
  then: readonly Message[],
  files: RequestedBefore['files'],
): readonly Message[] {
  const isMade = (message: Message): boolean => files === 'recorded' && isOwn(message)
  if (messages.length !== then.length) {
    return messages.every(isMade) && callsIn(messages) === callsIn(then) ? then : messages
  }
  return messages.map((message, index) => {
    const other = then[index] as Message
    if (message.role !== other.role) return message
    const isSame = isMade(message) ? callsIn([message]) === callsIn([other]) : isSameValue(message, other)
    return isSame ? other : message
  })
}

/** The ids of the calls whose results they are. */
function callsIn(messages: readonly Message[]): string {
  const ids = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'tool_result' ? [part.id] : [])))
  return ids.join('\n')
}

function areSameTools(
  now: OfferedTools | undefined,
  then: OfferedTools | undefined,
  sources: RequestedBefore['sources'],
): boolean {
  if (now === undefined || then === undefined) return now === then
  const recorded = new Map(then.map((tool) => [tool.name, tool]))
  const current = new Set(now.map(({ name }) => name))
  const areKept = then.every(({ name }) => current.has(name) || sources === 'recorded' || isGone(name))
  return areKept && now.every((tool) => isSameTool(tool, recorded.get(tool.name), sources))
}

function isSameTool(
  now: OfferedTools[number],
  then: OfferedTools[number] | undefined,
  sources: RequestedBefore['sources'],
): boolean {
  if (then === undefined) return sources === 'recorded'
  // then nothing but this program can make its own tools different: the description of one may name others
  if (sources === 'recorded' && hasOwnText(now.description)) return true
  if (!differsOnlyInOwnTexts(now.description, then.description)) return false
  // another version may have other parameters
  return hasOwnText(now.description) || isSameValue(now.parameters, then.parameters)
}

/** Whether no tool of this program, and none of a server, has the name. */
function isGone(name: string): boolean {
  return !name.includes('__') && !(toolNames as readonly string[]).includes(name)
}

function isSameValue(now: unknown, then: unknown): boolean {
  return differsOnlyInOwnTexts(JSON.parse(JSON.stringify(now)) as Json, JSON.parse(JSON.stringify(then)) as Json)
}
