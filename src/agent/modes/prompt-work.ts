import { BatonError } from '../../base/error.ts'
import { cutText } from '../../base/cut-text.ts'
import type { ModelEnd, ModelResult, ToolUse } from '../../event/agent.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { type Message, reasoningOf, textOf } from '../../event/message.ts'
import { addSpent, nothingSpent } from '../../event/meter.ts'
import type { EventBody } from '../../event/event.ts'
import type { PromptOutput } from '../../event/prompt.ts'
import { endOf, refusedCall, resultMessage, type Turns, useOf } from '../turns.ts'
import { createLoopExecutor } from './executor.ts'
import type { ExecutorOptions, PromptServices, PromptWork } from './mode.ts'
import { createTimeline } from './timeline.ts'

export interface WorkParts {
  /** Of the prompt. */
  readonly id: string
  readonly turns: Turns
  readonly opener: RunContext
  readonly signal: AbortSignal
  readonly isHigh: boolean
  /** The messages of the prompt. */
  readonly input: readonly Message[]
  /** What plug-ins add to them. */
  readonly prepare: () => Promise<readonly Message[]>
}

/** What one prompt does in its conversation, and what it used. */
export interface Workplace {
  /** `onEnd` is told why the loop of its executor ended. */
  readonly services: (options: Omit<ExecutorOptions, 'services'>, onEnd: (end: ModelEnd) => void) => PromptServices
  /** Adds the messages of the prompt, if nothing has done so yet. */
  readonly begin: () => void
  /** What a result says besides the text. `mode` stands for the model where none was asked. */
  readonly result: (mode: string) => Pick<ModelResult, 'reasoning' | 'model' | 'calls' | 'spent' | 'seconds'>
}

export function createPromptWork({ id, turns, opener, signal, isHigh, input, prepare }: WorkParts): Workplace {
  const { log, tools } = turns
  const uses: ToolUse[] = []
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

  /** What is said of the prompt stands before its last message: that is what is answered. */
  function begin(context: readonly Message[] = []): void {
    if (hasBegun) return
    hasBegun = true
    log.add([...input.slice(0, -1), ...context, ...input.slice(-1)])
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
      log.add(messages)
    },
    tools,
    prepare: async () => begin(hasBegun ? [] : await prepare()),
    async ask(options = {}) {
      begin()
      if (mayNotAsk) {
        throw new BatonError('LIMIT', 'the agent has asked its model as often as it may (max_turns)', {
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
    async runTools(calls) {
      try {
        const called = await turns.runTools(calls, { signal, timeline })
        log.add(called.map(resultMessage))
        uses.push(...called.map(useOf))
        return called
      } catch (error) {
        log.add(calls.map((call) => refusedCall(call, 'interrupted')))
        throw error
      }
    },
    refuseCalls: (calls, why) => log.add(calls.map((call) => refusedCall(call, why))),
    timeline,
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
    result: (mode) => ({ reasoning, model: model ?? { name: 'none', provider: mode }, calls: uses, spent, seconds }),
  }
}

type Shown = Extract<EventBody, { readonly type: 'prompt.output' }>['output']

/** Characters of the name of a file or tool in events. */
const shownName = 200

/** What an event says of an entry: not what the events of its item or call say already. */
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
