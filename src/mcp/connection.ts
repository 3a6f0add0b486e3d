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

/** What lists a server has, and says of that they have changed. */
export const listNames = ['tools', 'resources', 'prompts'] as const
export type ListName = (typeof listNames)[number]

/** A list, and for how long the server lets it be kept, in milliseconds; undefined: until it says that it has changed. */
export interface Listed<Item> {
  readonly items: readonly Item[]
  readonly keepMs: number | undefined
}

/** What whoever calls is told and asked meanwhile. Without `onQuestion` questions are declined. */
export type Asker = Pick<McpCall, 'onProgress' | 'onQuestion'>

/**
 * One connection to a server that answers. Nothing is kept, limited in time or repeated here. All reject with ConnectionFailure,
 * and with the reason of the signal, of which the server is told.
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
  /** Why it has ended; undefined: it has not. */
  ended(): ConnectionProblem | undefined
  /** Ends it, and every process that it has started. Never rejects. */
  close(): Promise<void>
}

/** What a login needs: where, the parts of it that are kept, and what the browser brings back. */
export interface Authorizing<Provider> {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly provider: Provider
  readonly answer: () => Promise<URLSearchParams>
  readonly signal: AbortSignal
}

/** What became of a process. `words`: the end of what it wrote to its error output. */
export type ServerEnd =
  | { readonly kind: 'exited'; readonly code: number; readonly words: string }
  | { readonly kind: 'killed'; readonly signal: string; readonly words: string }
  | { readonly kind: 'flooded'; readonly bytes: number; readonly words: string }
  | { readonly kind: 'stopped'; readonly words: string }

export type ConnectionProblem =
  /** The program does not exist, or cannot be executed. */
  | { readonly kind: 'not_started'; readonly reason: string }
  | { readonly kind: 'ended'; readonly end: ServerEnd }
  /** It was not there in time. */
  | { readonly kind: 'slow_start'; readonly ms: number; readonly words: string }
  | { readonly kind: 'slow_answer'; readonly ms: number }
  /** No connection could be made, or it broke. */
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'http'; readonly status: number; readonly text: string }
  /** It does not know the session that it has begun; nothing was done with the request. */
  | { readonly kind: 'session_lost' }
  /** It has answered with an error. */
  | { readonly kind: 'refused'; readonly code: number; readonly message: string }
  /** A message of it is larger than it may be. */
  | { readonly kind: 'too_large' }
  /** What it has sent is no answer. */
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
