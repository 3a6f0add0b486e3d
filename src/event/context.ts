import type { JsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import type { AgentExecutor } from './agent.ts'
import type { BudgetLimits, Effects, Place } from './effects.ts'
import type { EventBody } from './event.ts'
import type { Usage } from './message.ts'
import type { EarlierParts } from './part.ts'
import type { Policy, Rights } from './policy.ts'
import type { RunSources } from './sources.ts'

/** One agent that is running further up: what cycles and the depth limit are found with. */
export interface Ancestor {
  readonly name: string
  readonly file: string
  /** Hash of what it was called with. */
  readonly call: string
}

/** The folder and the environment that the run was started in. */
interface Surroundings {
  /** Absolute. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Folders outside the workspace that names and paths can mean (spec/aipack.md 3.3 to 3.5). Absolute. */
interface RunPlaces {
  /** Folders that hold packs as `<namespace>/<name>`, best first. */
  readonly packRoots: readonly string[]
  /** `~/.aipack-base`. */
  readonly aipackBase: string
  /** Agents that come with the product. */
  readonly builtInDir: string
}

/** The run of one script agent, as its scripts see it in `CTX` (spec/aipack.md 3.8). */
interface AgentRunFacts {
  readonly runUid: string
  /** Counts the runs of script agents within this run, from 1. */
  readonly runNum: number
  /** Only when another script agent runs this one. */
  readonly parentRunUid?: string
  /** Position of the input that is worked on, from 1; only in tasks. */
  readonly taskNum?: number
}

/** One finished model call. */
export interface MeteredCall {
  /** For people, for example `openai::gpt-5-mini`. */
  readonly model: string
  readonly usage: Usage
  /** In US dollars; null when its price is not known. */
  readonly costUsd: number | null
}

/** All model calls of a run so far. */
export interface RunTotal {
  readonly usage: Usage
  /** Sum of the calls with a known price; null when there were calls and none has one. */
  readonly costUsd: number | null
  /** Models whose price is not known, each once. */
  readonly unpriced: readonly string[]
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
  /** Left out: programs, hosts and models are not limited. Children have no more than their parent. */
  readonly rights?: Rights
  /** The agent, or one that runs it, is of a pack that came from an archive, git or a URL. */
  readonly isInstalled?: true
  /** Runs any agent: the call that goes up, handed down (DESIGN 2 rule 1). */
  readonly agents: AgentExecutor
  readonly ancestors: readonly Ancestor[]
  /** Options every script agent of this run starts from (DESIGN 3, layers below the agent's own). */
  readonly options: JsonObject
  /** What `options` is for agents that agents run: config files and `-c`. Left out: nothing is set there. */
  readonly configOptions?: JsonObject
  /** Adds one model call to the run's total and gives the new total. */
  readonly meter: (call: MeteredCall) => RunTotal
  /** Told of a model call that a record has answered: it is part of what an answer took, and counted already. */
  readonly recall?: (call: MeteredCall) => void
  /** Where events go; use `emit`. */
  readonly events: (at: Place, event: EventBody) => void
  readonly now: () => Date
  /** The version of the product, for scripts. */
  readonly version?: string
  /** `req`: no model is called; `res`: it is called, and Output is left out (spec/aipack.md 2.6). Children inherit it. */
  readonly dry?: 'req' | 'res'
  /** False: the prompt file that runs this writes no files, so none below it may (DESIGN 9). Left out: nothing is said. */
  readonly mayWrite?: boolean
  /** Limits what model calls at and below this place may cost together. Left out: only the run has limits. */
  readonly limitBelow?: (at: Place, limits: BudgetLimits) => void
  /** Told what is read. Left out: nobody compares it later. */
  readonly reads?: ReadLog
  /** What the run executes, and what its models changed. Left out: nothing is noted. */
  readonly sources?: RunSources
  /** What earlier runs of a watch session have finished. Left out: everything is done. */
  readonly earlier?: EarlierParts
  /** How often the target of the run has been run again; left out: never. Children start from 0. */
  readonly redoCount?: number
  /** What commands of scripts start from. Left out: the workspace, and no environment variables. */
  readonly surroundings?: Surroundings
  /** Left out: there are no packs. */
  readonly places?: RunPlaces
  /** The agent run that this is part of. */
  readonly facts?: AgentRunFacts
}

/** The same context one step further down. Events sent through it carry the longer place. */
export function below(context: RunContext, ...names: readonly string[]): RunContext {
  return { ...context, at: [...context.at, ...names] }
}

/** Sends an event from this place in the run. */
export function emit(context: RunContext, event: EventBody): void {
  context.events(context.at, event)
}
