import type { JsonObject } from '../../base/json.ts'
import type { ApprovalView } from '../../event/action-view.ts'
import type { PendingView } from '../../history/pending.ts'
import type { ShownDifference } from '../../history/run-diff.ts'
import type { PlaceView } from '../../history/node-view.ts'
import type { RunStep, RunSteps } from '../../history/run-steps.ts'
import type { ShownSummary as RunSummary } from '../../journal/summary.ts'
import type { Row } from '../data/row.ts'

/*
 * Request and response types of the server; see /openapi.json.
 */

export interface RunPage {
  readonly runs: readonly ShownRun[]
  readonly more: boolean
  /** How many runs there are, if nothing is searched. */
  readonly total?: number
}

/** A run with what the server knows besides its records. */
export interface ShownRun extends RunSummary {
  /** The path of its file, the name of its agent, or the first message of its chat. */
  readonly name?: string
  readonly chat?: { readonly id: string; readonly message: string }
  /** How many tasks it has, while it runs in the server. */
  readonly planned?: number
  readonly foreign?: true
}

/** A run that waits for a person, with the number of answers that it needs. */
export interface InboxItem {
  readonly run: ShownRun
  readonly approvals: number
  readonly questions: number
  readonly uncertain: number
}

export interface SentInbox {
  readonly workspace: { readonly name: string; readonly folder: string }
  readonly items: readonly InboxItem[]
}

/** A call that waits for approval. */
export interface PendingApproval extends ApprovalView {
  /** Who asks, in plain words; empty: the main agent. */
  readonly asker: string
}

/** A question of an MCP server. The texts are the server's. */
export type ServerQuestion = {
  readonly id: string
  readonly server: string
  /** Who asks, in plain words; empty: the main agent. */
  readonly asker: string
  readonly message: string
} & ({ readonly kind: 'form'; readonly schema: JsonObject } | { readonly kind: 'url'; readonly url: string })

/** What a prompt file or agent can be given. */
export interface RunForm {
  readonly kind: 'prompt' | 'agent'
  readonly file: string
  readonly title: string | null
  readonly description: string | null
  readonly variables: JsonObject
  readonly takesInputs: boolean
  readonly model: string | null
  readonly mode: string | null
  readonly max_cost: number | null
}

export interface Choices {
  readonly models: readonly string[]
  readonly modes: readonly string[]
}

/** What a run is started with. */
export interface StartAsked {
  readonly file?: string
  readonly text?: string
  readonly inputs?: readonly unknown[]
  readonly files?: readonly string[]
  readonly vars?: Readonly<Record<string, unknown>>
  readonly model?: string
  readonly mode?: string
  readonly iter?: string
  readonly until?: string
  readonly max_cost?: number
  readonly dry?: string
}

/** A run with its current state and possible actions. */
export interface RunDetail {
  readonly run: ShownRun
  readonly canResume: boolean
  /** The run is active in the server's process; only then can it be cancelled. */
  readonly owned: boolean
  readonly approvals: readonly PendingApproval[]
  readonly questions: readonly ServerQuestion[]
  /** Calls whose outcome only a person can state. */
  readonly uncertain: readonly PendingView[]
  readonly canUndo: boolean
  /** What it was started with; null: it cannot be started again. */
  readonly again: StartAsked | null
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

export type { ApprovalView, PendingView, PlaceView, RunStep, RunSteps, RunSummary, ShownDifference }

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
  /** It has a process in the server, so that no other can continue it. */
  readonly open: boolean
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
  readonly state: 'ready' | 'running' | 'waiting' | 'off' | 'invalid' | 'elsewhere'
  readonly problem: string | null
  readonly next: string | null
  readonly last: {
    readonly at: string
    readonly cause: 'cron' | 'missed' | 'files' | 'webhook' | 'hand'
    readonly about: string
    readonly outcome: 'started' | 'skipped' | 'failed'
    readonly run: string | null
    readonly status: string | null
    readonly message: string | null
  } | null
  readonly running: readonly string[]
  readonly waiting: number
  readonly origin: string
}

/** `problem`: why the config files as they are now cannot be used. */
export interface SentTriggers {
  readonly triggers: readonly TriggerState[]
  readonly problem: string | null
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
