import type { Json } from '../base/json.ts'
import type { Usage } from './message.ts'

type Stage = 'pre' | 'pre_task' | 'post_task' | 'post'

export interface ErrorInfo {
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly file?: string
  readonly line?: number
  readonly column?: number
  /** The lines that led there, innermost first: of the scripts that called it, up to the prompt file. */
  readonly chain?: readonly { readonly file: string; readonly line?: number; readonly column?: number }[]
  /** What differs from what was recorded, as a unified diff. */
  readonly diff?: string
}

/** What became of one change of an answer (spec/aipack.md 6.2, aip.udiffx). */
export type FileChange = {
  readonly file_path: string
  readonly kind: 'New' | 'Patch' | 'Append' | 'Copy' | 'Rename' | 'Delete' | 'Fail'
  readonly success: boolean
  readonly error_msg?: string
  readonly error_hunks?: readonly { readonly hunk_body: string; readonly cause: string }[]
}

export type RunStopReason = 'done' | 'skipped' | 'limit' | 'budget' | 'error' | 'cancelled'

/**
 * The one vocabulary of what happens in a run. It is the `--json` output as well, so the fields are snake_case.
 * Additive changes keep `schema`; readers ignore unknown types (spec/conventions.md 4.8).
 */
export type EventBody =
  | {
      readonly type: 'run.started'
      readonly schema: 1
      readonly file: string
      /** A prompt file answers; an agent prints. */
      readonly target: 'prompt' | 'agent'
      readonly file_hash: string | null
      readonly version: string
      readonly config_warnings: readonly string[]
      /** The run goes on where it broke off. */
      readonly resumed?: true
    }
  | { readonly type: 'stage.started'; readonly stage: Stage; readonly agents: readonly string[] }
  | { readonly type: 'stage.completed'; readonly stage: Stage }
  | { readonly type: 'stage.failed'; readonly stage: Stage; readonly error: ErrorInfo }
  | { readonly type: 'tasks.planned'; readonly count: number; readonly concurrency: number }
  | { readonly type: 'task.started'; readonly index: number; readonly label: string; readonly count: number }
  | { readonly type: 'task.completed'; readonly index: number; readonly label: string; readonly output: string }
  | { readonly type: 'task.skipped'; readonly index: number; readonly label: string; readonly reason?: string }
  | { readonly type: 'task.failed'; readonly index: number; readonly label: string; readonly error: ErrorInfo }
  | {
      readonly type: 'agent.started'
      readonly name: string
      readonly kind: 'aip' | 'lua' | 'prompt' | 'llm'
      readonly input?: Json
    }
  | { readonly type: 'agent.completed'; readonly name: string; readonly stop_reason: string; readonly output?: Json }
  | { readonly type: 'agent.failed'; readonly name: string; readonly error: ErrorInfo }
  | { readonly type: 'item.started'; readonly item: { readonly id: string; readonly type: 'agent_message' } }
  | { readonly type: 'item.delta'; readonly item_id: string; readonly text: string; readonly reasoning?: true }
  | {
      readonly type: 'item.completed'
      readonly item: { readonly id: string; readonly type: 'agent_message'; readonly text: string }
    }
  /** Tokens and price of one model call and of the run so far; a price is null when it is not known. */
  | {
      readonly type: 'usage'
      readonly model: string
      readonly call: Usage
      readonly total: Usage
      readonly cost_usd: number | null
      readonly total_cost_usd: number | null
    }
  /** A model call failed and is made again after a wait. What `item.delta` sent for the item so far does not count. */
  | {
      readonly type: 'retry'
      readonly item_id: string
      readonly model: string
      /** The call that failed, from 1. */
      readonly attempt: number
      readonly delay_ms: number
      readonly error: ErrorInfo
    }
  /** A model failed for good and the next one of `fallback_models` is asked. */
  | {
      readonly type: 'fallback'
      readonly item_id: string
      readonly from: string
      readonly to: string
      readonly error: ErrorInfo
    }
  /** What became of the file changes of an answer. */
  | { readonly type: 'changes.applied'; readonly items: readonly FileChange[] }
  | { readonly type: 'file.changed'; readonly op: string; readonly path: string }
  | { readonly type: 'print'; readonly name: string; readonly text: string }
  /** Something a script wants to be seen. A later one with the same scope, place of the agent and `id` replaces it. */
  | {
      readonly type: 'pin'
      readonly scope: 'run' | 'task'
      readonly id: string
      /** Smaller comes first; null comes last. */
      readonly priority: number | null
      readonly label: string
      readonly content: string
    }
  | { readonly type: 'label'; readonly scope: 'run' | 'task'; readonly label: string }
  | { readonly type: 'warning'; readonly message: string; readonly hint?: string }
  | { readonly type: 'redo'; readonly count: number }
  /** In a watch session: a `pre` step or task would do what it did in an earlier run, and gives what it gave then. */
  | { readonly type: 'read_back'; readonly label: string }
  /** In a watch session: a `pre` step or task that an earlier run has finished is done again. */
  | { readonly type: 'again'; readonly label: string; readonly reason: string }
  /** The final answer of one task, in input order; comes once, when no later round can replace it. */
  | {
      readonly type: 'answer'
      readonly index: number
      readonly count: number
      readonly label: string
      readonly text: string
    }
  /** An output of an agent that is the target of the run, in input order. */
  | { readonly type: 'output'; readonly output: Json }
  | {
      readonly type: 'run.completed' | 'run.failed'
      readonly stop_reason: RunStopReason
      readonly exit_code: number
      readonly result: string | null
      readonly outputs: readonly Json[]
      readonly usage: Usage
      readonly cost_usd: number | null
      readonly unpriced: readonly string[]
      readonly permission_denials: readonly Json[]
      readonly repeated: readonly Json[]
      /** Why nothing was done, when `stop_reason` is `skipped`. */
      readonly reason?: string
      readonly error?: ErrorInfo
    }

/** What the bus adds: `seq` counts from 0 without gaps, `agent` is the place, for example `task/0/pre_task/0:lint`. */
interface Envelope {
  readonly seq: number
  readonly ts: string
  readonly run_id: string
  readonly agent: string
}

export type RunEvent = EventBody & Envelope
