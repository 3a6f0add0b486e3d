import type { JsonObject } from '../../base/json.ts'
import type { McpAbout, McpAnswer, McpQuestion } from '../../event/mcp.ts'
import type { Asker, ConnectionProblem, ListName } from '../connection.ts'
import type { AuthProvider, OAuthClientProvider } from './sdk.ts'

/** Provides the tokens of a server, and refreshes them. */
export type McpAuthProvider = AuthProvider | OAuthClientProvider

/** The authorization server that the server named at the login. */
export async function knownIssuer(provider: McpAuthProvider | undefined): Promise<string | undefined> {
  const stored = provider !== undefined && 'discoveryState' in provider ? await provider.discoveryState?.() : undefined
  return stored?.authorizationServerUrl
}

/** What a server is told about the client, and the handlers of its messages. */
export interface Handlers {
  /** Baton's version. */
  readonly version: string
  /** Folders, absolute. */
  readonly roots: readonly string[]
  /** Whether the user, and a model, may be able to answer questions. */
  readonly canAsk: boolean
  readonly canSample: boolean
  readonly ask: (question: McpQuestion, signal: AbortSignal) => Promise<McpAnswer>
  readonly onListChanged: (list: ListName) => void
  readonly onLog: (text: string) => void
  /** The connection cannot be used any more. */
  readonly onBroken: (problem: ConnectionProblem) => void
}

/** A server after the handshake. */
export interface Wire {
  readonly about: McpAbout
  /** Whether it declared that it has such a list. */
  readonly has: (list: ListName) => boolean
  /**
   * How long a list with this TTL may be cached, in milliseconds; undefined: until it changes. The older protocol has
   * no TTL. In the newer one 0 is the default of servers without better knowledge: if they report changes, that is
   * preferred.
   */
  readonly keepMs: (list: ListName, ttlMs: number | undefined) => number | undefined
  /**
   * Sends a request, for a list for one page of it. Rejects with ConnectionFailure, also when the signal is aborted:
   * the server is notified of the cancellation.
   */
  readonly request: (method: string, params: object, asker: Asker, signal: AbortSignal) => Promise<unknown>
  /** Never rejects. */
  readonly close: () => Promise<void>
}

/** The message channel of a process. */
export interface Channel {
  readonly pid: number
  readonly send: (message: object) => void
  /** Called once, when the listener exists. */
  readonly listen: (listener: { readonly onMessage: (message: JsonObject) => void; readonly onEnd: () => void }) => void
}
