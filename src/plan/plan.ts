import type { JsonObject } from '../base/json.ts'
import type { Stage } from '../config/agent-config.ts'
import type { AnsweringKey } from '../settings/strategies.ts'
import type { Ask, Range } from './ask.ts'

/** What a run would do and may cost, as written: the `--json` output of `baton plan`. */
export interface Plan {
  readonly schema: 1
  readonly type: 'plan'
  readonly file: string
  readonly target: PromptPlan | AgentPlan
  readonly limits: Limits
  readonly asks: readonly Ask[]
  readonly total: Total
  /** What scripts decide during the run; empty: everything is known. */
  readonly open: readonly Decision[]
  /** Notes for the user: warnings that a run would print, missing keys, limits that refuse it. */
  readonly notes: readonly string[]
}

export interface Total {
  readonly requests: Range
  readonly input_tokens: Range
  readonly output_tokens: Range
  /** For the models with a known price. */
  readonly usd: Range
  /** The same if the first requests of the tasks are sent as a batch; omitted: they are not, or cannot be. */
  readonly batch_usd?: Range
  /** Models without a known price that may be called. */
  readonly unpriced: readonly string[]
}

export interface Limits {
  readonly budget: { readonly usd?: number; readonly tokens?: number; readonly calls?: number }
  readonly max_attempts: number
  /** Maximum number of tasks at the same time. */
  readonly input_concurrency: number
  readonly max_files_size_kb: number
  /** How often the run may be redone from the start. */
  readonly redo: number
}

/** Something that is decided only during the run. */
export interface Decision {
  readonly by: string
  readonly what: readonly string[]
}

/** Files by kind. */
export interface FileCount {
  readonly count: number
  readonly bytes: number
}

export interface PromptPlan {
  readonly kind: 'prompt'
  readonly file: string
  /** The place of the file in the run; empty for the file that is run. */
  readonly at: string
  readonly files: {
    readonly context: FileCount
    readonly knowledge: FileCount
    readonly working: FileCount
    /** Paths only. */
    readonly structure: number
    /** Resources of MCP servers, as written; omitted: none. Their number and size are not queried. */
    readonly resources?: readonly string[]
  }
  /** Places that may still change files, tasks, model and instruction. */
  readonly decided_by: readonly string[]
  readonly tasks: TasksPlan
  /** How many times the tasks are processed; omitted: once. `asks` are those of all iterations. */
  readonly iterations?: Range
  /** What writes the summary of each iteration, with its asks for all of them; omitted if no model or agent does. */
  readonly summaries?: SummaryPlan
  readonly stages: { readonly [stage in Stage]: readonly StepPlan[] }
  /** Who answers the tasks: the built-in main agent, or the agent that `agent` names. */
  readonly answer: AnswerPlan
  readonly write_mode: boolean
  /** Everything is done in a git worktree; null: in the workspace. */
  readonly isolation: 'worktree' | null
  /** The command that decides whether the changes reach the workspace; null: none. */
  readonly gate: string | null
  /** All asks of it and of the agents below it. */
  readonly asks: readonly Ask[]
  readonly skipped: { readonly reason: string; readonly hint: string } | null
}

/** `agent`: null is the model of the file. */
export type SummaryPlan = Pick<StepPlan, 'at' | 'agent' | 'decides' | 'asks'>

export interface TasksPlan {
  readonly from: 'inputs' | 'working_globs' | 'file'
  readonly list: readonly TaskPlanned[]
}

export interface TaskPlanned {
  readonly label: string
  readonly working: FileCount
  /** Of the first request of the main agent, as written; null if the main agent is not called. */
  readonly input_tokens: number | null
  /** The error that would end the task before a model is called, as written. */
  readonly problem: string | null
}

/** A tool that settings name. */
export interface ToolPlan {
  readonly name: string
  /** The permission of its calls that no rule with a pattern matches. */
  readonly permission: 'allow' | 'ask' | 'deny'
  /** Number of rules that match some of its calls. */
  readonly patterns: number
  /** Why the model does not get it; null: it does. */
  readonly not_offered: string | null
  /** For `task`: the agents that the model may start. */
  readonly agents?: readonly string[]
}

export type AnswerPlan = SingleAnswerPlan | StrategyPlan

/** The answers of a strategy, whose shape says what else is in it. */
export interface StrategyPlan {
  readonly by: AnsweringKey | 'parts'
}

/** The answers of a strategy without a shape of its own. */
export interface PartsPlan extends StrategyPlan {
  readonly by: 'parts'
  /** The key of its table. */
  readonly strategy: string
  readonly parts: readonly { readonly name: string; readonly answer: SingleAnswerPlan }[]
}

/** One answer of one agent or model. */
export type SingleAnswerPlan =
  | {
      readonly by: 'model'
      readonly asks: readonly Ask[]
      readonly tools: readonly ToolPlan[]
      /** The tools that its programs can call; omitted: its mode has no programs. */
      readonly functions?: readonly ToolPlan[]
      /** Maximum length of one answer, in tokens. */
      readonly output_limit: number
      readonly decided_by: readonly string[]
      /** The agents that it may start; omitted: none. */
      readonly team?: TeamPlan
    }
  | { readonly by: 'agent'; readonly step: StepPlan }

/** What is asked by one part of an answer. */
export type PartPlan =
  | Pick<SingleAnswerPlan & { readonly by: 'model' }, 'by' | 'asks' | 'team'>
  | { readonly by: 'agent'; readonly step: Pick<StepPlan, 'at' | 'agent' | 'decides' | 'asks'> }

/** The agents that a model may start by `[collab]`. */
export interface TeamPlan {
  /** Maximum number of agents that work at the same time. */
  readonly max_agents: number
  readonly max_depth: number
  /** For all of them together; null: only that of the run. */
  readonly budget: { readonly usd?: number; readonly tokens?: number; readonly calls?: number } | null
  readonly roles: readonly RolePlan[]
  /** Asks of the models that roles name: as many as the model decides, or none. */
  readonly asks: readonly Ask[]
}

export interface RolePlan {
  readonly name: string
  /** The agent that it names; null: the model itself, configured by the role. */
  readonly agent: string | null
  /** Null: that of its starter. */
  readonly model: string | null
  /** Null: all tools of its starter. */
  readonly tools: readonly string[] | null
}

/** A sub-agent of a chain. */
export interface StepPlan {
  readonly at: string
  readonly name: string
  readonly enabled: boolean
  /** The keys of its entry besides name, stage and `enabled`. */
  readonly entry: JsonObject
  /** Places that decide whether it is run, and with what. */
  readonly decided_by: readonly string[]
  readonly runs: number
  /** Null: it is disabled, so it was not looked up. */
  readonly agent: AgentPlan | PromptPlan | null
  /** What in the run its answer may change. */
  readonly changes: readonly string[]
  /** What of all this is only known once it is run. */
  readonly decides: readonly string[]
  /** All asks of it and the agents below it, over all its runs; `agent` shows the first of them. */
  readonly asks: readonly Ask[]
}

/** An `.aip` or `.lua` agent, or a command line. */
export interface AgentPlan {
  readonly kind: 'aip' | 'lua' | 'command'
  readonly name: string
  readonly file: string
  readonly source: 'built-in' | 'pack' | 'file'
  /** The program of a command line; its cost is not known. */
  readonly command?: string
  /** Sections of an `.aip` file, in the order of execution. */
  readonly sections: readonly string[]
  /** Options in force that differ from the defaults: its own, those of its caller, those of the entry. */
  readonly options: JsonObject
  readonly inputs: number
  /** How many times the target of a run is run; omitted: once. `asks` are those of all iterations. */
  readonly iterations?: Range
  readonly tools: readonly ToolPlan[]
  /** The tools that its programs can call; omitted: its mode has no programs. */
  readonly functions?: readonly ToolPlan[]
  readonly asks: readonly Ask[]
  readonly runs_agents: readonly string[]
  readonly decides: readonly string[]
}
