import type {
  McpAbout,
  McpCall,
  McpPrompt,
  McpPromptMessage,
  McpResource,
  McpResourceContent,
  McpResult,
  McpTool,
} from '../event/mcp.ts'
import type { JsonObject } from '../base/json.ts'

/** The lists that a server has and reports changes of. */
export const listNames = ['tools', 'resources', 'prompts'] as const
export type ListName = (typeof listNames)[number]

/** A list, and how long it may be cached, in milliseconds; undefined: until the server reports a change. */
export interface Listed<Item> {
  readonly items: readonly Item[]
  readonly keepMs: number | undefined
}

/** Progress and questions during a call, for the caller. Without `onQuestion` questions are declined. */
export type Asker = Pick<McpCall, 'onProgress' | 'onQuestion'>

/**
 * One open connection to a server, without caching, time limits or retries. All methods reject with ConnectionFailure,
 * and with the signal's reason, in which case the server is notified of the cancellation.
 */
export interface Connection {
  readonly about: McpAbout
  tools(signal: AbortSignal): Promise<Listed<McpTool>>
  resources(signal: AbortSignal): Promise<Listed<McpResource>>
  prompts(signal: AbortSignal): Promise<Listed<McpPrompt>>
  call(tool: string, input: JsonObject, asker: Asker, signal: AbortSignal): Promise<McpResult>
  read(uri: string, asker: Asker, signal: AbortSignal): Promise<readonly McpResourceContent[]>
  prompt(
    name: string,
    values: Readonly<Record<string, string>>,
    asker: Asker,
    signal: AbortSignal,
  ): Promise<readonly McpPromptMessage[]>
  /** Why it ended; undefined while it is open. */
  ended(): ConnectionProblem | undefined
  /** Closes it and ends every process that it started. Never rejects. */
  close(): Promise<void>
}

/** Input of a login: the server, the stored parts, and the parameters of the redirect. */
export interface Authorizing<Provider> {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** See `McpTransport`. */
  readonly authHosts?: readonly string[] | undefined
  readonly provider: Provider
  readonly answer: () => Promise<URLSearchParams>
  /** Names the proxy, if there is one. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

/** What a server sent too much of. */
export type Flood = { readonly of: 'bytes'; readonly bytes: number } | { readonly of: 'messages' | 'levels' }

/** How a process ended. `words`: the tail of its stderr. */
export type ServerEnd =
  | { readonly kind: 'exited'; readonly code: number; readonly words: string }
  | { readonly kind: 'killed'; readonly signal: string; readonly words: string }
  | { readonly kind: 'flooded'; readonly flood: Flood; readonly words: string }
  | { readonly kind: 'stopped'; readonly words: string }

export type ConnectionProblem =
  /** The program does not exist, or cannot be executed. */
  | { readonly kind: 'not_started'; readonly reason: string }
  | { readonly kind: 'ended'; readonly end: ServerEnd }
  /** It was not ready in time. */
  | { readonly kind: 'slow_start'; readonly ms: number; readonly words: string }
  | { readonly kind: 'slow_answer'; readonly ms: number; readonly limit: 'startup_timeout_sec' | 'tool_timeout_sec' }
  /** The connection failed or broke. */
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'http'; readonly status: number; readonly text: string }
  /** It names an address for its login that is not used. */
  | { readonly kind: 'foreign'; readonly address: string }
  /** It no longer knows the session; the request was not processed. */
  | { readonly kind: 'session_lost' }
  /** It answered with an error. */
  | { readonly kind: 'refused'; readonly code: number; readonly message: string }
  /** It sent a message larger than the limit. */
  | { readonly kind: 'too_large' }
  /** Its answer is invalid. */
  | { readonly kind: 'invalid'; readonly reason: string }

/** What `Connection` rejects with. */
export class ConnectionFailure extends Error {
  override readonly name = 'ConnectionFailure'
  readonly problem: ConnectionProblem

  constructor(problem: ConnectionProblem, cause?: unknown) {
    super(problem.kind, cause === undefined ? undefined : { cause })
    this.problem = problem
  }
}
