import { BatonError, type ErrorCode, type ErrorDetails, isBatonError, messageOf } from '../../base/error.ts'
import type { JsonObject } from '../../base/json.ts'
import type { ApprovalAnswer, ApprovalRequest } from '../../library/approvals.ts'
import type { RunOptions } from '../../library/options.ts'
import type { ServerAnswer, ServerQuestion } from '../../library/server-questions.ts'
import type { TextUpdate } from '../../journal/live-texts.ts'
import { Refusal, type RefusalStatus } from '../refusal.ts'

/*
 * What the server and the process of a run tell each other. All of it is plain JSON. What a run does is not sent: the
 * server reads the record of the run, like everybody else.
 */

/** One thing that a worker is asked to do; each is a run. */
export type Job = StartJob | ResumeJob | PromptJob | ContinueJob

/** Starts a run. */
interface StartJob {
  readonly kind: 'start'
  /** As it is named by the user, or `-p` for a text. */
  readonly file: string
  readonly options: Pick<RunOptions, 'text' | 'inputs' | 'onFiles' | 'vars' | 'model' | 'dry' | 'overrides'>
  readonly onAsk?: OnAsk
}

/** What happens if a call needs approval, instead of waiting in the server for an answer. */
export type OnAsk = 'suspend' | 'deny'

/** How long the other work of a run that waits for approval may take when the server ends, in milliseconds. */
export const suspendMs = 2_000

interface ResumeJob {
  readonly kind: 'resume'
  /** Of the run. */
  readonly id: string
  readonly overrides: readonly string[]
  /** As `--uncertain` of `baton resume`. */
  readonly uncertain: readonly string[]
  readonly onAsk?: OnAsk
}

/** A prompt of a conversation, whose worker may have answered earlier ones. */
export interface PromptJob {
  readonly kind: 'prompt'
  readonly input: string
  readonly conversation: NewConversation | KnownConversation
  readonly model?: string
  readonly mode?: string
}

interface NewConversation {
  readonly file?: string
  /** Of the server, unless the prompt names one. */
  readonly model?: string
  readonly overrides: readonly string[]
}

interface KnownConversation {
  readonly id: string
  /** The file that its prompt names, which must be that of the conversation. */
  readonly file?: string
}

/** A prompt that was recorded, and then waited for its turn. */
export interface ContinueJob {
  readonly kind: 'continue'
  readonly conversation: KnownConversation
  /** Of the run of the prompt. */
  readonly id: string
}

/** An approval request without its signal; `withdrawn` takes the place of that. */
export type PendingApproval = Omit<ApprovalRequest, 'signal'>

/** A question of an MCP server during a call, with its number among those of its worker. It is not recorded. */
export type OpenServerQuestion = DistributiveOmit<ServerQuestion, 'signal'> & { readonly id: string }

type DistributiveOmit<T, Key extends PropertyKey> = T extends unknown ? Omit<T, Key> : never

export type ToWorker =
  /**
   * `isWaiting`: the run is recorded, and stopped before it does anything: it waits for its turn. A worker may record several
   * ones; that of a run with plug-ins has ended then.
   */
  | {
      readonly kind: 'do'
      readonly job: Job
      readonly home: string
      readonly cwd: string
      readonly isWaiting: boolean
      readonly resting: readonly Resting[]
    }
  | { readonly kind: 'stop' }
  | { readonly kind: 'answer'; readonly id: string; readonly answer: ApprovalAnswer }
  | { readonly kind: 'serverAnswer'; readonly id: string; readonly answer: ServerAnswer }
  /** Whether somebody reads the texts in progress. */
  | { readonly kind: 'listen'; readonly isOn: boolean }
  | { readonly kind: 'granted'; readonly ticket: number }
  | ({ readonly kind: 'resting' } & Resting)
  /** No more jobs will come. */
  | { readonly kind: 'end' }

export type FromWorker =
  /** The run is recorded. `conversation`: the id of that of a prompt. */
  | { readonly kind: 'begun'; readonly id: string; readonly conversation?: string }
  | { readonly kind: 'asked'; readonly request: PendingApproval }
  | { readonly kind: 'withdrawn'; readonly id: string }
  | { readonly kind: 'serverAsked'; readonly question: OpenServerQuestion }
  | { readonly kind: 'serverWithdrawn'; readonly id: string }
  /** How many tasks its run has. */
  | { readonly kind: 'planned'; readonly tasks: number }
  | { readonly kind: 'texts'; readonly update: TextUpdate }
  /** The job is done. `error`: why its run could not start, or how it failed. `isLast`: the worker takes no other one. */
  | { readonly kind: 'ended'; readonly error?: SentError; readonly isLast?: true }
  /** A model request needs a slot, and gives it back. */
  | { readonly kind: 'wanted'; readonly ticket: number }
  | { readonly kind: 'returned'; readonly ticket: number }
  | ({ readonly kind: 'failing' } & Resting)

/** A model that failed, and how long it is asked last, in milliseconds. */
export interface Resting {
  readonly model: string
  readonly ms: number
}

export interface SentError {
  readonly message: string
  readonly code?: ErrorCode
  readonly details?: JsonObject
  /** Of a refusal. */
  readonly status?: RefusalStatus
}

export function sentError(error: unknown): SentError {
  const message = messageOf(error)
  if (error instanceof Refusal) return { message, status: error.status, details: { hint: error.hint } as JsonObject }
  if (!isBatonError(error)) return { message }
  const { code, hint, place, trail, diff, limit, reason } = error
  // what is undefined is not sent
  return { message, code, details: { hint, place, trail, diff, limit, reason } as unknown as JsonObject }
}

export function errorOf({ message, code, details = {}, status }: SentError): Error {
  if (status !== undefined) return new Refusal(status, message, details as { readonly hint?: string })
  return code === undefined ? new Error(message) : new BatonError(code, message, details as ErrorDetails)
}
