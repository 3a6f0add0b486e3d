import type { ModelEvent, ModelRequest } from '../provider.ts'

/** What a call in a batch costs, as a share of its price: input, cached input and output alike. */
export const batchShare = 0.5

/**
 * The batch API of a host: many requests are sent together, answered within a day, and cost half. Rejects like
 * `ModelProvider` with errors of a model call.
 */
export interface BatchApi {
  /** What fits into one batch. */
  readonly most: { readonly requests: number; readonly bytes: number }
  /** A request as it is sent, as JSON. `id`: letters, digits, `_` and `-`, at most 64. */
  readonly entry: (id: string, request: ModelRequest) => string
  /** Sends entries, and returns the id of the batch. */
  readonly create: (batch: NewBatch, signal: AbortSignal) => Promise<string>
  /** Whether a batch keeps its mark. Otherwise one that is found may be of someone else until its results are known. */
  readonly keepsMark: boolean
  /** A batch that was sent, and whose id was lost; undefined: there is none. */
  readonly find: (lost: LostBatch, signal: AbortSignal) => Promise<string | undefined>
  readonly look: (id: string, signal: AbortSignal) => Promise<BatchState>
  /** Asks the host to do nothing more of a batch that has not ended. What is answered by then is charged. */
  readonly cancel: (id: string, signal: AbortSignal) => Promise<void>
  /** The results of a batch that has ended, in any order. */
  readonly results: (state: EndedBatch, signal: AbortSignal) => AsyncIterable<BatchResult>
}

interface NewBatch {
  readonly entries: readonly string[]
  /** Identifies it, if the host keeps such a text. */
  readonly mark: string
  readonly model: string
}

interface LostBatch {
  readonly mark: string
  /** Milliseconds since 1970: it was not created before. */
  readonly since: number
  /** The ids of its requests. */
  readonly ids: readonly string[]
  readonly model: string
}

/** How far a batch is; `done`: the requests that have ended. */
export type BatchState =
  | { readonly kind: 'working'; readonly done: number }
  | EndedBatch
  /** It was refused as a whole: nothing of it is paid. */
  | { readonly kind: 'failed'; readonly why: string }
  /** The host does not know it (any more). */
  | { readonly kind: 'gone' }

export interface EndedBatch {
  readonly kind: 'ended'
  readonly id: string
  /** Requests without a result were not answered in time, or someone has canceled it. */
  readonly how: 'completed' | 'expired' | 'canceled'
  /** What the results are read from, as its API needs it. */
  readonly files: readonly string[]
}

export type BatchResult = { readonly id: string } & (
  | { readonly kind: 'answer'; readonly events: readonly ModelEvent[] }
  | { readonly kind: 'failed' | 'expired' | 'canceled' }
)
