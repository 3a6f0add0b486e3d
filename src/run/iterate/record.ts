import type { Usage } from '../../event/message.ts'

/** What is known of one finished iteration (R59). Plain JSON, because it is recorded. */
export interface IterationRecord {
  /** From 0. */
  readonly iteration: number
  readonly success: boolean
  /** What it changed, from the workspace, sorted. */
  readonly changed_files: readonly string[]
  readonly summary: string
  /** The full id of its commit; left out without one. */
  readonly commit_id?: string
  /** Names the state of the files after it: equal states have equal names. Left out where it is not known. */
  readonly state?: string
  /** What the command `score` printed. */
  readonly score?: number
  /** The command `until` ended with 0. */
  readonly until_met?: boolean
  /** How the command `until` ended, or one of `score` that gave no number; when that was not with 0, the end of what it printed. */
  readonly check?: string
  /** When it ended, UTC. */
  readonly timestamp: string
  readonly elapsed_ms: number
  readonly tokens_used: number
  readonly usage: Usage
  /** US dollars; null when the price of a call is not known. */
  readonly cost_usd: number | null
}

/** Why iterating ended. */
export type IterateStop =
  | 'completed'
  | 'duration_elapsed'
  | 'max_iterations'
  | 'until_met'
  | 'score_reached'
  | 'stalled'
  | 'oscillating'

/** What became of all iterations (R84). */
export interface IterateResult {
  readonly iterations_attempted: number
  readonly iterations_succeeded: number
  readonly iterations_failed: number
  readonly stop_reason: IterateStop
  readonly elapsed_seconds: number
  readonly total_tokens: number
  readonly records: readonly IterationRecord[]
  /** Whether the command `until` ended with 0; left out where there is none. */
  readonly until_met?: boolean
  /** The iteration with the best score, where there are scores; -1 is the state before the first one. */
  readonly best?: number
}
