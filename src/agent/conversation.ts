import { BatonError, isSuspension, messageOf, stopsRun } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'
import { canonicalJson, type Json } from '../base/json.ts'
import { cutText } from '../base/cut-text.ts'
import type {
  AgentSession,
  ModelAgent,
  ModelEnd,
  ModelResult,
  SessionStatus,
  SubmissionId,
  Tool,
  ToolResult,
  ToolUse,
} from '../event/agent.ts'
import { below, emit, type RunContext, withScope, withServices } from '../event/context.ts'
import { errorInfo } from '../event/error-info.ts'
import { type Message, reasoningOf, textOf, type ToolCallPart, toolCallsOf } from '../event/message.ts'
import { addSpent, nothingSpent } from '../event/meter.ts'
import { callPlace, conversationPlace, placeText } from '../event/place.ts'
import type { FinishReason } from '../model/provider.ts'
import { passesFilters } from '../tool/tool-filter.ts'
import type { RecordedMessages } from './model-call.ts'
import type { AgentParts } from './parts.ts'
import { type Answered, askModels } from './turn.ts'
import { mapSiblings } from './siblings.ts'

/** Tools of one turn that run at once. */
const toolsAtOnce = 8

/**
 * Opens a conversation with a model. Its turns are recorded below the nearest task, and it streams its answers as
 * `item.*` events of the place that opened it. See docs/design/places.md.
 */
export function openConversation(agent: ModelAgent, parts: AgentParts, opener: RunContext): AgentSession {
  const at = conversationPlace(opener.scope.at)
  const { respond, wasAnswered } = createTurns(agent, parts, { opener, context: withScope(opener, { at }) })
  const answers = new Map<SubmissionId, Promise<ModelResult>>()
  let status: SessionStatus = { kind: 'idle' }
  let last: ModelResult | undefined
  let current = new AbortController()
  /** Settles when everything that was sent is answered. */
  let tail: Promise<unknown> = Promise.resolve()
  let end: (last: ModelResult | undefined) => void = () => {}
  const ended = new Promise<ModelResult | undefined>((resolve) => (end = resolve))
  emit(opener, { type: 'agent.started', name: agent.name, kind: 'llm' })

  async function answer(messages: readonly Message[]): Promise<ModelResult> {
    status = { kind: 'running' }
    current = new AbortController()
    const signal = AbortSignal.any([opener.services.signal, current.signal])
    try {
      last = await respond(messages, signal)
      status = { kind: 'completed', result: last }
      return last
    } catch (error) {
      const type = isSuspension(error) ? 'agent.suspended' : 'agent.failed'
      emit(opener, { type, name: agent.name, error: errorInfo(error) })
      status = { kind: 'failed', error }
      throw error
    }
  }

  return {
    id: placeText(at),
    status: () => status,
    async send(messages) {
      if (status.kind === 'closed') throw new BatonError('AGENT_FAILED', `agent ${agent.name} is closed`)
      const id = String(answers.size)
      const result = tail.then(() => answer(messages))
      answers.set(id, result)
      // whoever asks for the answer sees the failure
      tail = result.catch(() => undefined)
      return id
    },
    answer(submission) {
      const found = answers.get(submission)
      return found ?? Promise.reject(new BatonError('AGENT_FAILED', `${agent.name} was not sent ${submission}`))
    },
    wasAnswered,
    interrupt: () => current.abort(new DOMException('interrupted', 'AbortError')),
    ended,
    async close() {
      await tail
      if (status.kind === 'closed') return
      if (status.kind === 'completed') {
        emit(opener, { type: 'agent.completed', name: agent.name, stop_reason: status.result.end })
      }
      status = { kind: 'closed' }
      end(last)
    },
  }
}

interface Places {
  /** Where events are sent from. */
  readonly opener: RunContext
  /** Where turns are recorded. */
  readonly context: RunContext
}

/** Answers messages, with as many turns as the tools it calls take. */
type Respond = (messages: readonly Message[], signal: AbortSignal) => Promise<ModelResult>

function createTurns(agent: ModelAgent, parts: AgentParts, { opener, context }: Places) {
  const { maxTurns = Infinity, maxRounds = Infinity, fallbackModels = [], output, acceptsEmpty = false } = agent
  const { tools: filters } = context.scope.rights
  const tools = (agent.tools ?? []).filter(({ name }) => passesFilters(name, filters))
  const { model = '', ...settings } = agent.settings
  const log = createMessageLog()
  const asked = {
    ...settings,
    ...(output === undefined ? {} : { output }),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })) }),
  }
  let turns = 0

  /** Of the next turn. */
  function wasAnswered(): boolean {
    const { at } = below(context, { kind: 'turn', index: turns }).scope
    return [model, ...fallbackModels].some((_, index) => opener.services.effects.wasDone(callPlace(at, index)))
  }

  async function ask(signal: AbortSignal): Promise<Answered> {
    const index = turns
    const isTold = wasAnswered()
    turns += 1
    const place = below(context, { kind: 'turn', index })
    const id = `${placeText(opener.scope.at)}/message${index === 0 ? '' : `-${index + 1}`}`
    const item = { id, type: 'agent_message' } as const
    const speaking = withServices(opener, { signal })
    emit(opener, { type: 'item.started', item })
    const answered = await askModels(
      {
        at: place.scope.at,
        models: [model, ...fallbackModels],
        request: { ...asked, messages: log.all() },
        recorded: log.next(),
        itemId: id,
        acceptsEmpty,
      },
      parts,
      speaking,
    )
    if (!isTold) warnOfAnswer(answered, { agent, offersTools: tools.length > 0 }, opener)
    emit(opener, { type: 'item.completed', item: { ...item, text: textOf(answered.answer) } })
    return answered
  }

  async function runTools(calls: readonly ToolCallPart[], signal: AbortSignal): Promise<readonly Called[]> {
    const turn = below(context, { kind: 'turn', index: turns - 1 })
    return mapSiblings(calls, { limit: toolsAtOnce, signal }, async (call, index, inner) => {
      const id = `${placeText(opener.scope.at)}/message${turns === 1 ? '' : `-${turns}`}/${index}`
      emit(opener, { type: 'tool.started', id, name: call.name, input: inputOf(call) })
      const at = withServices(below(turn, { kind: 'tool', index, name: call.name }), { signal: inner })
      const result = await runTool(call, tools, at)
      const { text: output, isError = false, isDenied = false } = result
      const shown = cutText(output, shownOutput)
      const end = { type: 'tool.completed', id, name: call.name, output: shown, is_error: isError } as const
      emit(opener, isDenied ? { ...end, denied: true } : end)
      return { call, result }
    })
  }

  const respond: Respond = async (messages, signal) => {
    log.add(messages)
    let spent = nothingSpent
    let seconds = 0
    const uses: ToolUse[] = []
    const repeats = createRepeats()
    for (let count = 1; ; count += 1) {
      const { chosen, answer } = await ask(signal)
      const calls = tools.length === 0 ? [] : toolCallsOf(answer)
      const limit = turns >= maxTurns ? 'max_turns' : count >= maxRounds ? 'max_rounds' : repeats.end()
      const isLast = calls.length === 0 || limit !== undefined
      log.answered({ role: 'assistant', parts: calls.length === 0 ? withoutCalls(answer.parts) : answer.parts })
      if (isLast) log.add(calls.map((call) => refusedCall(call, 'not run: the limit of calls is reached')))
      spent = addSpent(spent, { model: chosen.model, usage: answer.usage, costUsd: answer.costUsd })
      seconds += answer.seconds
      if (isLast) {
        return {
          kind: 'model',
          end: (calls.length > 0 ? limit : undefined) ?? endOf(answer.finish),
          text: limit === 'max_rounds' && calls.length > 0 ? stoppedText(textOf(answer), maxRounds) : textOf(answer),
          reasoning: reasoningOf(answer),
          model: { name: chosen.model, provider: chosen.provider.name },
          messages: log.all(),
          calls: uses,
          spent,
          seconds,
        }
      }
      try {
        const called = await runTools(calls, signal)
        log.add(called.map(resultMessage))
        uses.push(...called.map(useOf))
        repeats.add(called, opener)
      } catch (error) {
        log.add(calls.map((call) => refusedCall(call, 'interrupted')))
        throw error
      }
    }
  }
  return { respond, wasAnswered }
}

/** What an agent says that is not asked again (R206). */
function stoppedText(text: string, rounds: number): string {
  const said = `Exceeded maximum number of rounds (${rounds}). Stopping.`
  return text.trim() === '' ? said : `${text}\n\n${said}`
}

/** A call of a tool that has been answered. */
interface Called {
  readonly call: ToolCallPart
  readonly result: ToolResult
}

/** Characters of an output in events. */
const shownOutput = 2000

/** The arguments of a call; the text itself where it is no JSON. */
function inputOf({ input }: ToolCallPart): Json {
  try {
    return JSON.parse(input) as Json
  } catch {
    return input
  }
}

function resultMessage({ call: { id }, result: { text, files = [], isError } }: Called): Message {
  const parts = [{ type: 'text', text } as const, ...files]
  return { role: 'tool', parts: [{ type: 'tool_result', id, parts, ...(isError === true ? { is_error: true } : {}) }] }
}

function useOf({ call: { id, name, input }, result: { text: output, isError } }: Called): ToolUse {
  return { id, name, input, output, ...(isError === true ? { is_error: true } : {}) }
}

const warnsAt = 3
const endsAt = 10

/** Notices calls that a model makes again and again, and that give the same each time. */
function createRepeats() {
  const counts = new Map<string, number>()
  let isEndless = false
  return {
    add(called: readonly Called[], context: RunContext) {
      for (const { call, result } of called) {
        const key = sha256(JSON.stringify([call.name, canonicalText(inputOf(call)), result.text]))
        const count = (counts.get(key) ?? 0) + 1
        counts.set(key, count)
        if (count === warnsAt) {
          const message = `the model has called ${call.name} ${warnsAt} times with the same input and the same result`
          emit(context, { type: 'warning', message })
        }
        if (count >= endsAt) isEndless = true
      }
    },
    end: (): ModelEnd | undefined => (isEndless ? 'repeated_calls' : undefined),
  }
}

/** The messages of a conversation, and which of them are recorded already. */
function createMessageLog() {
  const messages: Message[] = []
  let recorded = 0
  let hashed = 0
  let hash = ''
  return {
    all: (): readonly Message[] => [...messages],
    add: (added: readonly Message[]) => void messages.push(...added),
    /** Those that are new since the last answer, which records the rest. */
    next(): RecordedMessages {
      const fresh = messages.slice(recorded)
      if (recorded === 0) return { messages: fresh }
      if (hashed < recorded) hash = sha256(`${hash} ${canonicalText(messages.slice(hashed, recorded))}`)
      hashed = recorded
      return { before: { count: recorded, hash }, messages: fresh }
    },
    answered(message: Message) {
      messages.push(message)
      recorded = messages.length
    },
  }
}

/** The same text for messages of this process and for those that a record gives back. */
function canonicalText(value: readonly Message[] | Json): string {
  return canonicalJson(JSON.parse(JSON.stringify(value)) as Json)
}

/** The result of a call that was not finished: a request with a call that has none would be refused. */
function refusedCall({ id }: ToolCallPart, text: string): Message {
  return { role: 'tool', parts: [{ type: 'tool_result', id, parts: [{ type: 'text', text }], is_error: true }] }
}

/** What was said without calls of tools that were never offered, and without the thoughts that led to nothing else. */
function withoutCalls(parts: Message['parts']): Message['parts'] {
  const said = parts.filter(({ type }) => type !== 'tool_call')
  return said.length === parts.length
    ? parts
    : said.slice(0, said.findLastIndex(({ type }) => type !== 'reasoning') + 1)
}

/** Failures of a tool are results for the model; what ends the run is thrown. */
async function runTool(
  { name, input }: ToolCallPart,
  tools: readonly Tool[],
  context: RunContext,
): Promise<ToolResult> {
  const tool = tools.find((one) => one.name === name)
  if (tool === undefined) {
    const known = tools.map((one) => one.name).join(', ')
    return { text: `Tool "${name}" not found. Available tools: ${known}`, isError: true }
  }
  try {
    return await tool.run(input, context)
  } catch (error) {
    context.services.signal.throwIfAborted()
    if (stopsRun(error)) throw error
    return { text: messageOf(error), isError: true }
  }
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
