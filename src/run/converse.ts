import { isSuspension, stopsRun } from '../base/error.ts'
import { readPrompt } from '../agent/modes/stored-prompt.ts'
import { defined, type Json, type JsonObject } from '../base/json.ts'
import { giveTools } from '../team/tools.ts'
import { chosenTools } from '../tool/toolbox/choose-tools.ts'
import type { AgentSession } from '../event/agent.ts'
import type { Prompt, PromptChoice } from '../event/prompt.ts'
import { below, type RunContext } from '../event/context.ts'
import { type Message, textMessage } from '../event/message.ts'
import { part } from '../event/place.ts'
import type { Ending } from './ending.ts'
import { mainAgent } from './main-agent.ts'
import type { PromptTarget } from '../load/prompt-target.ts'

/** The operations of a front end on a conversation, in their order. */
export type Operation =
  | ({ readonly type: 'prompt'; readonly text: string } & Omit<PromptChoice, 'isFeedback'>)
  /** Stops the prompt in progress; later ones are executed. */
  | { readonly type: 'interrupt' }
  /** Answers a question, by the id of its `approval.requested` event or of the `tool.started` of its call. */
  | { readonly type: 'approve'; readonly id: string }
  | { readonly type: 'reject'; readonly id: string; readonly reason?: string }
  /** Earlier prompts are executed, then the conversation ends. */
  | { readonly type: 'shutdown' }

export interface ConverseOptions {
  readonly target: PromptTarget
  /** The conversation ends when this does. */
  readonly operations: AsyncIterable<Operation>
  /** Answers a pending question; ignores others. */
  readonly decide: (operation: Extract<Operation, { readonly id: string }>) => void
  readonly history: readonly Prompt[]
  readonly userId: string
  /** Values for the executors of its prompts. */
  readonly state?: JsonObject | undefined
  /** Called with the conversation once it is open. */
  readonly onOpen: (session: Pick<AgentSession, 'prompts'>) => void
}

/** Front ends pass the answers they have stored. */
function stored(prompt: Prompt): Prompt {
  return readPrompt(JSON.parse(JSON.stringify(prompt)) as Json)
}

/**
 * Runs a conversation: executes operations in order until `shutdown`. A failed prompt does not end it.
 * @throws BatonError for what ends a run
 */
export async function converse(
  { target, operations, decide, history, userId, state, onOpen }: ConverseOptions,
  context: RunContext,
): Promise<Ending> {
  const { settings, spec } = target
  const names = settings.tools === undefined ? [] : chosenTools(settings, context)
  const given = await giveTools(names, { named: settings, baseDir: settings.base_dir }, context)
  const agent = {
    ...mainAgent({ settings, output: undefined, usesOwnAliases: false }, given),
    history: history.map(stored),
    userId,
    isChat: true as const,
    ...defined({ state }),
  }
  const session = await context.services.agents.open(agent, below(context, part('main')))
  onOpen(session)
  const instruction = spec.document.instruction.trim()
  let opening: readonly Message[] = instruction === '' ? [] : [textMessage('system', instruction)]
  let failRun: (error: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => (failRun = reject))
  const { signal } = context.services
  const stop = (): void => failRun(signal.reason)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  // read by the waiting code below
  failed.catch(() => undefined)

  async function carryOut(operation: Operation): Promise<void> {
    switch (operation.type) {
      case 'prompt': {
        const { text, type: _, ...choice } = operation
        const id = await session.send([...opening, textMessage('user', text)], choice)
        opening = []
        session.answer(id).catch((error: unknown) => {
          if (isSuspension(error) || stopsRun(error)) failRun(error)
        })
        // a following interrupt is about this prompt
        await new Promise((resolve) => setImmediate(resolve))
        return
      }
      case 'interrupt':
        session.interrupt()
        return
      case 'approve':
        decide(operation)
        session.approve(operation.id)
        return
      case 'reject':
        decide(operation)
        session.reject(operation.id, operation.reason)
        return
      case 'shutdown':
        return
    }
  }

  async function all(): Promise<void> {
    for await (const operation of operations) {
      if (operation.type === 'shutdown') return
      await carryOut(operation)
    }
  }

  try {
    await Promise.race([all(), failed])
  } finally {
    signal.removeEventListener('abort', stop)
    await session.close()
  }
  signal.throwIfAborted()
  return { stopReason: 'done', tasks: [], outputs: [], isFinal: true }
}
