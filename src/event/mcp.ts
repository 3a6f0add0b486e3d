import type { Json, JsonObject } from '../base/json.ts'
import type { Place } from './place.ts'

/** How to connect to a server, with variables already resolved. */
export type McpTransport =
  /** A program to start; `env` is added to the environment of script commands. `cwd` is absolute. */
  | {
      readonly kind: 'stdio'
      readonly command: string
      readonly args: readonly string[]
      readonly env: Readonly<Record<string, string>>
      readonly cwd: string
    }
  /**
   * `http`: streamable HTTP; falls back to the older `sse` if the server does not support it, unless the kind is
   * explicit.
   */
  | {
      readonly kind: 'http' | 'sse'
      readonly url: string
      readonly headers: Readonly<Record<string, string>>
      /** The kind was given explicitly, so that no other is tried. */
      readonly isNamed: boolean
      /** Further hosts that a login may use for tokens and metadata: `login.example.com`, or with a port. */
      readonly authHosts?: readonly string[]
    }

/** A configured server, normalized. */
export interface McpServer {
  /** Letters, digits, `-` and `_`, without `__`. Two packs may have servers with the same name; no agent sees both. */
  readonly name: string
  /** Rejects with BatonError KEY_MISSING if an environment variable is not set. */
  readonly transport: () => McpTransport
  /** Time limit for starting, connecting and listing, in milliseconds. */
  readonly startMs: number
  /** Time limit of a call, in milliseconds; progress does not extend it. */
  readonly toolMs: number
  /** The available tools, by the server's names; `*` matches any characters. Omitted: all. */
  readonly tools?: readonly string[]
  readonly disallowedTools?: readonly string[]
  /**
   * Whether models get the schemas of its tools by a search only; omitted: if all tools of servers are too large for
   * each request.
   */
  readonly defersTools?: boolean
  /** Its tool annotations are trusted: a read-only tool may be called again after a crash, and in plan mode. */
  readonly isTrusted: boolean
  /**
   * The client registered by the user for logins at a server over HTTP; omitted: the server registers clients itself.
   */
  readonly login?: McpLogin
  /** It may call Baton's model, subject to budget and permission. */
  readonly sampling: boolean
  /** What its settings contain that is masked in errors: names of variables, and values by a name. */
  readonly secrets?: () => { readonly keys: readonly string[]; readonly values: Readonly<Record<string, string>> }
  /** Where it is defined, for messages: `baton.toml:3`. */
  readonly origin: string
  /** The pack that provides it to its own agents: `namespace@name`. Omitted: it belongs to the run. */
  readonly pack?: string | undefined
}

export interface McpLogin {
  readonly clientId?: string
  /** Throws BatonError KEY_MISSING if its variable is not set; undefined: no secret. */
  readonly clientSecret: () => string | undefined
  readonly scope?: string
  /** Local port to which the browser is redirected. */
  readonly port?: number
}

/**
 * A server's description of a tool. Plain JSON, because it is recorded; a type, because interfaces do not match `Json`.
 */
export type McpTool = {
  readonly name: string
  readonly title?: string
  readonly description?: string
  /** JSON Schema of type object. */
  readonly input: JsonObject
  /** JSON Schema of the structured result. */
  readonly output?: JsonObject
  readonly readOnly?: boolean
  readonly destructive?: boolean
  readonly idempotent?: boolean
  readonly openWorld?: boolean
  /** It works only as a task, a kind of call that is not supported. */
  readonly onlyAsTask?: true
}

/** `uri` contains `{variables}` if it is a template. */
export type McpResource = {
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
  /** Bytes. */
  readonly size?: number
  readonly isTemplate?: true
}

export type McpPrompt = {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly arguments: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[]
}

/** A part of a result, with the field names of the protocol. `data` and `blob` are base64. */
export type McpContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource_link'
      readonly uri: string
      readonly name: string
      readonly description?: string
      readonly mimeType?: string
    }
  | { readonly type: 'resource'; readonly resource: McpResourceContent }

export type McpResourceContent = {
  readonly uri: string
  readonly mimeType?: string
  readonly text?: string
  readonly blob?: string
}

export type McpResult = {
  readonly content: readonly McpContent[]
  readonly structured?: JsonObject
  readonly isError?: true
  /** The server had ended, and was started again for this call: what it kept in memory is lost. */
  readonly isAfterLoss?: true
}

export type McpPromptMessage = { readonly role: 'user' | 'assistant'; readonly content: McpContent }

/** A question of a server to its caller while it works on a call. */
export type McpQuestion =
  /** Asks the user for values, by a flat JSON Schema, or to open a URL. */
  | { readonly kind: 'form'; readonly message: string; readonly schema: JsonObject }
  | { readonly kind: 'url'; readonly message: string; readonly url: string }
  /** Asks for a model call, with the parameters of `sampling/createMessage`. */
  | { readonly kind: 'sampling'; readonly params: JsonObject }

/** `accept` with the values of a form, or with the result of `sampling/createMessage`. */
export type McpAnswer =
  | { readonly action: 'accept'; readonly content?: JsonObject }
  | { readonly action: 'decline' | 'cancel' }

/** A question of a server to the user. */
export interface McpUserQuestion {
  readonly server: string
  readonly question: Exclude<McpQuestion, { readonly kind: 'sampling' }>
  /** The call that the server is working on. */
  readonly at: Place
}

/**
 * Asks the user a question of a server. The answer is for the server only: it is neither recorded nor part of an event.
 * Resolves with undefined if nobody can be asked. Rejects with the reason of the signal, which withdraws the question.
 */
export type AskPerson = (asked: McpUserQuestion, signal: AbortSignal) => Promise<McpAnswer | undefined>

/** Progress of a call. `total` is omitted if unknown. */
export interface McpProgress {
  readonly done: number
  readonly total?: number
  /** The current activity. */
  readonly message?: string
}

export interface McpCall {
  readonly signal: AbortSignal
  readonly onProgress?: (progress: McpProgress) => void
  /** Omitted: questions are declined. */
  readonly onQuestion?: (question: McpQuestion, signal: AbortSignal) => Promise<McpAnswer>
}

/**
 * Why a server is not used: the file that defines it is not trusted in its present state, its pack does not declare it
 * for its agents, or what the file says of it is wrong.
 */
interface McpLeftOut {
  readonly file: string
  readonly isChanged: boolean
  readonly pack?: string
  readonly isUndeclared?: true
  readonly problem?: string
}

/**
 * The servers of a run. Nothing here is recorded: src/mcp/ calls it through `Effects`. A server is started on first use
 * and kept until `close`. All methods reject with BatonError MCP_FAILED, which names the server and says what to do.
 */
export interface McpServers {
  readonly servers: readonly McpServer[]
  /** Servers that are not used, and why; omitted: none. */
  readonly leftOut?: ReadonlyMap<string, McpLeftOut>
  /** The current tools that pass its filters; the list is requested again if the server announced a change. */
  tools(server: string, signal: AbortSignal): Promise<readonly McpTool[]>
  /** Includes templates. Empty if the server has none. */
  resources(server: string, signal: AbortSignal): Promise<readonly McpResource[]>
  prompts(server: string, signal: AbortSignal): Promise<readonly McpPrompt[]>
  /** A call that fails in transit is not retried. */
  call(server: string, tool: string, input: JsonObject, call: McpCall): Promise<McpResult>
  read(server: string, uri: string, call: McpCall): Promise<readonly McpResourceContent[]>
  prompt(
    server: string,
    name: string,
    values: Readonly<Record<string, string>>,
    call: McpCall,
  ): Promise<readonly McpPromptMessage[]>
  /** What the server reported about itself when connecting; undefined: not connected. */
  about(server: string): McpAbout | undefined
  /** Stops all servers and every process that they started. */
  close(): Promise<void>
}

export type McpAbout = {
  readonly name: string
  readonly version: string
  /** For models; must be attributed to the server wherever it is shown. */
  readonly instructions?: string
  /** Protocol version, `2025-11-25`. */
  readonly protocol: string
  readonly capabilities: Json
}
