import type { ApprovalView } from '../../event/action-view.ts'
import type { ShownDifference } from '../../history/run-diff.ts'
import type { PlaceView } from '../../history/node-view.ts'
import type { RunStep, RunSteps } from '../../history/run-steps.ts'
import type { ShownSummary as RunSummary } from '../../journal/summary.ts'
import type { Row } from '../data/row.ts'

/*
 * Request and response types of the server; see /openapi.json.
 */

export interface RunPage {
  readonly runs: readonly RunSummary[]
  readonly more: boolean
}

/** A run with its current state and possible actions. */
export interface RunDetail {
  readonly run: RunSummary
  readonly canResume: boolean
  /** The run is active in the server's process; only then can it be cancelled. */
  readonly owned: boolean
  readonly approvals: readonly ApprovalView[]
  readonly answers: readonly Answer[]
  readonly prompt_file: string | null
  readonly text: string | null
}

interface Answer {
  readonly label: string
  /** Markdown from a model. */
  readonly text: string
}

export interface SentRows {
  readonly rows: readonly Row[]
  readonly cursor: string
}

/** A streamed piece of a model's answer. */
export interface Delta {
  readonly place: string
  readonly kind: 'text' | 'reasoning'
  /** How many characters of the answer are before it; 0 starts it over. */
  readonly at: number
  readonly text: string
}

export interface FileDiff {
  readonly path: string
  readonly kind: 'created' | 'changed' | 'deleted' | 'moved'
  readonly from?: string
  readonly diff: string
}

export interface TeamMember {
  readonly id: string
  readonly name: string
  readonly role: string
  /** The prompt it was started with. */
  readonly prompt: string
  readonly place: string
  readonly from: string | null
  readonly depth: number
  readonly status: string
  readonly text: string
  readonly calls: number
  readonly tokens: { readonly input: number; readonly output: number }
  readonly cost_usd: number | null
}

/** An interaction between members of a team. */
export interface TeamExchange {
  readonly place: string
  readonly at: string
  readonly kind: string
  readonly from?: string
  readonly to?: string
  readonly text?: string
}

export interface TeamView {
  readonly members: readonly TeamMember[]
  readonly exchanges?: readonly TeamExchange[]
}

/** `null` for a run without teams. */
export interface SentTeams {
  readonly teams?: readonly TeamView[] | null
}

export interface Comparison {
  readonly before: RunSummary
  readonly after: RunSummary
  /** The best of each; null without scores. */
  readonly scores: { readonly before: number | null; readonly after: number | null }
  readonly differences: readonly ShownDifference[]
}

export interface PromptFile {
  readonly path: string
  readonly name: string
  readonly description: string
}

export interface PromptFileText {
  readonly path: string
  readonly text: string
  /** The last run of the file. */
  readonly last: RunSummary | null
}

export interface BegunRun {
  readonly id: string
}

export type { ApprovalView, PlaceView, RunStep, RunSteps, RunSummary, ShownDifference }

export interface ConversationSummary {
  readonly id: string
  readonly at: string
  readonly messages: number
  /** The start of its first message. */
  readonly text: string
}

/** A message with its answer. Its run has the same id. */
export interface ConversationMessage extends RunSteps {
  readonly kind: 'message' | 'summary' | 'background'
  readonly promptId: string
  readonly at: string
  readonly text: string
  /** Markdown; null if there is none yet. */
  readonly answer: string | null
  readonly run: RunSummary
}

export interface ConversationText {
  readonly id: string
  readonly messages: readonly ConversationMessage[]
}

export interface BegunPrompt {
  readonly conversationId: string
  readonly promptId: string
}

/** What starts a prompt file, with its last and next start. */
export interface TriggerState {
  readonly name: string
  readonly file: string
  readonly kind: 'cron' | 'files' | 'webhook'
  readonly when: string
  readonly overlap: 'skip' | 'queue' | 'allow'
  readonly state: 'ready' | 'running' | 'off' | 'invalid' | 'elsewhere'
  readonly problem: string | null
  readonly next: string | null
  readonly last: {
    readonly at: string
    readonly cause: 'cron' | 'missed' | 'files' | 'webhook' | 'hand'
    readonly about: string
    readonly outcome: 'started' | 'skipped' | 'failed'
    readonly run: string | null
    readonly message: string | null
  } | null
  readonly running: readonly string[]
  readonly waiting: number
  readonly origin: string
}

/** What came of a start by hand. */
export interface FiredTrigger {
  readonly state: 'started' | 'queued' | 'skipped' | 'failed'
  readonly id?: string
  readonly message?: string
}

interface PlannedRange {
  readonly as_written: number
  readonly at_least: number
  readonly at_most: number | null
}

/** The parts of `baton plan --json` that the page shows. */
export interface FilePlan {
  readonly problem: string | null
  readonly plan: {
    readonly target: { readonly kind: string; readonly tasks?: { readonly list: readonly unknown[] } }
    readonly asks: readonly {
      readonly model: string
      readonly requests: PlannedRange
      readonly input_tokens: PlannedRange
      readonly output_tokens: PlannedRange
      readonly usd: PlannedRange | null
    }[]
    readonly total: {
      readonly requests: PlannedRange
      readonly input_tokens: PlannedRange
      readonly output_tokens: PlannedRange
      readonly usd: PlannedRange
      readonly unpriced: readonly string[]
    }
    readonly open: readonly { readonly by: string; readonly what: readonly string[] }[]
    readonly notes: readonly string[]
  } | null
}

/** A test of a file with its last result. */
interface FileTest {
  readonly name: string
  readonly line: number | null
  readonly result: {
    readonly passed: boolean
    readonly at: string
    readonly ms: number
    readonly calls: number
    readonly cost_usd: number | null
    readonly failures: readonly string[]
    /** The file has changed since. */
    readonly isOld: boolean
  } | null
}

export interface FileTests {
  readonly tests: readonly FileTest[]
  readonly problem: string | null
}

/** A run with the best score of its iterations. */
export interface FileRun extends RunSummary {
  readonly score: number | null
}
