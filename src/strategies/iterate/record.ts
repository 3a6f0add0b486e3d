import type { ErrorInfo } from '../../event/event.ts'
import type { Usage } from '../../event/message.ts'

/** The record of one finished iteration (R59). Plain JSON. */
export interface IterationRecord {
  /** From 0. */
  readonly iteration: number
  readonly success: boolean
  /** Why it failed. Runs of older versions do not have it. */
  readonly error?: string
  /** The changed files, relative to the workspace, sorted. */
  readonly changed_files: readonly string[]
  readonly summary: string
  /** The full id of its commit, if there is one. */
  readonly commit_id?: string
  /** The name of the state of the files after it: equal states have equal names. Omitted if unknown. */
  readonly state?: string
  /** The number that the command `score` printed. */
  readonly score?: number
  /** Whether the command `until` exited with 0. */
  readonly until_met?: boolean
  /** How `until` ended, or a `score` without a number; if not with 0, with the end of its output. */
  readonly check?: string
  /** When it ended, UTC. */
  readonly timestamp: string
  readonly elapsed_ms: number
  readonly tokens_used: number
  readonly usage: Usage
  /** US dollars; null if the price of a call is unknown. */
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
  | 'failing'

/** The result of all iterations (R84). */
export interface IterateResult {
  readonly iterations_attempted: number
  readonly iterations_succeeded: number
  readonly iterations_failed: number
  readonly stop_reason: IterateStop
  readonly elapsed_seconds: number
  readonly total_tokens: number
  readonly records: readonly IterationRecord[]
  /** Whether the command `until` exited with 0; omitted without one. */
  readonly until_met?: boolean
  /** The iteration with the best score, if there are scores; -1 is the state before the first one. */
  readonly best?: number
  /** Why the files are not those of the best iteration, although git could restore them; omitted if they are. */
  readonly not_restored?: ErrorInfo
}
