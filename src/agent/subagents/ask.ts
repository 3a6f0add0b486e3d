import { modelText } from '../../base/model-text.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import type { AgentDefinition, AgentSession, CommandSession, PromptAgent } from '../../event/agent.ts'
import { type RunContext, withScope } from '../../event/context.ts'
import type { Inbox } from '../../event/inbox.ts'
import { type Message, textMessage } from '../../event/message.ts'
import { callPromptInput } from '../prompt-input.ts'
import type { ChildEnd, EndOfWork, Order } from './order.ts'
import { withoutOpenCalls } from './fork.ts'

export interface Asking {
  readonly context: RunContext
  readonly inbox: Inbox
  readonly onOpen: (session: Conversation) => void
  /** Called with the program's conversation, however the agent ends. */
  readonly onSession: (session: CommandSession) => void
}

/** Asks the agent once and returns its answer. */
export async function ask(order: Order, asking: Asking): Promise<EndOfWork> {
  const { offered, prompt, model, session, maxTurns } = order
  const { onSession } = asking
  const { agent } = offered
  const options = defined({ model }) as JsonObject
  const answer = agent.kind === 'prompt' ? await converse(order, agent, { ...asking, options }) : undefined
  if (answer !== undefined) return answer
  const inputs = [callPromptInput(withReminder(prompt, offered))]
  // options that its definition does not set; the mode of its caller is not for it, and its rights limit its tools
  const { mode: _, ...around } = asking.context.scope.options
  const context = withScope(asking.context, { options: { ...around, ...order.inherited, tools: ['*'] } })
  const result = await context.services.agents.run(
    { kind: 'prompt', agent, inputs, options, onSession, ...defined({ session, maxTurns }) },
    context,
  )
  const nothing = { status: 'done', changes: [], planned: [] } as const
  if (result.end !== 'done') return { ...nothing, text: modelText`it had nothing to do: ${result.reason}` }
  return { ...nothing, text: result.text, ...defined({ session: result.session }) }
}

async function converse(
  { offered, before = [], resumes, prompt, maxTurns, inherited, baseDir }: Order,
  agent: PromptAgent,
  { context, inbox, onOpen, options }: Omit<Asking, 'onSession'> & { readonly options: JsonObject },
): Promise<EndOfWork | undefined> {
  const asked = textMessage('user', withReminder(prompt, offered))
  const answer = await context.services.agents.converse(
    {
      agent,
      options,
      inherited,
      baseDir,
      inbox,
      onOpen,
      ...defined({ maxTurns }),
      messages: (instructions) =>
        resumes !== undefined || instructions === ''
          ? [...before, asked]
          : [textMessage('system', instructions), ...before, asked],
    },
    context,
  )
  if (answer === undefined) return undefined
  const { end, text, messages, changes, planned } = answer
  return {
    status: 'done',
    text,
    messages: kept(messages),
    changes,
    planned,
    ...(end === 'done' ? {} : { limit: end }),
  }
}

export type Conversation = Pick<AgentSession, 'prompts' | 'messages'>

/** Empty if nothing was asked yet: then there is nothing to resume. */
export function messagesOf(session: Conversation | undefined): Pick<ChildEnd, 'messages'> {
  const messages = session?.messages() ?? []
  return messages.length === 0 ? {} : { messages: kept(messages) }
}

/** As JSON, and in a form that a host accepts again. */
function kept(messages: readonly Message[]): readonly Message[] {
  return withoutOpenCalls(JSON.parse(JSON.stringify(messages)) as readonly Message[])
}

function withReminder(prompt: string, { reminder }: Pick<AgentDefinition, 'reminder'>): string {
  return reminder === undefined ? prompt : `${prompt}\n\n${reminder}`
}

/** The text of its last prompt, including text between tool calls. */
export function saidIn(session: Conversation | undefined): string {
  const { output = [] } = session?.prompts().at(-1) ?? {}
  return output.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n\n')
}
