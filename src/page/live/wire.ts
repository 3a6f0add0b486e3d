import type { ApprovalView } from '../../event/asked-action.ts'
import type { Difference } from '../../history/run-diff.ts'
import type { PlaceView } from '../../history/place-detail.ts'
import type { RunSummary } from '../../journal/summary.ts'
import type { Row } from '../data/row.ts'

/*
 * What the server sends and takes, as /openapi.json describes it.
 */

export interface RunPage {
  readonly runs: readonly RunSummary[]
  readonly more: boolean
}

/** A run with what can be done with it now. */
export interface RunDetail {
  readonly run: RunSummary
  readonly canResume: boolean
  /** It goes on in the process of the server, which alone can cancel it. */
  readonly owned: boolean
  readonly approvals: readonly ApprovalView[]
  readonly answers: readonly Answer[]
  readonly prompt_file: string | null
  readonly text: string | null
}

interface Answer {
  readonly label: string
  /** Markdown, as models write it. */
  readonly text: string
}

export interface SentRows {
  readonly rows: readonly Row[]
  readonly cursor: string
}

/** A piece of what a model is just saying. */
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
  /** What it was started with. */
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

/** Something that a member of a team did with others. */
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

/** `null` for a run that works alone. */
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
  /** The last run of it. */
  readonly last: RunSummary | null
}

export interface BegunRun {
  readonly id: string
}

export type { ApprovalView, Difference, PlaceView, RunSummary }

export interface ConversationSummary {
  readonly id: string
  readonly at: string
  readonly messages: number
  /** The beginning of its first message. */
  readonly text: string
}

/** A message with its answer. Its run has the same id. */
export interface ConversationMessage {
  readonly kind: 'message' | 'summary' | 'background'
  readonly promptId: string
  readonly at: string
  readonly text: string
  /** Markdown; null: there is none yet. */
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
