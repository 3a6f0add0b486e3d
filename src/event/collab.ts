import { renameKeys } from '../base/json.ts'
import type { AgentDefinition } from './agent.ts'
import type { BudgetLimits, Effects } from './effects.ts'
import type { Inbox } from './inbox.ts'
import type { Spent } from './meter.ts'

/** The id of the leader: the conversation that a team works for. */
export const leaderId = 'root'

/** Other spellings of the parameters of the tools of a team, by tool: models may use either. */
export const parameterAliases = {
  spawn_agent: { prompt: 'message' },
  send_input: { thread_id: 'id', prompt: 'message' },
  wait: { thread_ids: 'ids' },
  close_agent: { thread_id: 'id' },
} as const

/** The input of a call of any tool, with the usual names of its parameters. */
export function withCanonicalNames<Value>(
  tool: string,
  input: { readonly [name: string]: Value },
): { readonly [name: string]: Value } {
  return Object.hasOwn(parameterAliases, tool) ? renameKeys(input, parameterAliases[tool as TeamTool]) : input
}

type TeamTool = keyof typeof parameterAliases

/**
 * The status of an agent, as models and events see it. Final are `completed` with its last answer, `errored`,
 * `shutdown`, and `not_found` for unknown ids. An `interrupted` agent continues with the message that interrupted it.
 */
export type AgentStatus =
  | 'pending_init'
  | 'running'
  | 'interrupted'
  | 'shutdown'
  | 'not_found'
  | { readonly completed: string | null }
  | { readonly errored: string }

/** A message for an agent or for the leader. */
export type Mail = {
  /** The same in a resumed run, so that a delivered message is not delivered again. */
  readonly id: string
  /** An agent, or the leader. */
  readonly from: string
  readonly text: string
  /** Interrupts the recipient, which then continues with this message. */
  readonly interrupts: boolean
}

/** How a piece of an agent's work ended; `stopped`: the agent was interrupted or closed. */
export type PieceEnd =
  | { readonly kind: 'completed'; readonly text: string | null }
  | { readonly kind: 'errored'; readonly message: string }
  | { readonly kind: 'stopped' }

/** What a piece of work receives. */
export interface PieceTerms {
  /** Ends the piece as `stopped`. */
  readonly stop: AbortSignal
  /**
   * Called once, before the piece does anything that is not yet recorded: waits until the agent may work. A piece whose
   * end is recorded does not call it. Rejects with the reason of `stop`.
   */
  readonly live: () => Promise<void>
}

/**
 * The work of an agent. Its team calls `piece` with the message it was spawned with, then `begin` and `piece` in turn.
 */
export interface AgentWork {
  /**
   * The messages for the next piece; undefined: the agent was closed. `arrive` waits until there are messages, and
   * returns interrupting ones first; it is not called if a record has them. Either way, the returned messages count as
   * delivered.
   */
  readonly begin: (arrive: () => Promise<readonly Mail[] | undefined>) => Promise<readonly Mail[] | undefined>
  /** @throws a suspension, and errors that end the run */
  readonly piece: (mail: readonly Mail[], terms: PieceTerms) => Promise<PieceEnd>
  /** The agent is stopped while its piece waits for an approval: withdraws the question. */
  readonly withdraw: () => Promise<void>
}

export interface SpawnOrder {
  /** A UUID. */
  readonly id: string
  /** Who spawned it. */
  readonly parent: string
  /** 1 for agents of the leader. */
  readonly depth: number
  readonly role: string
  readonly message: Mail
  readonly work: AgentWork
  /**
   * What its spawner is told when it has ended, if it works only once. Default: its status, with an id for each piece of
   * its work.
   */
  readonly notice?: { readonly id: string; readonly text: () => string }
}

export interface TeamMember {
  readonly id: string
  readonly parent: string
  readonly depth: number
  readonly role: string
  readonly status: AgentStatus
  /** Waits for its turn, because the maximum number of agents is already working. */
  readonly isQueued: boolean
  /** The agents that it is currently waiting for. */
  readonly waitsFor: readonly string[]
}

export type StallKind = 'cycle' | 'endless_wait' | 'repeats' | 'no_progress'

export type TeamEvent =
  | { readonly kind: 'status'; readonly id: string; readonly role: string; readonly status: AgentStatus }
  /** Delivered to the model of `to`, once. */
  | { readonly kind: 'message'; readonly to: string; readonly mail: Mail }
  | {
      readonly kind: 'stalled'
      readonly stall: StallKind
      readonly agents: readonly string[]
      readonly message: string
    }

/** A request of a model that may be refused before it is carried out. */
export type TeamRequest =
  /** `depth`: of the spawning agent; the leader is at 0. */
  | { readonly kind: 'spawn'; readonly depth: number; readonly message: string }
  | { readonly kind: 'send'; readonly to: string; readonly text: string }
  | { readonly kind: 'wait'; readonly ids: readonly string[] }
  | { readonly kind: 'close'; readonly id: string; readonly by: string }

export interface WaitTerms {
  readonly ms: number
  readonly returnWhen: 'all' | 'any'
}

/** The result of a wait. Plain JSON. `seen`: ids of messages with the same news, for `know` of the waiter's inbox. */
export type WaitEnd =
  | {
      readonly status: { readonly [id: string]: AgentStatus }
      readonly timed_out: boolean
      readonly seen: readonly string[]
    }
  /** The wait would never have ended; the text names who waits for whom. */
  | { readonly stalled: string }

/** The agents of one leader: members, messages and waits. Independent of the journal and of models. */
export interface Team {
  /** Why a request is refused, as text for the model; undefined: it is allowed. */
  readonly refusal: (request: TeamRequest) => string | undefined
  /**
   * Adds an agent, which starts as soon as it may. The caller must have checked `refusal`, or have the spawn recorded.
   */
  readonly spawn: (order: SpawnOrder) => void
  /** Also to the leader. A known message is dropped; a message to an agent that is not yet spawned waits for it. */
  readonly send: (to: string, mail: Mail) => void
  readonly statusOf: (id: string) => AgentStatus
  /** The id of its last end, which counts its pieces; undefined for unknown ids. */
  readonly endOf: (id: string) => string | undefined
  readonly members: () => readonly TeamMember[]
  /**
   * Waits until all or any of the agents have ended; their order is kept. A wait that could never end ends immediately.
   * @throws a suspension when all these agents wait for approval, errors that end the run, and the reason of the signal
   */
  readonly wait: (waiter: string, ids: readonly string[], terms: WaitTerms, signal: AbortSignal) => Promise<WaitEnd>
  /** Permanently ends an agent and those that it spawned; returns its previous status. Idempotent. */
  readonly close: (id: string, by: string) => Promise<AgentStatus>
  /** Messages, ends of spawned agents that were not waited for, and, for the leader, stalls. */
  readonly inboxOf: (id: string) => Inbox
  /** Resolves when the agent has reached the end of its record. Immediate for unknown ids. */
  readonly caughtUp: (id: string) => Promise<void>
  /** A member made progress, such as model output, so the team is not stalled. Progress of the leader is ignored. */
  readonly progressed: (id: string) => void
  /** The user is being asked; until the returned function is called, the team does not count as stalled. */
  readonly asking: () => () => void
  /** A member called a tool; `call` is equal for equal input and result. */
  readonly called: (id: string, tool: string, call: string) => void
  /** Aborted when the leader has failed: agents stop without a recorded end, so a resumed run repeats their work. */
  readonly abandoned: AbortSignal
  /** Returns a function that removes the listener. */
  readonly watch: (listener: (event: TeamEvent) => void) => () => void
  /**
   * The leader has ended: agents are closed, unless it failed. If it waits for an approval, they work until they have
   * ended or wait as well. Returns the agents that had not been closed.
   */
  readonly end: (failure: unknown) => Promise<readonly TeamMember[]>
}

/** `[collab]` in force. Times in milliseconds. */
export interface CollabSettings {
  /** Agents that may work at the same time. */
  readonly maxAgents: number
  readonly maxDepth: number
  readonly defaultWaitMs: number
  readonly minWaitMs: number
  readonly maxWaitMs: number
  readonly returnWhen: 'all' | 'any'
  readonly onStall: 'tell' | 'fail'
  readonly stallAfterMs: number
  /** For all agents together. */
  readonly budget?: BudgetLimits
  readonly roles: ReadonlyMap<string, AgentDefinition>
}

/** The shared budget of all agents of a team; each piece of work leases a part of it. */
export interface TeamBudget {
  /**
   * The share of an agent that starts to work, where `among` agents may work at the same time. Undefined: only the
   * limit of the agent that started it (`parent`) applies; while that agent works, its share is for both.
   */
  readonly lend: (agent: string, among: number, parent?: string) => Partial<BudgetLimits> | undefined
  /** Its work has ended, in this process or an earlier one: what it did not spend is returned. */
  readonly settle: (agent: string, spent: Spent) => void
  /** It stopped working without an end: a resumed run continues the work. */
  readonly release: (agent: string) => void
}

/** The team that a conversation belongs to, and its identity there. */
export interface Collab {
  readonly team: Team
  readonly settings: CollabSettings
  readonly self: { readonly id: string; readonly depth: number }
  /** Signal of the leader's conversation: agents end with it. */
  readonly signal: AbortSignal
  readonly budget: TeamBudget
  /** Effects of the leader's conversation: the work of agents does not belong to the agent that started them. */
  readonly effects: Effects
}
