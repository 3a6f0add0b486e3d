import type { JsonObject } from '../../base/json.ts'
import type { AgentDefinition, CommandSession, ModelEnd } from '../../event/agent.ts'
import type { RunContext } from '../../event/context.ts'
import type { BudgetLimits } from '../../event/effects.ts'
import type { ErrorInfo, FileChange } from '../../event/event.ts'
import type { Inbox } from '../../event/inbox.ts'
import type { Message } from '../../event/message.ts'
import { type Measuring, nothingSpent, type Spent } from '../../event/meter.ts'

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
  /** It waited for a person when it was stopped. */
  readonly wasWaiting?: true
}

/** How an agent ended, without what is counted. */
export type EndOfWork = Omit<ChildEnd, 'turns' | 'spent'>

/** An agent that works: what it has come to so far. */
export interface Working {
  readonly saidSoFar: () => string
  readonly spentSoFar: () => Spent
  /** Its end, if it is stopped now. */
  readonly stoppedSoFar: () => ChildEnd
}

/** One that has not begun to work. */
export const notWorking: Working = {
  saidSoFar: () => '',
  spentSoFar: () => nothingSpent,
  stoppedSoFar: () => ({ status: 'stopped', text: '', turns: 0, spent: nothingSpent, changes: [], planned: [] }),
}
