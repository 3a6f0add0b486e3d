import type { JsonObject } from '../../base/json.ts'
import type { McpAbout, McpAnswer, McpQuestion } from '../../event/mcp.ts'
import type { Asker, ConnectionProblem, ListName } from '../connection.ts'
import type { AuthProvider, OAuthClientProvider } from './sdk.ts'

/** Gives the tokens of a server, and gets new ones. */
export type McpAuthProvider = AuthProvider | OAuthClientProvider

/** What a server is told of us, and who listens to it. */
export interface Handlers {
  /** Of this product. */
  readonly version: string
  /** Folders, absolute. */
  readonly roots: readonly string[]
  /** Whether there may be somebody who answers questions, and a model that does. */
  readonly canAsk: boolean
  readonly canSample: boolean
  readonly ask: (question: McpQuestion, signal: AbortSignal) => Promise<McpAnswer>
  readonly onListChanged: (list: ListName) => void
  readonly onLog: (text: string) => void
  /** It cannot be used any more. */
  readonly onBroken: (problem: ConnectionProblem) => void
}

/** A server that has shaken hands. */
export interface Wire {
  readonly about: McpAbout
  /** Whether it has said that it has such a list. */
  readonly has: (list: ListName) => boolean
  /**
   * For how long a list may be kept of which it says this, in milliseconds; undefined: until it has changed. The older protocol says
   * nothing. In the newer one 0 is what servers say that know nothing better: where they tell of changes, that is better.
   */
  readonly keepMs: (list: ListName, ttlMs: number | undefined) => number | undefined
  /** Sends a request; of a list, for a page of it. Rejects with ConnectionFailure, also when the signal was aborted: the server is told. */
  readonly request: (method: string, params: object, asker: Asker, signal: AbortSignal) => Promise<unknown>
  /** Never rejects. */
  readonly close: () => Promise<void>
}

/** Where the messages of a process go in and out. */
export interface Channel {
  readonly pid: number
  readonly send: (message: object) => void
  /** Called once, when it has a listener. */
  readonly listen: (listener: { readonly onMessage: (message: JsonObject) => void; readonly onEnd: () => void }) => void
}
