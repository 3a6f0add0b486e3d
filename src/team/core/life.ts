import { hasOwnText, modelText } from '../../base/model-text.ts'
import { isBatonError, isSuspension, limitOfRun, rewordError, stopsRun } from '../../base/error.ts'
import { defined, isJsonObject, type JsonObject } from '../../base/json.ts'
import type { AgentDefinition, AgentSession, CommandSession, PromptAgent } from '../../event/agent.ts'
import { emit, type RunContext, withLease, withScope, withServices } from '../../event/context.ts'
import type { BudgetLimits, LeaseTerms } from '../../event/effects.ts'
import { errorInfo } from '../../event/error-info.ts'
import type { EventBody } from '../../event/event.ts'
import type { Inbox } from '../../event/inbox.ts'
import type { Spent } from '../../event/meter.ts'
import { placeText } from '../../event/place.ts'
import { type ChildEnd, countRequests, type EndOfWork, type Order, Stopped, type Working } from './order.ts'
import { type Message, textMessage, toolCallsOf } from '../../event/message.ts'
import { callPromptInput } from '../../agent/prompt-input.ts'

interface Life {
  /** At the place of the agent, with its rights. An abort of its signal stops the work without recording an end. */
  readonly context: RunContext
  /** Ends the agent. */
  readonly stop: AbortSignal
  readonly onBegin: (working: Working) => void
  /** Waits until it may do work that is not recorded; rejects when it is stopped. Default: no waiting. */
  readonly live?: () => Promise<void>
  /** Called when it only replays recorded work. */
  readonly onReplay?: () => void
}

/**
 * Runs an agent until it has ended, as one boundary. A failure or a stop is an end, too.
 * @throws a suspension, an error that ends the run, or the reason of the signal
 */
export async function liveChild(order: Order, life: Life): Promise<ChildEnd> {
  const { context } = life
  const { at } = context.scope
  const { effects, meter } = context.services
  const { id, offered, description, isBackground, prompt } = order
  const { name } = offered
  let isEntered = false
  let isReplay = false
  let replayed: ChildEnd | undefined
  /** How it ended in an earlier process. */
  let ended: ChildEnd | undefined
  let removeTree = async (): Promise<void> => {}
  emit(context, {
    type: 'agent.started',
    name,
    kind: offered.agent.kind,
    id,
    description,
    input: prompt,
    ...(isBackground ? { background: true } : {}),
  })
  try {
    const end = await effects.boundary(
      at,
      async () => {
        isEntered = true
        if (replayed !== undefined && didNothing(replayed)) return replayed
        const onTree = (remove: () => Promise<void>): void => void (removeTree = remove)
        const given = { ...life, onTree, replayed, isEnded: ended !== undefined }
        if (ended !== undefined) return doAgain(order, given, ended)
        if (replayed?.wasWaiting === true) return waitAgain(order, given, replayed)
        const { live } = life
        const lease = (): LeaseTerms => leaseOf(order)
        if (isReplay || live === undefined) return withLease(context, lease(), () => work(order, given))
        const { inTurn } = await import('./recorded-work.ts')
        return inTurn({ live, lease }, context, (inner) => work(order, { ...given, context: inner }))
      },
      {
        ...inputsOf(order),
        label: labelOf(order),
        isDoneAgain: () => order.startsAgents === true,
        onDoneAgain: (recorded) => void (ended = recorded),
        onReplay(recorded) {
          isReplay = true
          replayed = recorded
          life.onReplay?.()
        },
      },
    )
    // a resumed run needs the work tree until the end is recorded
    await removeTree()
    if (!isEntered && offered.isolation !== 'none') (await import('./own-tree.ts')).removeLeftTree(context)
    if (!isEntered) await meter.measure(at, async () => meter.recall(at, end.spent), order.measuring)
    emit(context, endEvent(order, end))
    return end
  } catch (error) {
    const type = isSuspension(error) ? 'agent.suspended' : 'agent.failed'
    emit(context, { type, name, id, error: errorInfo(error) })
    throw error
  }
}

/**
 * Replays an agent that has ended, to restore the agents that it started and the messages that it sent. The recorded
 * end is kept, however far the replay gets.
 */
async function doAgain(order: Order, given: Work, ended: ChildEnd): Promise<ChildEnd> {
  if (didNothing(ended)) return ended
  const { onlyRecorded } = await import('./recorded-work.ts')
  try {
    await work(order, { ...given, context: onlyRecorded(given.context) })
  } catch (error) {
    if (!(error instanceof Stopped)) throw error
  }
  return ended
}

/** Replays an agent that was stopped while it waited for the user: the replay ends where the agent waited. */
async function waitAgain(order: Order, given: Work, ended: ChildEnd): Promise<ChildEnd> {
  try {
    await work(order, given)
  } catch (error) {
    if (!isSuspension(error)) throw error
  }
  return ended
}

/** The record has nothing to replay. */
function didNothing({ status, turns, hasTree, wasWaiting }: ChildEnd): boolean {
  return status === 'stopped' && turns === 0 && hasTree !== true && wasWaiting !== true
}

function closedBy({ reason }: AbortSignal): Pick<ChildEnd, 'isClosed'> {
  return reason instanceof Error && reason.message === closedReason ? { isClosed: true } : {}
}

/** The message of the abort reason with which a team closes an agent. */
const closedReason = 'closed'

/** Records and reports that an agent that waits for the user was stopped: the user is no longer asked. */
export async function stopWaiting(order: Order, context: RunContext, working: Working): Promise<ChildEnd> {
  const { scope, services } = context
  const end: ChildEnd = { ...working.stoppedSoFar(), wasWaiting: true }
  await services.effects.boundary(scope.at, async () => end, {
    ...inputsOf(order),
    label: labelOf(order),
    isDoneAgain: () => order.startsAgents === true,
    hasBegun: true,
  })
  emit(context, endEvent(order, end))
  return end
}

/** The values that determine what an agent does. The name of an agent is part of its place. */
function inputsOf({ offered: { agent }, prompt, model, resumes }: Order) {
  const inputs = { agent: agent.text, prompt, ...defined({ model, resumes }) }
  return { inputs, ownInputs: hasOwnText(agent.text) ? ['agent'] : [] }
}

/** For lists of the parts of a run; the name is part of the place. */
function labelOf({ description, id }: Order): string {
  return `${description} (${id})`
}

function endEvent({ id, offered: { name } }: Order, { status, text, error, limit, spent }: ChildEnd): EventBody {
  const { usage, costUsd: cost_usd } = spent
  if (error !== undefined) return { type: 'agent.failed', name, id, error, usage, cost_usd }
  const stop_reason = status === 'stopped' ? 'stopped' : (limit ?? 'done')
  return { type: 'agent.completed', name, id, stop_reason, output: text, usage, cost_usd }
}

interface Work extends Life {
  /** Called with the function that removes the agent's own work tree. */
  readonly onTree: (remove: () => Promise<void>) => void
  readonly replayed: ChildEnd | undefined
  /** Its end is recorded, and it is only played again. */
  readonly isEnded: boolean
}

async function work(
  ordered: Order,
  { context, onBegin, onTree, replayed, isEnded, stop: asked }: Work,
): Promise<ChildEnd> {
  // a replay stops after as many requests as before: its caller may have reached a different point by now
  const stop = replayed === undefined ? asked : new AbortController().signal
  const stopsAfter = replayed?.status === 'stopped' && replayed.wasWaiting !== true ? replayed.turns : undefined
  const { signal, meter } = context.services
  const own = placeText(context.scope.at)
  const requests = countRequests(stopsAfter)
  const told: string[] = []
  let session: Conversation | undefined
  let ofProgram = replayed?.session
  const saidSoFar = (): string => lastPromptText(session)
  const innerOf = (around: RunContext): RunContext => {
    const { events, effects } = around.services
    return withServices(around, {
      signal: AbortSignal.any([signal, stop]),
      effects: requests.counted(effects),
      // events about itself are already sent here, with its id
      events: (place, event) => {
        if (!event.type.startsWith('agent.') || placeText(place) !== own) events(place, event)
      },
    })
  }
  const mail = ordered.inbox?.(context) ?? nothingComes
  const inbox: Inbox = {
    ...mail,
    isOpen() {
      requests.turn()
      return mail.isOpen()
    },
    know(ids) {
      told.push(...ids)
      mail.know(ids)
    },
  }

  async function answer(order: Order, around: RunContext): Promise<EndOfWork> {
    try {
      const onSession = (named: CommandSession): void => void (ofProgram = named)
      const onOpen = (opened: Conversation): void => void (session = opened)
      return await ask(order, { context: innerOf(around), inbox, onOpen, onSession })
    } catch (error) {
      return failed(error)
    }
  }

  function failed(error: unknown): EndOfWork {
    signal.throwIfAborted()
    const isStopped =
      stop.aborted || error instanceof Stopped || (stopsAfter !== undefined && requests.begun() >= stopsAfter)
    if (stopsRun(error) && !(isStopped && isSuspension(error))) throw error
    // not a failure of the agent: it can continue with a higher limit
    if (!isStopped && isBatonError(error) && limitOfRun(error) !== undefined) {
      throw rewordError(error, { endsRun: true })
    }
    return isStopped ? stopped() : { ...stopped(), status: 'failed', error: errorInfo(error) }
  }

  function stopped(): EndOfWork {
    const own = { ...messagesOf(session), ...defined({ session: ofProgram }) }
    return { status: 'stopped', text: saidSoFar(), ...own, changes: [], planned: [] }
  }

  function counted(end: EndOfWork, spent: Spent): ChildEnd {
    const closed = replayed === undefined ? closedBy(asked) : defined({ isClosed: replayed.isClosed })
    const turns = requests.begun()
    return { ...end, turns, spent, ...(told.length === 0 ? {} : { told }), ...(end.status === 'stopped' ? closed : {}) }
  }

  async function answerInPlace(spentSoFar: () => Spent): Promise<EndOfWork> {
    onBegin({ saidSoFar, spentSoFar, stoppedSoFar: () => counted(stopped(), spentSoFar()) })
    // a dry run changes nothing, so it needs no work tree
    if (ordered.offered.isolation === 'none' || context.scope.dry !== undefined) return answer(ordered, context)
    const { inOwnTree } = await import('./own-tree.ts')
    return inOwnTree(ordered, context, { work: answer, failed, onOpen: onTree, isEnded })
  }

  const { value, spent } = await meter.measure(context.scope.at, answerInPlace, ordered.measuring)
  return counted(value, spent)
}

const nothingComes: Inbox = { isOpen: () => false, waiting: () => [], know: () => {}, next: async () => false }

/** The borrower of a part of a budget. */
interface Borrower {
  readonly offered: Pick<AgentDefinition, 'name' | 'settings'>
  readonly among: number
  readonly limits?: () => Partial<BudgetLimits> | undefined
}

/**
 * The part of its caller's budget that an agent may use up. Exceeding it is a failure of this agent only; the others
 * keep their parts.
 */
function leaseOf({ offered: { name, settings }, among, limits: share }: Borrower): LeaseTerms {
  const given = share?.() ?? {}
  const { budget } = settings
  const own = isJsonObject(budget) ? limitsIn(budget) : {}
  const limits = { ...given, ...own, ...leastOf(given, own) }
  return { whom: `agent "${name}"`, among, ...(Object.keys(limits).length === 0 ? {} : { limits }) }
}

/** The lower limit where both set one. */
function leastOf(one: Partial<BudgetLimits>, other: Partial<BudgetLimits>): Partial<BudgetLimits> {
  const both = (['calls', 'tokens', 'usd'] as const).flatMap((measure) => {
    const [left, right] = [one[measure], other[measure]]
    return left === undefined || right === undefined ? [] : [[measure, Math.min(left, right)] as const]
  })
  return Object.fromEntries(both)
}

function limitsIn({ calls, tokens, usd, unpriced }: JsonObject): Partial<BudgetLimits> {
  const numbers = Object.entries({ calls, tokens, usd }).filter(([, limit]) => typeof limit === 'number')
  return { ...Object.fromEntries(numbers), ...(unpriced === 'allow' ? { unpriced } : {}) }
}

interface AskOptions {
  readonly context: RunContext
  readonly inbox: Inbox
  readonly onOpen: (session: Conversation) => void
  /** Called with the program's conversation, however the agent ends. */
  readonly onSession: (session: CommandSession) => void
}

/** Asks the agent once and returns its answer. */
async function ask(order: Order, asking: AskOptions): Promise<EndOfWork> {
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
  { context, inbox, onOpen, options }: Omit<AskOptions, 'onSession'> & { readonly options: JsonObject },
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

type Conversation = Pick<AgentSession, 'prompts' | 'messages'>

/** Empty if nothing was asked yet: then there is nothing to resume. */
function messagesOf(session: Conversation | undefined): Pick<ChildEnd, 'messages'> {
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
function lastPromptText(session: Conversation | undefined): string {
  const { output = [] } = session?.prompts().at(-1) ?? {}
  return output.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n\n')
}

/**
 * The messages of a conversation as the start of another one: without the system prompt, and without answers that
 * have tool calls without results, such as the call that starts the agent. Hosts reject those.
 */
export function forkedMessages(messages: readonly Message[]): readonly Message[] {
  return withoutOpenCalls(messages.filter(({ role }) => role !== 'system'))
}

/** Omits each answer that has a call without a later result, along with the results of its other calls. */
export function withoutOpenCalls(messages: readonly Message[]): readonly Message[] {
  const kept: Message[] = []
  for (let index = 0; index < messages.length;) {
    const message = messages[index] as Message
    index += 1
    const calls = toolCallsOf(message)
    if (calls.length === 0) {
      kept.push(message)
      continue
    }
    // later turns may reuse ids
    let end = index
    while (messages[end]?.role === 'tool') end += 1
    const results = messages.slice(index, end)
    const answered = new Set(results.flatMap(({ parts }) => parts.flatMap((part) => ('id' in part ? [part.id] : []))))
    if (calls.every(({ id }) => answered.has(id))) kept.push(message, ...results)
    index = end
  }
  return kept
}
