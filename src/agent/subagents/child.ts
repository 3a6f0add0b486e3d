import { isBatonError, isSuspension, limitOfRun, rewordError, stopsRun } from '../../base/error.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import type { AgentDefinition, CommandSession, ModelEnd } from '../../event/agent.ts'
import { emit, type RunContext, withLease, withServices } from '../../event/context.ts'
import type { BudgetLimits, LeaseTerms } from '../../event/effects.ts'
import { errorInfo } from '../../event/error-info.ts'
import type { ErrorInfo, EventBody, FileChange } from '../../event/event.ts'
import type { Inbox } from '../../event/inbox.ts'
import type { Message } from '../../event/message.ts'
import { type Measuring, nothingSpent, type Spent } from '../../event/meter.ts'
import { placeText } from '../../event/place.ts'
import { ask, type Conversation, messagesOf, saidIn } from './ask.ts'
import { leaseOf } from './lease.ts'
import { countRequests, Stopped } from './request-count.ts'

/** What an agent is to do for a model. */
export interface Order {
  readonly id: string
  readonly offered: AgentDefinition
  /** In a few words, for people. */
  readonly description: string
  readonly prompt: string
  readonly isBackground: boolean
  /** Asked in place of its own. */
  readonly model?: string
  readonly maxTurns?: number
  /** What it begins with: of its caller, or of the agent that it is the continuation of. */
  readonly before?: readonly Message[]
  /** The conversation of its program, where it is the continuation of one that had such. */
  readonly session?: CommandSession
  /** The agent that it is the continuation of: `before` is all that one was told, or `session` names it. */
  readonly resumes?: string
  /** What it has from its caller where its definition says nothing. */
  readonly inherited: JsonObject
  /** Absolute. */
  readonly baseDir: string
  /** How many share what is left of the budget when it begins: itself, those that its caller starts with it, and its caller. */
  readonly among: number
  /** Its part of what all of its team together may still cost, asked when it begins; left out: only what its definition says holds. */
  readonly limits?: () => Partial<BudgetLimits> | undefined
  /** Whether what it has spent has the agents in it that it has started; left out: it has. */
  readonly measuring?: Measuring
  /** It may start agents, which a resumed run has again only when it does again what it has done. */
  readonly startsAgents?: boolean
  /** What comes to it while it works in this context; left out: nothing does. */
  readonly inbox?: (context: RunContext) => Inbox
}

/** How an agent ended. Plain JSON: it is recorded, and an agent that has ended is never asked again. */
export type ChildEnd = {
  readonly status: 'done' | 'failed' | 'stopped'
  /** Its answer; of one that did not come to one, what it has said. */
  readonly text: string
  readonly error?: ErrorInfo
  /** Why its model stopped, where that is not because it was done. */
  readonly limit?: ModelEnd
  /** The whole conversation, so that it can be resumed; left out where it was none. */
  readonly messages?: readonly Message[]
  /** The same of a program, which keeps its conversation itself. */
  readonly session?: CommandSession
  /** Requests that it began. */
  readonly turns: number
  readonly spent: Spent
  readonly changes: readonly FileChange[]
  readonly planned: readonly { readonly path: string; readonly diff: string }[]
  /** Ids of the messages that it was told of; left out where none came. */
  readonly told?: readonly string[]
  /** Of one with a work tree of its own: what its caller's workspace has got from there, and what it has not, as a diff. */
  readonly applied?: readonly string[]
  readonly leftOut?: string
  /** A work tree was made for it. */
  readonly hasTree?: true
  /** What it was stopped with ends it for good: nothing that waits for it begins more work. */
  readonly isClosed?: true
}

/** How an agent ended, without what is counted. */
export type EndOfWork = Omit<ChildEnd, 'turns' | 'spent'>

/** An agent that works: what it has come to so far. */
export interface Working {
  readonly saidSoFar: () => string
  readonly spentSoFar: () => Spent
}

interface Life {
  /** At the place of the agent, with its rights; its signal ends the work without an end of the agent. */
  readonly context: RunContext
  /** Ends the agent. */
  readonly stop: AbortSignal
  readonly onBegin: (working: Working) => void
  /** Waits until it may work, before it does anything new; rejects when it is stopped. Left out: it may at once. */
  readonly live?: () => Promise<void>
  /** Told when it only does again what is recorded. */
  readonly onReplay?: () => void
}

/**
 * Lets an agent work until it has ended, as one boundary (R35). That it fails, or is stopped, is an end.
 * @throws a suspension, what ends the run, and the reason of the signal
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
  /** How it ended in an older process. */
  let ended: ChildEnd | undefined
  let removeTree = (): void => {}
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
        const onTree = (remove: () => void): void => void (removeTree = remove)
        const given = { ...life, onTree, replayed }
        if (ended !== undefined) return doAgain(order, given, ended)
        const { live } = life
        const lease = (): LeaseTerms => leaseOf(order)
        if (isReplay || live === undefined) return withLease(context, lease(), () => work(order, given))
        const { inTurn } = await import('./turn-to-work.ts')
        return inTurn({ live, lease }, context, (inner) => work(order, { ...given, context: inner }))
      },
      {
        inputs: inputsOf(order),
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
    // until the end is recorded a resumed run needs it
    removeTree()
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
 * What an agent did that has ended, for the agents that it started and the messages that it sent. However far the record goes, the end
 * stays what it was.
 */
async function doAgain(order: Order, given: Work, ended: ChildEnd): Promise<ChildEnd> {
  if (didNothing(ended)) return ended
  const { onlyRecorded } = await import('./only-recorded.ts')
  await work(order, { ...given, context: onlyRecorded(given.context) })
  return ended
}

/** Nothing of it is in the record. */
function didNothing({ status, turns, hasTree }: ChildEnd): boolean {
  return status === 'stopped' && turns === 0 && hasTree !== true
}

function closedBy({ reason }: AbortSignal): Pick<ChildEnd, 'isClosed'> {
  return reason instanceof Error && reason.message === closedReason ? { isClosed: true } : {}
}

/** The message of the reason with which a team stops an agent that it closes. */
const closedReason = 'closed'

/**
 * Records that an agent was stopped that waits for a person: it is not asked about any more. `working`: what it has come to by then, for
 * its end, which is told.
 */
export async function stopWaiting(order: Order, context: RunContext, working?: Working): Promise<ChildEnd> {
  const { scope, services } = context
  // the boundary begins once more, so that what it did before is no part of the record by which it is replayed
  const stopped: ChildEnd =
    working === undefined ? stoppedEnd : { ...stoppedEnd, text: working.saidSoFar(), spent: working.spentSoFar() }
  const options = { inputs: inputsOf(order), label: labelOf(order) }
  const end = await services.effects.boundary(scope.at, async () => stopped, options)
  if (working !== undefined) emit(context, endEvent(order, end))
  return end
}

/** What decides what an agent does. */
function inputsOf({ offered: { agent }, prompt, model, resumes }: Order): { readonly [name: string]: unknown } {
  return { agent: agent.text, prompt, ...defined({ model, resumes }) }
}

/** For lists of the parts of a run; the place has the name. */
function labelOf({ description, id }: Order): string {
  return `${description} (${id})`
}

const stoppedEnd: ChildEnd = { status: 'stopped', text: '', turns: 0, spent: nothingSpent, changes: [], planned: [] }

function endEvent({ id, offered: { name } }: Order, { status, text, error, limit, spent }: ChildEnd): EventBody {
  const { usage, costUsd: cost_usd } = spent
  if (error !== undefined) return { type: 'agent.failed', name, id, error, usage, cost_usd }
  const stop_reason = status === 'stopped' ? 'stopped' : (limit ?? 'done')
  return { type: 'agent.completed', name, id, stop_reason, output: text, usage, cost_usd }
}

interface Work extends Life {
  /** Given what removes the work tree that it has for itself. */
  readonly onTree: (remove: () => void) => void
  readonly replayed: ChildEnd | undefined
}

async function work(ordered: Order, { context, onBegin, onTree, replayed, stop: asked }: Work): Promise<ChildEnd> {
  // when it was stopped is known by how far it had come: its caller may be at another point by now
  const stop = replayed === undefined ? asked : new AbortController().signal
  const stopsAfter = replayed?.status === 'stopped' ? replayed.turns : undefined
  const { signal, meter } = context.services
  const own = placeText(context.scope.at)
  const requests = countRequests(stopsAfter)
  const told: string[] = []
  let session: Conversation | undefined
  let ofProgram = replayed?.session
  const saidSoFar = (): string => saidIn(session)
  const innerOf = (around: RunContext): RunContext => {
    const { events, effects } = around.services
    return withServices(around, {
      signal: AbortSignal.any([signal, stop]),
      effects: requests.counted(effects),
      // what an agent file says of itself is said already, with its id
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
    // it has not failed: with a higher limit it gets further
    if (!isStopped && isBatonError(error) && limitOfRun(error) !== undefined) {
      throw rewordError(error, { endsRun: true })
    }
    const said = {
      text: saidSoFar(),
      ...messagesOf(session),
      ...defined({ session: ofProgram }),
      changes: [],
      planned: [],
    }
    return isStopped ? { ...said, status: 'stopped' } : { ...said, status: 'failed', error: errorInfo(error) }
  }

  async function answerInPlace(soFar: () => Spent): Promise<EndOfWork> {
    onBegin({ saidSoFar, spentSoFar: soFar })
    // a dry run changes nothing
    if (ordered.offered.isolation === 'none' || context.scope.dry !== undefined) return answer(ordered, context)
    const { inOwnTree } = await import('./own-tree.ts')
    return inOwnTree(ordered, context, { work: answer, failed, onOpen: onTree })
  }

  const { value, spent } = await meter.measure(context.scope.at, answerInPlace, ordered.measuring)
  const closed = replayed === undefined ? closedBy(asked) : defined({ isClosed: replayed.isClosed })
  const isStopped = value.status === 'stopped'
  const turns = requests.begun()
  return { ...value, turns, spent, ...(told.length === 0 ? {} : { told }), ...(isStopped ? closed : {}) }
}

const nothingComes: Inbox = { isOpen: () => false, waiting: () => [], know: () => {}, next: async () => false }
