import type { AgentDefinition } from './agent.ts'
import type { BudgetLimits, Effects } from './effects.ts'
import type { Inbox } from './inbox.ts'
import type { Spent } from './meter.ts'

/** The id of the conversation that a team works for: the leader. */
export const leaderId = 'root'

/**
 * Where an agent is (R96), as models and events see it. Ended are `completed` with its last answer, `errored`, `shutdown`, and `not_found`
 * for ids that nobody has; one that was `interrupted` goes on with the message that interrupted it.
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
  /** The same in a resumed run: what was told under an id is not told again. */
  readonly id: string
  /** An agent, or the leader. */
  readonly from: string
  readonly text: string
  /** What its receiver does is stopped, and goes on with this message. */
  readonly interrupts: boolean
}

/** How a piece of the work of an agent ended; `stopped`: because it was interrupted or closed. */
export type PieceEnd =
  | { readonly kind: 'completed'; readonly text: string | null }
  | { readonly kind: 'errored'; readonly message: string }
  | { readonly kind: 'stopped' }

/** What a piece of work is given. */
export interface PieceTerms {
  /** Ends the piece as `stopped`. */
  readonly stop: AbortSignal
  /**
   * Called once, before the piece does anything that is not recorded: waits until the agent may work. A piece that has a
   * recorded end does not call it. Rejects with the reason of `stop`.
   */
  readonly live: () => Promise<void>
}

/** What an agent does, as its team calls it: first `piece` with the message it was spawned with, then `begin` and `piece` in turn. */
export interface AgentWork {
  /**
   * What the next piece begins with; undefined: the agent was closed. `arrive` waits until messages are there, the interrupting ones
   * first; it is not called where a record knows. What comes back is told, whether `arrive` gave it or not.
   */
  readonly begin: (arrive: () => Promise<readonly Mail[] | undefined>) => Promise<readonly Mail[] | undefined>
  /** @throws a suspension, and what ends the run */
  readonly piece: (mail: readonly Mail[], terms: PieceTerms) => Promise<PieceEnd>
  /** Its piece waits for a person, and the agent is stopped: nobody is asked about that any more. */
  readonly withdraw: () => Promise<void>
}

export interface SpawnOrder {
  /** A UUID (R97). */
  readonly id: string
  /** Who spawned it. */
  readonly parent: string
  /** 1 for agents of the leader. */
  readonly depth: number
  readonly role: string
  readonly message: Mail
  readonly work: AgentWork
}

export interface TeamMember {
  readonly id: string
  readonly parent: string
  readonly depth: number
  readonly role: string
  readonly status: AgentStatus
  /** May not work yet, because as many as may work already. */
  readonly isQueued: boolean
  /** The agents that it waits for just now. */
  readonly waitsFor: readonly string[]
}

/** Which kind of standstill was found. */
export type StallKind = 'cycle' | 'endless_wait' | 'repeats' | 'no_progress'

/** What a team tells whoever watches it. */
export type TeamEvent =
  | { readonly kind: 'status'; readonly id: string; readonly role: string; readonly status: AgentStatus }
  /** It is told to the model of `to`, once. */
  | { readonly kind: 'message'; readonly to: string; readonly mail: Mail }
  | {
      readonly kind: 'stalled'
      readonly stall: StallKind
      readonly agents: readonly string[]
      readonly message: string
    }

/** What may be refused to a model before it is done. */
export type TeamRequest =
  /** `depth`: of the one that spawns; the leader is at 0. */
  | { readonly kind: 'spawn'; readonly depth: number; readonly message: string }
  | { readonly kind: 'send'; readonly to: string; readonly text: string }
  | { readonly kind: 'wait'; readonly ids: readonly string[] }
  | { readonly kind: 'close'; readonly id: string; readonly by: string }

export interface WaitTerms {
  readonly ms: number
  readonly returnWhen: 'all' | 'any'
}

/** What came of a wait. Plain JSON. `seen`: ids of messages that say the same, for `know` of the inbox of the one that waited. */
export type WaitEnd =
  | {
      readonly status: { readonly [id: string]: AgentStatus }
      readonly timed_out: boolean
      readonly seen: readonly string[]
    }
  /** It would never have ended; the text names who waits for whom. */
  | { readonly stalled: string }

/** The agents of one leader: who there is, what they are told, who waits for whom (R95 to R111). It knows no journal and no model. */
export interface Team {
  /** Why something is refused, in the words that the model is told; undefined: it is not. */
  readonly refusal: (request: TeamRequest) => string | undefined
  /** Adds an agent, which begins as soon as it may. Not refused: who calls it has asked `refusal`, or has it recorded. */
  readonly spawn: (order: SpawnOrder) => void
  /** Also to the leader. A message that is known is dropped; one to an agent that comes only later waits for it. */
  readonly send: (to: string, mail: Mail) => void
  readonly statusOf: (id: string) => AgentStatus
  /** The id of its last end, which counts its pieces; undefined for ids that nobody has. */
  readonly endOf: (id: string) => string | undefined
  readonly members: () => readonly TeamMember[]
  /**
   * Waits until all or any of the agents have ended; their order is kept. A wait that could never end does so at once.
   * @throws a suspension when all that it waits for do for a person, what ends the run, and the reason of the signal
   */
  readonly wait: (waiter: string, ids: readonly string[], terms: WaitTerms, signal: AbortSignal) => Promise<WaitEnd>
  /** Ends an agent and those that it spawned, for good, and gives the status before. Closing again does nothing. */
  readonly close: (id: string, by: string) => Promise<AgentStatus>
  /** Messages, ends of spawned agents that were not waited for, and for the leader standstills. */
  readonly inboxOf: (id: string) => Inbox
  /** Its record is passed: it does something new, or nothing. At once for ids that nobody has. */
  readonly caughtUp: (id: string) => Promise<void>
  /** A member has got further, such as by output of its model: the team does not stand still. That the leader has says nothing. */
  readonly progressed: (id: string) => void
  /** A person is asked: meanwhile no team stands still. Returns the function that ends it. */
  readonly asking: () => () => void
  /** A member has called a tool; `call` is the same text for the same input and result. */
  readonly called: (id: string, tool: string, call: string) => void
  /** Aborted when the leader has failed: what agents do ends without an end, and a resumed run does it again. */
  readonly abandoned: AbortSignal
  /** Returns the function that ends it. */
  readonly watch: (listener: (event: TeamEvent) => void) => () => void
  /**
   * The leader has ended: agents are closed, unless it failed. Where it waits for a person they work until they have ended or wait as well.
   * Gives the agents that nobody had closed.
   */
  readonly end: (failure: unknown) => Promise<readonly TeamMember[]>
}

/** `[collab]` in force (R102 to R106). Times in milliseconds. */
export interface CollabSettings {
  /** That work at once. */
  readonly maxAgents: number
  readonly maxDepth: number
  readonly defaultWaitMs: number
  readonly minWaitMs: number
  readonly maxWaitMs: number
  readonly returnWhen: 'all' | 'any'
  readonly onStall: 'tell' | 'fail'
  readonly stallAfterMs: number
  /** Of all agents together. */
  readonly budget?: BudgetLimits
  readonly roles: ReadonlyMap<string, AgentDefinition>
}

/** The budget of all agents of a team together, of which each piece of work is lent a share. */
export interface TeamBudget {
  /**
   * The share of an agent that begins to work, among so many that may at once; undefined: no limit holds but that of the agent which has
   * started it (`parent`), whose share is for both while that one works.
   */
  readonly lend: (agent: string, among: number, parent?: string) => Partial<BudgetLimits> | undefined
  /** Its work has ended and used this, in this process or in an older one: the rest of its share goes back. */
  readonly settle: (agent: string, spent: Spent) => void
  /** It works no more without an end: a resumed run works on. */
  readonly release: (agent: string) => void
}

/** The team that a conversation belongs to, and who it is there. */
export interface Collab {
  readonly team: Team
  readonly settings: CollabSettings
  readonly self: { readonly id: string; readonly depth: number }
  /** Of the conversation of the leader: agents end with it. */
  readonly signal: AbortSignal
  readonly budget: TeamBudget
  /** Of the conversation of the leader: what agents do is no work of the agent that has started them. */
  readonly effects: Effects
}
