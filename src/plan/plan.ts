import type { JsonObject } from '../base/json.ts'
import type { Stage } from '../config/agent-config.ts'
import type { Ask, Range } from './ask.ts'

/** What a run is going to do and what it may cost, as written: the `--json` output of `baton plan`. */
export interface Plan {
  readonly schema: 1
  readonly type: 'plan'
  readonly file: string
  readonly target: PromptPlan | AgentPlan
  readonly limits: Limits
  readonly asks: readonly Ask[]
  readonly total: Total
  /** What scripts decide while the run goes on; empty: everything is known. */
  readonly open: readonly Decision[]
  /** What a person should know: what a run would warn of, keys that are missing, limits that refuse it. */
  readonly notes: readonly string[]
}

export interface Total {
  readonly requests: Range
  readonly input_tokens: Range
  readonly output_tokens: Range
  /** Of the models with a known price. */
  readonly usd: Range
  /** Models without one that may be asked. */
  readonly unpriced: readonly string[]
}

export interface Limits {
  readonly budget: { readonly usd?: number; readonly tokens?: number; readonly calls?: number }
  readonly max_attempts: number
  /** Tasks at once. */
  readonly input_concurrency: number
  readonly max_files_size_kb: number
  /** How often the run may be redone from the start. */
  readonly redo: number
}

/** Something that is decided only while the run goes on. */
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
    /** Of MCP servers, as they are written; left out: none. Nobody is asked how many and how large they are. */
    readonly resources?: readonly string[]
  }
  /** Places that may still change files, tasks, model and instruction. */
  readonly decided_by: readonly string[]
  readonly tasks: TasksPlan
  /** How often the tasks are worked on; left out: once. `asks` are those of all iterations. */
  readonly iterations?: Range
  /** What writes the summary of each iteration, with its asks for all of them; left out where nobody is asked. */
  readonly summaries?: SummaryPlan
  readonly stages: { readonly [stage in Stage]: readonly StepPlan[] }
  /** Who answers the tasks: the built-in main agent, or the agent that `agent` names. */
  readonly answer: AnswerPlan
  readonly write_mode: boolean
  /** All is done in a git work tree; null: in the workspace. */
  readonly isolation: 'worktree' | null
  /** The command that decides whether the workspace gets what was changed; null: none. */
  readonly gate: string | null
  /** All that it and the agents below it ask. */
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
  /** Of the first request of the main agent, as written; null when it is not the main agent that is asked. */
  readonly input_tokens: number | null
  /** What would end the task before a model is asked, as written. */
  readonly problem: string | null
}

/** A tool that settings name. */
export interface ToolPlan {
  readonly name: string
  /** What its calls need where no rule is about some of them. */
  readonly permission: 'allow' | 'ask' | 'deny'
  /** Rules that are about some of its calls. */
  readonly patterns: number
  /** Why the model is not given it; null: it is. */
  readonly not_offered: string | null
  /** Of `task`: the agents that the model may start. */
  readonly agents?: readonly string[]
}

export type AnswerPlan =
  | SingleAnswerPlan
  /** Each step after those it needs. */
  | { readonly by: 'workflow'; readonly concurrency: number; readonly steps: readonly WorkflowStepPlan[] }
  | {
      readonly by: 'ensemble'
      readonly aggregate: 'synthesis' | 'vote' | 'first' | 'aggregator'
      readonly quorum: number
      readonly members: readonly MemberPlan[]
      /** Who makes one answer of theirs; null: nobody is asked. */
      readonly joined_by: SingleAnswerPlan | null
    }

/** A member of an ensemble. */
export interface MemberPlan {
  readonly name: string
  readonly kind: 'model' | 'agent' | 'command'
  readonly answer: SingleAnswerPlan
}

/** One answer of one agent or model. */
export type SingleAnswerPlan =
  | {
      readonly by: 'model'
      readonly asks: readonly Ask[]
      readonly tools: readonly ToolPlan[]
      /** What one answer can have at most, in tokens. */
      readonly output_limit: number
      readonly decided_by: readonly string[]
      /** The agents that it may start; left out: none. */
      readonly team?: TeamPlan
    }
  | { readonly by: 'agent'; readonly step: StepPlan }

/** The agents that a model may start by `[collab]`. */
export interface TeamPlan {
  /** That work at once. */
  readonly max_agents: number
  readonly max_depth: number
  /** Of all of them together; null: that of the run alone. */
  readonly budget: { readonly usd?: number; readonly tokens?: number; readonly calls?: number } | null
  readonly roles: readonly RolePlan[]
  /** Of the models that roles name: as often as the model decides, or not at all. */
  readonly asks: readonly Ask[]
}

export interface RolePlan {
  readonly name: string
  /** What it names as its agent; null: it is the model itself, with what the role says. */
  readonly agent: string | null
  /** Null: that of whoever starts it. */
  readonly model: string | null
  /** Null: all of whoever starts it. */
  readonly tools: readonly string[] | null
}

/** A step of a workflow. */
export interface WorkflowStepPlan {
  readonly at: string
  readonly id: string
  readonly needs: readonly string[]
  /** `success`, `failure`, `always`, or a Lua expression. */
  readonly when: string
  readonly for_each: string | null
  /** Items at once; null: as many as steps. */
  readonly concurrency: number | null
  readonly on_error: 'fail_fast' | 'continue'
  /** It works in a git work tree; null: in the workspace. */
  readonly isolation: 'worktree' | null
  readonly fallback: readonly string[]
  /** Null: the main agent. */
  readonly agent: AgentPlan | PromptPlan | null
  /** Of the main agent, where it answers the step. */
  readonly tools: readonly ToolPlan[]
  /** Places that decide whether it is run, and with what. */
  readonly decided_by: readonly string[]
  readonly decides: readonly string[]
  /** Of one item, where it has items. */
  readonly asks: readonly Ask[]
}

/** A sub-agent of a chain. */
export interface StepPlan {
  readonly at: string
  readonly name: string
  readonly enabled: boolean
  /** What its entry says besides its name, stage and `enabled`. */
  readonly entry: JsonObject
  /** Places that decide whether it is run, and with what. */
  readonly decided_by: readonly string[]
  readonly runs: number
  /** Null: it is off, so nobody looked for it. */
  readonly agent: AgentPlan | PromptPlan | null
  /** What of the run its answer may change. */
  readonly changes: readonly string[]
  /** What of all this is known only once it is run. */
  readonly decides: readonly string[]
  /** All that it and the agents below it ask, over all its runs; `agent` shows the first of them. */
  readonly asks: readonly Ask[]
}

/** An `.aip` or `.lua` agent, or a command line. */
export interface AgentPlan {
  readonly kind: 'aip' | 'lua' | 'command'
  readonly name: string
  readonly file: string
  readonly source: 'built-in' | 'pack' | 'file'
  /** The program of a command line; what it costs is not known. */
  readonly command?: string
  /** Sections of an `.aip` file, in the order in which they act. */
  readonly sections: readonly string[]
  /** In force, where they differ from the defaults: its own, those of who runs it, those of the entry. */
  readonly options: JsonObject
  readonly inputs: number
  /** How often the target of a run is run; left out: once. `asks` are those of all iterations. */
  readonly iterations?: Range
  readonly tools: readonly ToolPlan[]
  readonly asks: readonly Ask[]
  readonly runs_agents: readonly string[]
  readonly decides: readonly string[]
}
