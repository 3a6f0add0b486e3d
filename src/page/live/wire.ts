import type { JsonObject } from '../../base/json.ts'
import type { ApprovalView } from '../../event/action-view.ts'
import type { Difference } from '../../history/run-diff.ts'
import type { PendingView } from '../../history/pending.ts'
import type { PlaceView } from '../../history/node-view.ts'
import type { RunSummary } from '../../journal/summary.ts'
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

/** A question of an MCP server. The texts are the server's. */
export type ServerQuestion = {
  readonly id: string
  readonly server: string
  readonly agent: string
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
  readonly approvals: readonly ApprovalView[]
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
  readonly differences: readonly Difference[]
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

export type { ApprovalView, Difference, PendingView, PlaceView, RunSummary }

export interface ConversationSummary {
  readonly id: string
  readonly at: string
  readonly messages: number
  /** The start of its first message. */
  readonly text: string
}

/** A message with its answer. Its run has the same id. */
export interface ConversationMessage {
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
