import { defined } from '../base/json.ts'
import { isOffered, type ModelAgent, type ModelEnd, type Tool, type ToolUse } from '../event/agent.ts'
import { below, emit, type RunContext, withScope, withServices } from '../event/context.ts'
import { type Message, type TakenFiles, textMessage, textOf, type ToolCallPart, toolCallsOf } from '../event/message.ts'
import type { SpokenDecision } from '../event/permission.ts'
import { callPlace, part, type Place, placeText } from '../event/place.ts'
import type { FinishReason } from '../model/provider.ts'
import { passesFilters } from '../tool/tool-filter.ts'
import { createMessageLog, type MessageLog } from './message-log.ts'
import type { CalledTool } from './modes/mode.ts'
import type { Timeline } from './modes/timeline.ts'
import type { AgentParts } from './parts.ts'
import { mapSiblings } from './siblings.ts'
import { callTool, type RunningCalls } from './tool-calls.ts'
import { type Answered, askModels } from './turn.ts'

/** Tools of one turn that run at once. */
const toolsAtOnce = 8

/** Where the turns of a conversation happen. */
export interface TurnPlaces {
  /** Where events are sent from. */
  readonly opener: RunContext
  /** Where turns are recorded. */
  readonly context: RunContext
}

interface TurnOptions {
  /** False: the model is not told of any tool. */
  readonly tools?: boolean
  /** False: its answer is none that `[output]` is about. */
  readonly output?: boolean
  /** An empty answer is an answer when there is no further model to ask. */
  readonly acceptsEmpty?: boolean
  /** It is asked for its highest effort. */
  readonly isHigh: boolean
  readonly signal: AbortSignal
}

interface Turn extends Answered {
  readonly calls: readonly ToolCallPart[]
  readonly itemId: string
  /** `max_turns` is reached: no further turn may be taken for this message. */
  readonly isLast: boolean
}

/** The turns of one conversation: what it asks and what its tools do is recorded by their numbers. */
export interface Turns {
  readonly log: MessageLog
  /** Whether an older process of this run has got the answer to the next turn, and told why it was asked. */
  readonly wasAnswered: () => boolean
  /** Where the next turn is recorded. */
  readonly place: () => Place
  /** Those that may be offered. */
  readonly tools: readonly Tool[]
  /** What the whole answer must be. */
  readonly output?: NonNullable<ModelAgent['output']>
  /**
   * Waits until there is a message that was sent to the conversation, which the next request tells the model; false: there is none, and
   * none will come. @throws a suspension when whoever could send one waits for a person
   */
  readonly hasMail: (signal: AbortSignal) => Promise<boolean>
  /** First adds the messages that were sent to the conversation. @throws BatonError of the model call */
  readonly ask: (options: TurnOptions) => Promise<Turn>
  /** Runs the calls of the last turn. @throws what ends the run */
  readonly runTools: (
    calls: readonly ToolCallPart[],
    options: { readonly signal: AbortSignal; readonly timeline: Timeline },
  ) => Promise<readonly CalledTool[]>
  /** The next call of the last turn, which the mode makes itself: its place and id. */
  readonly ownCall: (name: string) => { readonly context: RunContext; readonly id: string }
  /** Where calls that are running are recorded, by their ids. */
  readonly running: RunningCalls
  /** Answers the question that a call which is running waits for, by the id of its output; of other ids nothing happens. */
  readonly decide: (callId: string, decision: SpokenDecision) => void
}

export function createTurns(agent: ModelAgent, parts: AgentParts, { opener, context }: TurnPlaces): Turns {
  const { maxTurns = Infinity, fallbackModels = [], output, acceptsEmpty = false, inbox } = agent
  const { tools: filters } = context.scope.rights
  const tools = (agent.tools ?? []).filter(({ name }) => passesFilters(name, filters))
  const offered = tools
    .filter(isOffered)
    .map(({ name, description, parameters }) => ({ name, description, parameters }))
  const { model = '', ...settings } = agent.settings
  const log = createMessageLog({ said: agent.said, portable: context.services.portable })
  let turns = 0
  /** Of the model that answered last. */
  let taken: TakenFiles | undefined
  /** Calls of the last turn that have run. */
  let ran = 0
  const running: RunningCalls = new Map()
  const conversation = { messages: log.all, ...(model === '' ? {} : { model }) }

  /** Which messages a request tells of is recorded: those that were not told are told by a later one, in whatever process. */
  async function takeMail(place: Place): Promise<void> {
    if (inbox?.isOpen() !== true) return
    const asked = { name: 'inbox', args: null }
    const { effects } = opener.services
    const told = await effects.observeAsync([...place, part('inbox')], asked, async () => [...inbox.waiting()])
    inbox.know(told.map(({ id }) => id))
    if (told.length > 0) log.add([textMessage('user', told.map(({ text }) => text).join('\n\n'))])
  }

  /** Of the next turn. */
  function wasAnswered(): boolean {
    const { at } = below(context, { kind: 'turn', index: turns }).scope
    return [model, ...fallbackModels].some((_, index) => opener.services.effects.wasDone(callPlace(at, index)))
  }

  const idOf = (index: number): string => `${placeText(opener.scope.at)}/message${index === 0 ? '' : `-${index + 1}`}`

  return {
    log,
    wasAnswered,
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

/** The result of a call that was not finished: a request with a call that has none would be refused. */
export function refusedCall({ id }: ToolCallPart, text: string): Message {
  return { role: 'tool', parts: [{ type: 'tool_result', id, parts: [{ type: 'text', text }], is_error: true }] }
}

export function useOf({ call: { id, name, input }, result: { text: output, isError } }: CalledTool): ToolUse {
  return { id, name, input, output, ...(isError === true ? { is_error: true } : {}) }
}

/** What was said without calls of tools that were never offered, and without the thoughts that led to nothing else. */
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

/** What a person should know of an answer that is not whole, or empty. */
function warnOfAnswer(
  { chosen, answer }: Answered,
  { agent, offersTools }: { readonly agent: ModelAgent; readonly offersTools: boolean },
  context: RunContext,
): void {
  const { label } = chosen
  const isCall = offersTools && toolCallsOf(answer).length > 0
  if (textOf(answer).trim() === '' && !isCall) {
    emit(context, { type: 'warning', message: `${label} gave an empty answer` })
  }
  const trouble = isCall ? undefined : troubles[answer.finish]
  if (trouble !== undefined) emit(context, { type: 'warning', message: `${label} ${trouble}` })
  if (answer.finish === 'length') {
    emit(context, { type: 'warning', message: 'the answer was truncated at its output limit', hint: lengthHint(agent) })
  }
}

/** What a model that stopped for such a reason has to say is no whole answer. */
const troubles: { readonly [K in FinishReason]?: string } = {
  content_filter: 'was stopped by its content filter: the answer is not complete',
  refusal: 'refused to answer: its words are the refusal',
  incomplete: 'stopped in the middle: the answer is not complete',
  tool_calls: 'called a tool, and none is offered: the answer may not be complete',
}

/** Agents of AIPack have no such setting: there the limit is the model's own. */
function lengthHint({ name }: ModelAgent): string {
  return name === 'main' ? 'Raise max_tokens.' : 'Ask for less at once, or name a model that may answer at more length.'
}
