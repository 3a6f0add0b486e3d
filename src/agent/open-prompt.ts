import { isSuspension } from '../base/error.ts'
import { cutText } from '../base/cut-text.ts'
import { defined } from '../base/json.ts'
import type { ModelEnd, ModelResult, ToolUse } from '../event/agent.ts'
import { emit, type RunContext } from '../event/context.ts'
import type { EventBody } from '../event/event.ts'
import { type Message, reasoningOf, textMessage, textOf, type Usage } from '../event/message.ts'
import { addSpent, nothingSpent } from '../event/meter.ts'
import type { Prompt, PromptOutput, PromptState } from '../event/prompt.ts'
import type { MessageLog } from './message-log.ts'
import type { ModelCallResult } from './model-call.ts'
import { createTimeline, type Timeline } from './modes/timeline.ts'

interface OpenPromptOptions extends Pick<Prompt, 'id' | 'mode' | 'userId'> {
  /** Of the conversation. */
  readonly log: MessageLog
  readonly opener: RunContext
  readonly signal: AbortSignal
  /** What the user said. */
  readonly asked: readonly Message[]
  /** What is added to the messages of the conversation. */
  readonly input: readonly Message[]
  /** Whether this program made the messages. */
  readonly isFeedback: boolean
  /** The model that this prompt asks for; omitted: that of the conversation. */
  readonly asksFor?: string
  readonly visible?: boolean
  /** The messages that plug-ins add. */
  readonly prepare: () => Promise<readonly Message[]>
}

/** A prompt of a conversation that is being answered: its state, its outputs and what it has used. */
export interface OpenPrompt extends Pick<OpenPromptOptions, 'id' | 'mode' | 'userId' | 'asksFor' | 'signal'> {
  readonly timeline: Timeline
  readonly state: () => PromptState
  readonly usage: () => Usage
  readonly now: () => Prompt
  /** Why it ended; undefined until then, or if it failed. */
  readonly end: () => ModelEnd | undefined
  /** Adds its messages to the conversation, unless that is done already. */
  readonly begin: () => void
  /**
   * Does that with the texts of plug-ins, and the instructions of a mode for the model: they are added to the system
   * prompt, once per conversation.
   */
  readonly prepare: (instructions?: string) => Promise<void>
  /** An answer of a model counts. */
  readonly count: (answered: ModelCallResult) => void
  /** A call of a model that is no answer to the prompt counts, for what it has used. */
  readonly spend: (call: ModelCallResult) => void
  /** Called when a call is issued; the returned function is called when it has ended. */
  readonly reserveUse: () => (use: ToolUse) => void
  /** Adds a text that was not streamed from a model as is. Events stream it first, unless `streams` is false. */
  readonly say: (text: string, options?: { readonly streams?: boolean }) => void
  readonly warn: (message: string) => void
  readonly complete: (end: ModelEnd) => Prompt
  readonly fail: (error: unknown) => void
  /** The parts of a result besides the text. If no model was asked, the mode is named instead. */
  readonly result: () => Pick<ModelResult, 'reasoning' | 'model' | 'calls' | 'spent' | 'seconds'>
}

export function openPrompt(options: OpenPromptOptions): OpenPrompt {
  const { id, mode, userId, asksFor, visible = true, log, opener, signal, asked, input, isFeedback, prepare } = options
  let state: PromptState = 'running'
  let end: ModelEnd | undefined
  let hasBegun = false
  /** In the order in which the calls were issued. */
  const uses: (readonly ToolUse[])[] = []
  let spent = nothingSpent
  let seconds = 0
  let reasoning = ''
  let answeredBy: ModelResult['model'] = { name: 'none', provider: mode }
  let said = 0
  const timeline = createTimeline({
    now: opener.services.now,
    onOutput: (output, index, itemId) =>
      emit(opener, { type: 'prompt.output', prompt_id: id, index, output: shownOutput(output, itemId) }),
  })

  /** Context goes before the last message of the prompt, which is the one to answer. */
  function begin(context: readonly Message[] = [], instructions?: string): void {
    if (hasBegun) return
    hasBegun = true
    const before = log.all()
    const added = [...input.slice(0, -1), ...context, ...input.slice(-1)]
    if (isFeedback) return log.addOwn(added)
    if (instructions === undefined || log.instructions.has(instructions)) return log.addPrompt(added)
    log.instructions.add(instructions)
    log.addPrompt(instructed(added, instructions, before))
  }

  function spend({ chosen, answer }: ModelCallResult): void {
    spent = addSpent(spent, { model: chosen.model, usage: answer.usage, costUsd: answer.costUsd })
    seconds += answer.seconds
  }

  const now = (): Prompt => ({
    id,
    userId,
    mode,
    model: asksFor ?? 'normal',
    visible,
    state,
    ...defined({ input: inputText(asked) || undefined }),
    output: timeline.all(),
    usage: spent.usage,
  })

  return {
    id,
    mode,
    userId,
    ...defined({ asksFor }),
    signal,
    timeline,
    state: () => state,
    usage: () => spent.usage,
    now,
    end: () => end,
    begin: () => begin(),
    prepare: async (instructions) => begin(hasBegun ? [] : await prepare(), instructions),
    spend,
    count(answered) {
      const { chosen, answer } = answered
      spend(answered)
      reasoning = reasoningOf(answer)
      answeredBy = { name: chosen.model, provider: chosen.provider.name }
    },
    reserveUse() {
      const index = uses.push([]) - 1
      return (use) => (uses[index] = [use])
    },
    say(text, { streams = true } = {}) {
      if (!streams) return timeline.addText(text)
      const item = { id: `${id}/output-${(said += 1)}`, type: 'program_output' } as const
      emit(opener, { type: 'item.started', item })
      emit(opener, { type: 'item.delta', item_id: item.id, text })
      emit(opener, { type: 'item.completed', item: { ...item, text } })
      timeline.addText(text, { itemId: item.id })
    },
    warn: (message) => emit(opener, { type: 'warning', message }),
    complete(reason) {
      state = 'completed'
      end = reason
      return now()
    },
    fail(error) {
      state = isSuspension(error) ? 'waiting_for_approval' : signal.aborted ? 'cancelled' : 'failed'
    },
    result: () => ({ reasoning, model: answeredBy, calls: uses.flat(), spent, seconds }),
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

/** The user's text in the messages of a prompt. */
function inputText(messages: readonly Message[]): string {
  return messages
    .filter(({ role }) => role === 'user')
    .map(textOf)
    .join('\n\n')
}
