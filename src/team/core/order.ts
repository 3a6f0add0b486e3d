import type { JsonObject } from '../../base/json.ts'
import type { AgentDefinition, CommandSession, ModelEnd } from '../../event/agent.ts'
import type { RunContext } from '../../event/context.ts'
import { type BudgetLimits, decorate, type Effects } from '../../event/effects.ts'
import type { ErrorInfo, FileChange } from '../../event/event.ts'
import type { Inbox } from '../../event/inbox.ts'
import type { Message } from '../../event/message.ts'
import { type Measuring, nothingSpent, type Spent } from '../../event/meter.ts'

/** The work that a model gives to an agent. */
export interface Order {
  readonly id: string
  readonly offered: AgentDefinition
  /** In a few words, for users. */
  readonly description: string
  readonly prompt: string
  readonly isBackground: boolean
  /** Used instead of its own model. */
  readonly model?: string
  readonly maxTurns?: number
  /** The messages that its conversation starts with: those of its caller or of the agent that it continues. */
  readonly before?: readonly Message[]
  /** The conversation of its program, if it continues an agent that had one. */
  readonly session?: CommandSession
  /** The agent that it continues: `before` is the conversation of that one, or `session` names it. */
  readonly resumes?: string
  /** Options from its caller, used if its definition does not set them. */
  readonly inherited: JsonObject
  /** Absolute. */
  readonly baseDir: string
  /** How many share the rest of the budget at its start: itself, the agents started with it, and its caller. */
  readonly among: number
  /** Its part of the budget of its whole team, requested when it starts. Default: only the limits of its definition. */
  readonly limits?: () => Partial<BudgetLimits> | undefined
  /** Whether its spending includes that of the agents it started. Default: it does. */
  readonly measuring?: Measuring
  /** It may start agents; a resumed run restores those only by replaying this agent. */
  readonly startsAgents?: boolean
  /** Messages for it while it works in this context. Default: none. */
  readonly inbox?: (context: RunContext) => Inbox
}

/** How an agent ended. Plain JSON: it is recorded, and an agent that has ended is never run again. */
export type ChildEnd = {
  readonly status: 'done' | 'failed' | 'stopped'
  /** Its answer; if it has none, its text so far. */
  readonly text: string
  readonly error?: ErrorInfo
  /** Why its model stopped, if it was not done. */
  readonly limit?: ModelEnd
  /** The whole conversation, so that it can be resumed; absent if there was none. */
  readonly messages?: readonly Message[]
  /** The same for a program, which keeps its conversation itself. */
  readonly session?: CommandSession
  /** Requests that it started. */
  readonly turns: number
  readonly spent: Spent
  readonly changes: readonly FileChange[]
  readonly planned: readonly { readonly path: string; readonly diff: string }[]
  /** Ids of the messages that were delivered to it; absent if there were none. */
  readonly told?: readonly string[]
  /** With a work tree of its own: the paths that were applied to its caller's workspace, or a diff of what was not. */
  readonly applied?: readonly string[]
  readonly leftOut?: string
  /** It had its own work tree. */
  readonly hasTree?: true
  /** It was closed for good: nothing that waits for it starts more work. */
  readonly isClosed?: true
  /** It waited for the user when it was stopped. */
  readonly wasWaiting?: true
}

/** How an agent ended, without counts. */
export type EndOfWork = Omit<ChildEnd, 'turns' | 'spent'>

/** The progress of a working agent. */
export interface Working {
  readonly saidSoFar: () => string
  readonly spentSoFar: () => Spent
  /** The end that it would have if it were stopped now. */
  readonly stoppedSoFar: () => ChildEnd
}

/** The state of an agent that has not started to work. */
export const notWorking: Working = {
  saidSoFar: () => '',
  spentSoFar: () => nothingSpent,
  stoppedSoFar: () => ({ status: 'stopped', text: '', turns: 0, spent: nothingSpent, changes: [], planned: [] }),
}

export class Stopped extends Error {}

/** Counts the requests of an agent: a replay uses the number to stop it where it was stopped. */
interface RequestCount {
  /** Requests that were started; they are in the record. */
  readonly begun: () => number
  /** The agent starts its next turn. From then on a request and its retries, also with fallback models, count once. */
  readonly turn: () => void
  /** Counts the requests that are made through these effects. */
  readonly counted: (effects: Effects) => Effects
}

/**
 * @param stopsAfter the number of requests after which it was stopped in the run that is replayed: instead of a further
 * request it throws `Stopped`
 */
export function countRequests(stopsAfter: number | undefined): RequestCount {
  let begun = 0
  /** The next request counts. */
  let isNext = true
  let hasTurns = false

  function stopHere(): void {
    if (begun === stopsAfter) throw new Stopped('stopped')
  }

  function begin(): void {
    if (!isNext) return
    begun += 1
    isNext = !hasTurns
  }

  const counted = (gate: Effects): Effects =>
    decorate(gate, (effects) => ({
      async perform(at, effect, act, permit) {
        if (effect.kind !== 'model' && effect.kind !== 'command') return effects.perform(at, effect, act, permit)
        if (isNext) stopHere()
        let isBegun = false
        const once = (): void => {
          if (!isBegun) begin()
          isBegun = true
        }
        const value = await effects.perform(
          at,
          effect,
          (...given) => {
            once()
            return act(...given)
          },
          permit,
        )
        // the record answered it
        once()
        return value
      },
    }))

  return {
    begun: () => begun,
    turn() {
      stopHere()
      hasTurns = true
      isNext = true
    },
    counted,
  }
}
