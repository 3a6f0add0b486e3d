import { BatonError, isSuspension, messageOf } from '../base/error.ts'
import { defined } from '../base/json.ts'
import type { AgentSession, ModelAgent, ModelEnd, ModelResult, SessionStatus, SubmissionId } from '../event/agent.ts'
import { type ContextWith, emit, type Gate, type RunContext, withScope } from '../event/context.ts'
import { errorInfo } from '../event/error-info.ts'
import { type Message, noUsage, textMessage, textOf } from '../event/message.ts'
import { legacyDefaultRounds } from '../event/limits.ts'
import { stoppedAnswer } from '../event/stopped-answer.ts'
import { answerOf, type Prompt, type PromptChoice } from '../event/prompt.ts'
import { conversationPlace, item, part, type Place, placeText } from '../event/place.ts'
import { answerPrompt } from './loop.ts'
import { createModeRegistry, modeNamed, refuseOptions } from './modes/registry.ts'
import type { PromptExecutor } from './modes/mode.ts'
import { createPluginExecutor } from './modes/plugin-mode.ts'
import { type OpenPrompt, openPrompt } from './open-prompt.ts'
import type { AgentParts } from './parts.ts'
import { noPlugins, type Plugins } from './plugins/plugin.ts'
import { createTurns, type TurnPlaces } from './turns.ts'

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
  /** Passes a decision about a call to the prompt in progress. */
  readonly decide: (tell: (executor: Executor) => Promise<void> | undefined) => void
  /** Including the prompts it was opened with, oldest first. */
  readonly prompts: () => readonly Prompt[]
  readonly messages: () => readonly Message[]
}

type Executor = Pick<PromptExecutor, 'id' | 'prompt' | 'run' | 'approve' | 'reject'>

interface Answering {
  readonly agent: ModelAgent
  readonly parts: AgentParts
  readonly plugins: Plugins
}

/** Answers messages one after another, each as a prompt in its mode. */
function createResponder({ agent, parts, plugins }: Answering, places: TurnPlaces): Responder {
  const { opener } = places
  const turns = createTurns(agent, parts, places)
  const { log } = turns
  const modes = createModeRegistry(plugins.modes, plugins.functions)
  const { said = [], history = [], userId: asker = 'local' } = agent
  const isFormer = opener.scope.hasFormerRounds === true
  const before: (() => Prompt)[] = history.map((prompt) => () => prompt)
  /** Of the prompt in progress. */
  let active: Executor | undefined
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
      if (active === undefined) return
      tell(active)?.catch((error: unknown) => emit(opener, { type: 'warning', message: messageOf(error) }))
    },
    prompts: () => before.map((prompt) => prompt()),
    messages: () => log.all(),
    async answer(
      messages,
      { mode: id = agent.mode ?? 'classic', userId = asker, model: asksFor, visible, state, isFeedback = false },
      signal,
    ) {
      const options = (id === agent.mode ? agent.modeOptions : undefined) ?? opener.scope.modeOptions?.[id] ?? {}
      await refuseOptions(id, options, modes)
      const mode = modeNamed(id, modes)
      if (state !== undefined && !('createExecutor' in mode)) throw stateless(id)
      const prompt = openPrompt({
        id: `${placeText(opener.scope.at)}/prompt${count === 0 ? '' : `-${count + 1}`}`,
        mode: id,
        userId,
        ...defined({ asksFor, visible }),
        log,
        opener,
        signal,
        asked: messages,
        input: count === 0 ? withEarlier(messages, [...said, ...(await historyOf(history))]) : messages,
        isFeedback,
        prepare: () => preparedMessages({ plugins, mode: id, userId, messages }, turns.place(), opener, signal),
      })
      const maxRounds = agent.maxRounds ?? (isFormer && id === 'classic' ? legacyDefaultRounds : undefined)
      const told = isFormer ? undefined : toldRounds(mode.rounds, maxRounds)
      const limited = { options, ...defined({ maxRounds, toldRounds: told }) }
      const executor: Executor =
        'createExecutor' in mode
          ? createPluginExecutor(mode, prompt, turns, {
              mode: id,
              userId,
              model: asksFor ?? 'normal',
              input: messages,
              history: before.map((one) => one()),
              ...(agent.state === undefined && state === undefined ? {} : { state: { ...agent.state, ...state } }),
              ...limited,
            })
          : {
              id: prompt.id,
              get prompt() {
                return prompt.now()
              },
              run: async () => prompt.complete(await answerPrompt(prompt, mode, turns, limited)),
              approve: turns.approve,
              reject: turns.reject,
            }
      active = executor
      emit(opener, { type: 'prompt.created', prompt_id: executor.id, user_id: userId, mode: id })
      count += 1
      before.push(() => executor.prompt)
      const done = await execute(executor, prompt).catch((error: unknown) => {
        record(executor.prompt)
        throw error
      })
      const text = answerOf(done)
      // a mode that asked no model has answered all the same
      if (log.all().at(-1)?.role === 'user') {
        const said = isFormer ? text : answerOf(withoutNotes(done))
        // it ended at a limit
        const isUnsaid = said === '' && agent.isChat === true
        log.add([isUnsaid ? stoppedAnswer('', false) : textMessage('assistant', said)])
      }
      record(done)
      return { kind: 'model', end: prompt.end() ?? 'done', text, messages: log.all(), ...prompt.result() }
    },
  }

  /** Its events are those of the prompt. */
  async function execute(executor: Executor, prompt: OpenPrompt): Promise<Prompt> {
    const { id } = executor
    try {
      const done = await executor.run()
      const end = prompt.end()
      const stop = end !== undefined && limits.has(end) ? ({ stop_reason: 'limit' } as const) : {}
      emit(opener, { type: 'prompt.completed', prompt_id: id, usage: done.usage ?? noUsage, ...stop })
      return done
    } catch (error) {
      prompt.fail(error)
      prompt.begin()
      if (!isSuspension(error)) {
        const isStopped = prompt.signal.aborted
        if (agent.isChat === true) keepStopped(prompt, isStopped)
        const state = isStopped ? 'cancelled' : 'failed'
        emit(opener, { type: 'prompt.error', prompt_id: id, state, error: errorInfo(error) })
      }
      throw error
    } finally {
      active = undefined
    }
  }

  /** What the user has seen of it stays in the conversation. */
  function keepStopped({ timeline }: OpenPrompt, isStopped: boolean): void {
    const broken = turns.broken()
    if (broken !== undefined) timeline.addText(broken.text, { itemId: broken.itemId })
    if (log.all().at(-1)?.role !== 'assistant') log.addOwn([stoppedAnswer(broken?.text ?? '', isStopped)])
  }

  function record(prompt: Prompt): void {
    if (agent.isChat !== true) return
    opener.services.recordPrompt?.(turns.lastPlace(), { prompt, rest: turns.undelivered() })
  }
}

function stateless(mode: string): BatonError {
  return new BatonError('USAGE', `the mode "${mode}" does not read "state"`, {
    hint: 'Modes of plug-ins get it as options.state. Leave it out, or name such a mode.',
  })
}

const limits: ReadonlySet<ModelEnd> = new Set<ModelEnd>(['max_turns', 'max_rounds', 'repeated_calls'])

function withoutNotes({ output }: Prompt): Pick<Prompt, 'output'> {
  return { output: output.filter((one) => one.type !== 'text' || one.note !== true) }
}

async function historyOf(history: readonly Prompt[]): Promise<readonly Message[]> {
  return history.length === 0 ? [] : (await import('./history-messages.ts')).historyMessages(history)
}

/** The system prompt, then the earlier messages, then the prompt. */
function withEarlier(messages: readonly Message[], earlier: readonly Message[]): readonly Message[] {
  if (earlier.length === 0) return messages
  const first = messages.findIndex(({ role }) => role !== 'system')
  const split = first === -1 ? messages.length : first
  return [...messages.slice(0, split), ...earlier, ...messages.slice(split)]
}

export interface Preparing {
  readonly plugins: Plugins
  readonly mode: string
  readonly userId: string
  /** Of the prompt. */
  readonly messages: readonly Message[]
}

/**
 * The context that plug-ins add to a prompt, one message each. It is recorded below the place of the next turn.
 * @throws BatonError AGENT_FAILED for one that throws
 */
export async function preparedMessages(
  { plugins, mode, userId, messages }: Preparing,
  turn: Place,
  { scope, services }: ContextWith<'folders', Gate>,
  signal: AbortSignal,
): Promise<readonly Message[]> {
  if (plugins.preparing.length === 0) return []
  const { workspace } = scope.folders
  const input = messages
    .filter(({ role }) => role === 'user')
    .map(textOf)
    .join('\n\n')
  const said: Message[] = []
  for (const [index, { id, prepare }] of plugins.preparing.entries()) {
    const at = [...turn, part('context'), item(index)]
    const text = await services.effects.observeAsync(at, { name: 'plugin.prepare', args: { plugin: id } }, async () => {
      try {
        return (await prepare({ input, mode, userId, workspace, signal })) ?? ''
      } catch (error) {
        signal.throwIfAborted()
        throw new BatonError('AGENT_FAILED', `the plug-in ${id} failed in prepare: ${messageOf(error)}`, {
          hint: 'Fix it, or remove it from plugins in your config file.',
          cause: error,
        })
      }
    })
    if (text !== '') said.push(textMessage('user', `# From ${id}\n\n${text}`))
  }
  return said
}
