import type { JsonObject } from '../base/json.ts'
import type { AgentExecutor } from './agent.ts'
import type { Effects, Place } from './effects.ts'
import type { EventBody } from './event.ts'
import type { Usage } from './message.ts'
import type { Policy } from './policy.ts'

/** One agent that is running further up: what cycles and the depth limit are found with. */
export interface Ancestor {
  readonly name: string
  readonly file: string
  /** Hash of what it was called with. */
  readonly call: string
}

/**
 * What travels down through a run. A child context is a spread of its parent's; nothing reaches for globals.
 */
export interface RunContext {
  readonly runId: string
  /** Where in the run this is. */
  readonly at: Place
  readonly signal: AbortSignal
  /** Absolute path of the workspace folder, links resolved. */
  readonly workspace: string
  readonly effects: Effects
  readonly policy: Policy
  /** Runs any agent: the call that goes up, handed down (DESIGN 2 rule 1). */
  readonly agents: AgentExecutor
  readonly ancestors: readonly Ancestor[]
  /** Options every script agent of this run starts from (DESIGN 3, layers below the agent's own). */
  readonly options: JsonObject
  /** Adds one model call to the run's total and gives the new total. */
  readonly meter: (call: Usage) => Usage
  /** Where events go; use `emit`. */
  readonly events: (at: Place, event: EventBody) => void
  readonly now: () => Date
}

/** The same context one step further down. Events sent through it carry the longer place. */
export function below(context: RunContext, ...names: readonly string[]): RunContext {
  return { ...context, at: [...context.at, ...names] }
}

/** Sends an event from this place in the run. */
export function emit(context: RunContext, event: EventBody): void {
  context.events(context.at, event)
}
