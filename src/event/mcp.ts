import type { Json, JsonObject } from '../base/json.ts'
import type { Place } from './place.ts'

/** How a server is reached, without references to variables. */
export type McpTransport =
  /** A program that is started; `env` comes on top of what commands of scripts get. `cwd` is absolute. */
  | {
      readonly kind: 'stdio'
      readonly command: string
      readonly args: readonly string[]
      readonly env: Readonly<Record<string, string>>
      readonly cwd: string
    }
  /** `http`: streamable HTTP; where a server does not know that, the older form `sse` is tried unless the kind was named. */
  | {
      readonly kind: 'http' | 'sse'
      readonly url: string
      readonly headers: Readonly<Record<string, string>>
      /** The kind was written, so that no other is tried. */
      readonly isNamed: boolean
    }

/** A server that settings name, normalized. */
export interface McpServer {
  /** Of letters, digits, `-` and `_`, without `__`. Two packs may have servers of one name; no agent sees both. */
  readonly name: string
  /** Rejects with BatonError KEY_MISSING where a variable of the environment is not set. */
  readonly transport: () => McpTransport
  /** For how long it may take to start, to connect and to list, in milliseconds (R304). */
  readonly startMs: number
  /** For how long a call may take, in milliseconds; progress does not extend it (R305). */
  readonly toolMs: number
  /** Which of its tools there are, by the names that the server gives them; `*` stands for any characters. Left out: all. */
  readonly tools?: readonly string[]
  readonly disallowedTools?: readonly string[]
  /** What it says of its own tools is believed: one that only reads may be called again after a crash, and in plan mode. */
  readonly isTrusted: boolean
  /** What a person has registered for logins at a server over HTTP; left out: it registers programs by itself. */
  readonly login?: McpLogin
  /** It may ask our model, under budget and permission. */
  readonly sampling: boolean
  /** Where it is written, for messages: `baton.toml:3`. */
  readonly origin: string
  /** The pack that brings it, for its own agents: `namespace@name`. Left out: it is one of the run. */
  readonly pack?: string | undefined
}

export interface McpLogin {
  readonly clientId?: string
  /** Throws BatonError KEY_MISSING where its variable is not set; undefined: it has none. */
  readonly clientSecret: () => string | undefined
  readonly scope?: string
  /** Of this machine, where the browser comes back to. */
  readonly port?: number
}

/** What a server says of a tool. Plain JSON: it is recorded. Types, because only types are JSON. */
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
  /** It works only as a task, which is called in another way than the one there is here. */
  readonly onlyAsTask?: true
}

/** `uri` holds `{variables}` where it is a template. */
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

/** A piece of a result, with the names of the protocol. `data` and `blob` are base64. */
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
}

export type McpPromptMessage = { readonly role: 'user' | 'assistant'; readonly content: McpContent }

/** What a server asks of whoever calls it, while it works on a call. */
export type McpQuestion =
  /** Values from a person, by a flat JSON Schema; or that a person opens an address. */
  | { readonly kind: 'form'; readonly message: string; readonly schema: JsonObject }
  | { readonly kind: 'url'; readonly message: string; readonly url: string }
  /** An answer of a model: the parameters of `sampling/createMessage`. */
  | { readonly kind: 'sampling'; readonly params: JsonObject }

/** `accept` with the values of a form, or with what `sampling/createMessage` gives. */
export type McpAnswer =
  | { readonly action: 'accept'; readonly content?: JsonObject }
  | { readonly action: 'decline' | 'cancel' }

/** A question of a server that a person answers. */
export interface AskedByServer {
  readonly server: string
  readonly question: Exclude<McpQuestion, { readonly kind: 'sampling' }>
  /** The call that the server works on. */
  readonly at: Place
}

/**
 * Puts a question of a server to a person. What they say is for the server alone: it is not recorded, and no event has it.
 * Undefined: nobody can be asked. Rejects with the reason of the signal, which withdraws the question.
 */
export type AskPerson = (asked: AskedByServer, signal: AbortSignal) => Promise<McpAnswer | undefined>

/** How far a call is. `total` is left out where it is not known. */
export interface McpProgress {
  readonly done: number
  readonly total?: number
  /** What it is doing. */
  readonly message?: string
}

export interface McpCall {
  readonly signal: AbortSignal
  readonly onProgress?: (progress: McpProgress) => void
  /** Left out: nobody answers, and questions are declined. */
  readonly onQuestion?: (question: McpQuestion, signal: AbortSignal) => Promise<McpAnswer>
}

/** Why a server is not used: the file that names it is not trusted as it is, or its pack does not say that it is for its agents. */
interface McpLeftOut {
  readonly file: string
  readonly isChanged: boolean
  readonly pack?: string
  readonly isUndeclared?: true
}

/**
 * The servers of a run. Nothing here is recorded: src/mcp/ asks through `Effects`. A server is started when it is asked for
 * something, and kept until `close`. All reject with BatonError MCP_FAILED, which names the server and says what to do.
 */
export interface McpServers {
  readonly servers: readonly McpServer[]
  /** Servers that are not used, and why; left out: none. */
  readonly leftOut?: ReadonlyMap<string, McpLeftOut>
  /** Those that its filters let through, as of now: a server that has announced a change is asked again. */
  tools(server: string, signal: AbortSignal): Promise<readonly McpTool[]>
  /** Templates too. Empty where a server has none. */
  resources(server: string, signal: AbortSignal): Promise<readonly McpResource[]>
  prompts(server: string, signal: AbortSignal): Promise<readonly McpPrompt[]>
  /** A call that fails on its way is not made again. */
  call(server: string, tool: string, input: JsonObject, call: McpCall): Promise<McpResult>
  read(server: string, uri: string, call: McpCall): Promise<readonly McpResourceContent[]>
  prompt(
    server: string,
    name: string,
    values: Readonly<Record<string, string>>,
    call: McpCall,
  ): Promise<readonly McpPromptMessage[]>
  /** What a server has told of itself when it was connected; undefined: it is not. */
  about(server: string): McpAbout | undefined
  /** Ends all of them, and every process that they have started. */
  close(): Promise<void>
}

export type McpAbout = {
  readonly name: string
  readonly version: string
  /** For models; whoever shows it says whose words they are. */
  readonly instructions?: string
  /** Of the protocol, `2025-11-25`. */
  readonly protocol: string
  readonly capabilities: Json
}
