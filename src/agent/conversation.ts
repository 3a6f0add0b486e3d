import { BatonError, isSuspension, messageOf } from '../base/error.ts'
import { defined, isJsonObject, plainText } from '../base/json.ts'
import type { AgentSession, ModelAgent, ModelEnd, ModelResult, SessionStatus, SubmissionId } from '../event/agent.ts'
import { emit, type RunContext, withScope } from '../event/context.ts'
import { errorInfo } from '../event/error-info.ts'
import { type Message, textMessage } from '../event/message.ts'
import { formerRounds } from '../event/limits.ts'
import { answerOf, type Prompt, type PromptChoice, type PromptOutput, type PromptTool } from '../event/prompt.ts'
import { conversationPlace, part, placeText } from '../event/place.ts'
import { knownModes, refuseOptions } from './modes/known.ts'
import type { PromptExecutor } from './modes/mode.ts'
import { createPrompts } from './modes/prompts.ts'
import { createPromptWork } from './modes/prompt-work.ts'
import type { AgentParts } from './parts.ts'
import { noPlugins, type Plugins } from './plugins/plugin.ts'
import { preparedMessages } from './plugins/prepare.ts'
import { createTurns } from './turns.ts'
import { modelText } from '../base/model-text.ts'
import { cutText } from '../base/cut-text.ts'

/**
 * Opens a conversation with a model: each message is a prompt, executed in its mode. Its turns are recorded below the
 * nearest task, and its answers are streamed as `item.*` events of the place that opened it. See docs/design/places.md.
 */
export async function openConversation(
  agent: ModelAgent,
  parts: AgentParts,
  opener: RunContext,
): Promise<AgentSession> {
  const at = conversationPlace(opener.scope.at)
  const plugins = (await parts.plugins?.()) ?? noPlugins
  const respond = createResponder({ agent, parts, plugins }, { opener, context: withScope(opener, { at }) })
  const answers = new Map<SubmissionId, Promise<ModelResult>>()
  let status: SessionStatus = { kind: 'idle' }
  let last: ModelResult | undefined
  let current = new AbortController()
  /** Settles when everything that was sent has been answered. */
  let tail: Promise<unknown> = Promise.resolve()
  let end: (last: ModelResult | undefined) => void = () => {}
  const ended = new Promise<ModelResult | undefined>((resolve) => (end = resolve))
  emit(opener, { type: 'agent.started', name: agent.name, kind: 'llm' })

  async function answer(messages: readonly Message[], choice: PromptChoice): Promise<ModelResult> {
    status = { kind: 'running' }
    current = new AbortController()
    const signal = AbortSignal.any([opener.services.signal, current.signal])
    try {
      last = await respond.answer(messages, choice, signal)
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
    prompts: respond.prompts,
    messages: respond.messages,
    wasAnswered: respond.wasAnswered,
    async send(messages, choice = {}) {
      if (status.kind === 'closed') throw new BatonError('AGENT_FAILED', `agent ${agent.name} is closed`)
      const id = String(answers.size)
      const result = tail.then(() => answer(messages, choice))
      answers.set(id, result)
      // the caller of `answer` gets the failure
      tail = result.catch(() => undefined)
      return id
    },
    answer(submission) {
      const found = answers.get(submission)
      return (
        found ?? Promise.reject(new BatonError('AGENT_FAILED', `agent ${agent.name} has no submission ${submission}`))
      )
    },
    approve: (toolCallId) => respond.decide((executor) => executor.approve?.(toolCallId)),
    reject: (toolCallId, reason) => respond.decide((executor) => executor.reject?.(toolCallId, reason)),
    interrupt: () => current.abort(new DOMException('interrupted', 'AbortError')),
    ended,
    async close() {
      await tail
      if (status.kind === 'closed') return
      const failure = status.kind === 'failed' ? status.error : undefined
      for (const tool of agent.tools ?? []) await tool.close?.(opener, failure)
      if (status.kind === 'completed') {
        emit(opener, { type: 'agent.completed', name: agent.name, stop_reason: status.result.end })
      }
      status = { kind: 'closed' }
      end(last)
    },
  }
}

interface Responder {
  readonly answer: (messages: readonly Message[], choice: PromptChoice, signal: AbortSignal) => Promise<ModelResult>
  readonly wasAnswered: () => boolean
  /** Passes an answer to the executors of the prompts in progress. */
  readonly decide: (tell: (executor: PromptExecutor) => Promise<void> | undefined) => void
  /** Including the prompts it was opened with, oldest first. */
  readonly prompts: () => readonly Prompt[]
  readonly messages: () => readonly Message[]
}

interface Answering {
  readonly agent: ModelAgent
  readonly parts: AgentParts
  readonly plugins: Plugins
}

interface Places {
  readonly opener: RunContext
  readonly context: RunContext
}

/** Answers messages one after another, each as a prompt in its mode. */
function createResponder({ agent, parts, plugins }: Answering, places: Places): Responder {
  const { opener } = places
  const turns = createTurns(agent, parts, places)
  const modes = knownModes(plugins.modes, plugins.functions)
  const prompts = createPrompts(modes, (event) => emit(opener, event))
  const { said = [], history = [], userId: asker = 'local' } = agent
  const isFormer = opener.scope.hasFormerRounds === true
  const before: (() => Prompt)[] = history.map((prompt) => () => prompt)
  let count = 0

  /** Recorded, because it is part of the messages, and a resumed run may have a higher limit. */
  function toldRounds(usual: number | undefined, most = usual): number | undefined {
    if (usual === undefined) return undefined
    const asked = { name: 'max_rounds', args: [] }
    return opener.services.effects.observe([...turns.place(), part('rounds')], asked, () => most)
  }

  return {
    wasAnswered: turns.wasAnswered,
    decide(tell) {
      for (const executor of prompts.active.values()) {
        tell(executor)?.catch((error: unknown) => emit(opener, { type: 'warning', message: messageOf(error) }))
      }
    },
    prompts: () => before.map((prompt) => prompt()),
    messages: () => turns.log.all(),
    async answer(
      messages,
      { mode = agent.mode ?? 'classic', userId = asker, model = 'normal', isFeedback = false },
      signal,
    ) {
      const id = `${placeText(opener.scope.at)}/prompt${count === 0 ? '' : `-${count + 1}`}`
      const maxRounds = agent.maxRounds ?? (isFormer && mode === 'classic' ? formerRounds : undefined)
      const modeOptions =
        (mode === agent.mode ? agent.modeOptions : undefined) ?? opener.scope.modeOptions?.[mode] ?? {}
      await refuseOptions(mode, modeOptions, modes)
      const input = count === 0 ? withEarlier(messages, [...said, ...historyMessages(history)]) : messages
      const work = createPromptWork({
        id,
        mode,
        turns,
        opener,
        signal,
        isHigh: model === 'high',
        input,
        isFeedback,
        prepare: () => preparedMessages({ plugins, mode, userId, messages }, turns.place(), opener, signal),
      })
      const options = { mode, userId, model, input: messages, history: before.map((prompt) => prompt()) }
      let end: ModelEnd | undefined
      const executor = prompts.create({
        ...options,
        ...(maxRounds === undefined ? {} : { maxRounds }),
        ...defined({ toldRounds: isFormer ? undefined : toldRounds(modes.get(mode)?.rounds, maxRounds) }),
        options: modeOptions,
        services: work.services(options, (reason) => (end = reason)),
      })
      count += 1
      before.push(() => executor.prompt)
      const isLimited = (): boolean => end !== undefined && limits.has(end)
      const prompt = await prompts.execute(executor, signal, isLimited).finally(work.begin)
      const text = answerOf(prompt)
      // a mode that asked no model has answered all the same
      if (turns.log.all().at(-1)?.role === 'user') {
        turns.log.add([textMessage('assistant', isFormer ? text : answerOf(withoutNotes(prompt)))])
      }
      return { kind: 'model', end: end ?? 'done', text, messages: turns.log.all(), ...work.result() }
    },
  }
}

const limits: ReadonlySet<ModelEnd> = new Set<ModelEnd>(['max_turns', 'max_rounds', 'repeated_calls'])

function withoutNotes({ output }: Prompt): Pick<Prompt, 'output'> {
  return { output: output.filter((one) => one.type !== 'text' || one.note !== true) }
}

/** The system prompt, then the earlier messages, then the prompt (R181). */
function withEarlier(messages: readonly Message[], earlier: readonly Message[]): readonly Message[] {
  if (earlier.length === 0) return messages
  const first = messages.findIndex(({ role }) => role !== 'system')
  const split = first === -1 ? messages.length : first
  return [...messages.slice(0, split), ...earlier, ...messages.slice(split)]
}

/** Characters of a tool's line. */
const mostCharacters = 2000

/**
 * Earlier prompts as messages, oldest first (R181 to R184), depending on the outputs and not on the mode: text and
 * programs become assistant messages, the result of a program a user message, any other tool one line of a user
 * message.
 */
export function historyMessages(prompts: readonly Prompt[]): readonly Message[] {
  return prompts.flatMap(({ input = '', output }) => [
    ...(input === '' ? [] : [textMessage('user', input)]),
    ...output.flatMap(outputMessages),
  ])
}

function outputMessages(output: PromptOutput): readonly Message[] {
  switch (output.type) {
    case 'text':
      return output.text === '' || output.note === true ? [] : [textMessage('assistant', output.text)]
    case 'file':
      return [{ role: 'user', parts: [output.file] }]
    case 'tool':
      return output.function === 'code.execute' ? programMessages(output) : [textMessage('user', toolLine(output))]
  }
}

function programMessages(output: PromptTool): readonly Message[] {
  const code = isJsonObject(output.input) ? output.input['code'] : undefined
  const result = resultText(output)
  return [
    textMessage('assistant', typeof code === 'string' ? code : plainText(output.input)),
    ...(result === '' ? [] : [textMessage('user', result)]),
  ]
}

/** `tool(input) → result`. */
function toolLine(output: PromptTool): string {
  return cutText(`${output.function}(${plainText(output.input)}) → ${resultText(output)}`, mostCharacters)
}

function resultText({ result }: PromptTool): string {
  switch (result.type) {
    case 'success':
      return result.output
    case 'error':
      return modelText`error: ${result.error}`
    case 'pending':
      return modelText`not finished`
  }
}
