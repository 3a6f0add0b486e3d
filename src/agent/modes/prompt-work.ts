import { modelText } from '../../base/model-text.ts'
import { BatonError, isSuspension } from '../../base/error.ts'
import { cutText } from '../../base/cut-text.ts'
import { isOffered, type ModelEnd, type ModelResult, type Tool, type ToolUse } from '../../event/agent.ts'
import { emit, type RunContext, withServices } from '../../event/context.ts'
import { type Message, reasoningOf, textMessage, textOf } from '../../event/message.ts'
import { addSpent, nothingSpent } from '../../event/meter.ts'
import type { EventBody } from '../../event/event.ts'
import type { Prompt, PromptOutput, PromptState } from '../../event/prompt.ts'
import { createProgramWork } from '../program-work.ts'
import { callTool } from '../tool-calls.ts'
import { endOf, refusedCall, resultMessage, type Turns, useOf } from '../turns.ts'
import { isBuiltInMode } from './known.ts'
import type { ExecutorOptions, ModeLoop, PromptExecutor, PromptServices, PromptWork } from './mode.ts'
import { createTimeline } from './timeline.ts'
import { defined } from '../../base/json.ts'
import type { SpokenDecision } from '../../event/permission.ts'

export interface WorkParts {
  /** Of the prompt. */
  readonly id: string
  /** The mode that executes it. */
  readonly mode: string
  readonly turns: Turns
  readonly opener: RunContext
  readonly signal: AbortSignal
  readonly isHigh: boolean
  /** The messages of the prompt. */
  readonly input: readonly Message[]
  /** Whether this program made them. */
  readonly isFeedback: boolean
  /** The messages that plug-ins add. */
  readonly prepare: () => Promise<readonly Message[]>
}

/** The work of one prompt in its conversation, and its usage. */
export interface Workplace {
  /** `onEnd` gets the reason why the executor's loop ended. */
  readonly services: (options: Omit<ExecutorOptions, 'services'>, onEnd: (end: ModelEnd) => void) => PromptServices
  /** Adds the messages of the prompt, unless that is done already. */
  readonly begin: () => void
  /** The parts of a result besides the text. If no model was asked, the mode is named instead. */
  readonly result: () => Pick<ModelResult, 'reasoning' | 'model' | 'calls' | 'spent' | 'seconds'>
}

export function createPromptWork({
  id,
  mode,
  turns,
  opener,
  signal,
  isHigh,
  input,
  isFeedback,
  prepare,
}: WorkParts): Workplace {
  const { log, tools, running } = turns
  /** In the order in which the calls were issued. */
  const uses: (readonly ToolUse[])[] = []
  let spent = nothingSpent
  let seconds = 0
  let reasoning = ''
  let mayNotAsk = false
  let model: ModelResult['model'] | undefined
  const timeline = createTimeline({
    now: opener.services.now,
    onOutput: (output, index, itemId) =>
      emit(opener, { type: 'prompt.output', prompt_id: id, index, output: shownOutput(output, itemId) }),
  })
  let hasBegun = false
  let said = 0

  /** Context goes before the last message of the prompt, which is the one to answer. */
  function begin(context: readonly Message[] = [], instructions?: string): void {
    if (hasBegun) return
    hasBegun = true
    const before = log.all()
    const added = [...input.slice(0, -1), ...context, ...input.slice(-1)]
    if (isFeedback) return log.addOwn(added)
    if (instructions === undefined || log.instructions.has(instructions)) return log.add(added)
    log.instructions.add(instructions)
    log.add(instructed(added, instructions, before))
  }

  function reserveUse(): (use: ToolUse) => void {
    const index = uses.push([]) - 1
    return (use) => (uses[index] = [use])
  }

  const work: PromptWork = {
    id,
    signal,
    messages() {
      begin()
      return log.all()
    },
    addMessages(messages) {
      begin()
      if (isBuiltInMode(mode)) log.addOwn(messages)
      else log.add(messages)
    },
    tools,
    offered: tools.filter(isOffered).map(({ name }) => name),
    ...(turns.output === undefined ? {} : { output: turns.output }),
    prepare: async ({ instructions } = {}) => begin(hasBegun ? [] : await prepare(), instructions),
    async ask(options = {}) {
      begin()
      if (mayNotAsk) {
        throw new BatonError('LIMIT', 'the agent has reached its limit of model requests (max_turns)', {
          hint: 'Raise max_turns.',
        })
      }
      const { chosen, answer, calls, itemId, isLast } = await turns.ask({ ...options, isHigh, signal })
      spent = addSpent(spent, { model: chosen.model, usage: answer.usage, costUsd: answer.costUsd })
      seconds += answer.seconds
      mayNotAsk = isLast
      reasoning = reasoningOf(answer)
      model = { name: chosen.model, provider: chosen.provider.name }
      return { text: textOf(answer), calls, itemId, isLast, end: endOf(answer.finish) }
    },
    askAgain(message, warning) {
      if (!turns.wasAnswered()) emit(opener, { type: 'warning', message: warning })
      log.add([textMessage('user', message)])
    },
    endsHere: turns.endsHere,
    hasMail: () => turns.hasMail(signal),
    async runTools(calls) {
      try {
        const called = await turns.runTools(calls, { signal, timeline })
        log.addOwn(called.map(resultMessage))
        uses.push(called.map(useOf))
        return called
      } catch (error) {
        log.addOwn(calls.map((call) => refusedCall(call, modelText`interrupted`)))
        throw error
      }
    },
    async program({ function: name, input }, run) {
      const { context, id: callId } = turns.ownCall(name)
      const at = withServices(context, { signal })
      const isApproved = opener.scope.modeOptions?.[mode]?.['auto_approve'] === true
      const program = createProgramWork({
        context: at,
        opener,
        id: callId,
        name,
        tools,
        timeline,
        running,
        isApproved,
        onCall: reserveUse,
      })
      const own: Tool = { name, description: '', parameters: {}, run: () => run(program) }
      const call = { id: callId, name, input: JSON.stringify(input) }
      return callTool(call, { tools: [own], opener, context: at, timeline })
    },
    refuseCalls: (calls, why) => log.addOwn(calls.map((call) => refusedCall(call, why))),
    timeline,
    say(text, { streams = true } = {}) {
      if (!streams) return timeline.addText(text)
      const item = { id: `${id}/output-${(said += 1)}`, type: 'program_output' } as const
      emit(opener, { type: 'item.started', item })
      emit(opener, { type: 'item.delta', item_id: item.id, text })
      emit(opener, { type: 'item.completed', item: { ...item, text } })
      timeline.addText(text, { itemId: item.id })
    },
    warn: (message) => emit(opener, { type: 'warning', message }),
    usage: () => spent.usage,
  }
  return {
    begin: () => begin(),
    services: (options, onEnd) => ({
      ...work,
      executor: (loop) =>
        createLoopExecutor(work, { ...options, decide: turns.decide }, async (own) => {
          const end = await loop(own)
          onEnd(end)
          return end
        }),
    }),
    result: () => ({
      reasoning,
      model: model ?? { name: 'none', provider: mode },
      calls: uses.flat(),
      spent,
      seconds,
    }),
  }
}

/**
 * The messages with the instructions of a mode: added to the system prompt, since many hosts do not allow a second one.
 */
function instructed(
  messages: readonly Message[],
  instructions: string,
  before: readonly Message[],
): readonly Message[] {
  if (before.some((message) => message.role !== 'assistant' && textOf(message).includes(instructions))) return messages
  const [first, ...others] = messages
  if (first?.role === 'system' && first.parts.every(({ type }) => type === 'text')) {
    return [{ ...first, parts: [{ type: 'text', text: `${textOf(first)}\n\n${instructions}` }] }, ...others]
  }
  if (before.length === 0) return [textMessage('system', instructions), ...messages]
  return [textMessage('user', instructions), ...messages]
}

type Shown = Extract<EventBody, { readonly type: 'prompt.output' }>['output']

/** Characters of the name of a file or tool in events. */
const shownName = 200

/** An output for its event, without what the events of its item or call contain. */
function shownOutput(output: PromptOutput, itemId: string | undefined): Shown {
  switch (output.type) {
    case 'text':
      return itemId === undefined ? { type: 'text', text: output.text } : { type: 'text', item_id: itemId }
    case 'tool':
      return { type: 'tool', id: output.id, function: cutText(output.function, shownName) }
    case 'file': {
      const { name, mediaType } = output.file
      return { type: 'file', name: cutText(name, shownName), media_type: mediaType }
    }
  }
}

interface LoopOptions extends Omit<ExecutorOptions, 'services'> {
  /** Answers the question of a running call; a no-op for ids of other calls. */
  readonly decide: (toolCallId: string, decision: SpokenDecision) => void
}

/** What all modes share: the prompt with its state, around a loop that produces its outputs. */
export function createLoopExecutor(
  work: PromptWork,
  { mode = 'classic', userId, model = 'normal', input = [], resumePrompt, decide }: LoopOptions,
  loop: ModeLoop,
): PromptExecutor {
  const { id, signal, timeline, usage } = work
  let state: PromptState = 'running'
  const said = (): string => resumePrompt?.input ?? inputText(input)
  const prompt = (): Prompt => ({
    id,
    userId,
    mode,
    model,
    visible: resumePrompt?.visible ?? true,
    state,
    ...defined({ input: said() || undefined }),
    output: timeline.all(),
    usage: usage(),
  })
  return {
    id,
    userId,
    get prompt() {
      return prompt()
    },
    get state() {
      return state
    },
    get usage() {
      return usage()
    },
    async run() {
      state = 'running'
      try {
        await loop(work)
        state = 'completed'
        return prompt()
      } catch (error) {
        state = isSuspension(error) ? 'waiting_for_approval' : signal.aborted ? 'cancelled' : 'failed'
        throw error
      }
    },
    // R153
    async approve(toolCallId) {
      decide(toolCallId, 'allow')
    },
    async reject(toolCallId, reason) {
      decide(toolCallId, reason === undefined ? 'deny' : { remark: reason })
    },
  }
}

/** The user's text in the messages of a prompt. */
function inputText(messages: readonly Message[]): string {
  return messages
    .filter(({ role }) => role === 'user')
    .map(textOf)
    .join('\n\n')
}
