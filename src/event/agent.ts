import type { ErrorReason } from '../base/error.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { RunContext } from './context.ts'
import type { Inbox } from './inbox.ts'
import type { McpProgress } from './mcp.ts'
import type { FilePart, Message, ToolCallPart, Usage } from './message.ts'
import type { Spent } from './meter.ts'
import type { Prompt, PromptChoice } from './prompt.ts'
import type { SandboxMode } from './sandbox-rights.ts'
import type { FileAnswer, FileConversation } from './sub-agents.ts'

/** The pack through which an agent was named; its scripts see it as `CTX.PACK_…`. */
export interface AgentPack {
  readonly namespace: string
  readonly name: string
  /** `namespace@name`. */
  readonly identity: string
  /** Absolute. */
  readonly dir: string
  /** `namespace@name/sub`. */
  readonly ref: string
  readonly subPath?: string
}

/** A script agent: an `.aip` file or a `.lua` chunk, already read. */
export interface ScriptAgent {
  readonly kind: 'aip' | 'lua'
  /** As the caller named it. */
  readonly name: string
  /** Absolute path. */
  readonly file: string
  readonly text: string
  /** Set only if it was named by a pack reference. */
  readonly pack?: AgentPack
}

/** A prompt file run as an agent: it answers with text. */
export interface PromptAgent {
  readonly kind: 'prompt'
  /** As the caller named it. */
  readonly name: string
  /** Absolute path. */
  readonly file: string
  /** The text at the time the agent was found. */
  readonly text: string
  /** Omitted: `text` is the content of the file. */
  readonly defined?: DefinedText
}

/** The definition of an agent whose text is not the content of its file. Plain JSON. */
type DefinedText = {
  /** The files that define it, in order of precedence; empty for a built-in agent. */
  readonly sources: readonly {
    /** Absolute. */
    readonly file: string
    /** The path as shown in errors. */
    readonly shown: string
    /** The whole file. */
    readonly text: string
    /** `config`: a TOML file. `prompt`: a prompt file. */
    readonly form: 'config' | 'prompt'
    /** Path of the table with the definition; empty: the whole file. */
    readonly at: readonly (string | number)[]
  }[]
  /** All of it belongs to the user or was trusted. */
  readonly isTrusted: boolean
}

/** The definition of an agent for tools that start agents by name. */
export interface AgentDefinition {
  readonly name: string
  /** What it is for. Without a description, it is not offered to models. */
  readonly description: string | undefined
  /** `built-in`, `agents/x.md`, `baton.toml:3`. */
  readonly origin: string
  /** The source of its definition with the highest precedence. */
  readonly from: 'built-in' | 'user' | 'pack' | 'workspace' | 'prompt' | 'flag'
  readonly agent: TextAgent
  /** Settings for its run, as written: `model`, `tools`, `permission`, `max_turns`, `budget` and so on. */
  readonly settings: JsonObject
  /** The system message; empty: none. */
  readonly instructions: string
  /** Its conversation starts with the messages of its caller. */
  readonly forkContext: boolean
  /** Repeated after the prompt of its caller. */
  readonly reminder: string | undefined
  readonly isolation: 'none' | 'worktree'
  /** Its tool lists do not restrict tools of MCP servers. */
  readonly allMcp: boolean
  /** Undefined: all. */
  readonly tools: readonly string[] | undefined
  readonly disallowedTools: readonly string[]
  readonly maxTurns: number | undefined
  /** The key that would start agents or programs without consent; because of it, models may not start this agent. */
  readonly heldBack?: string
}

/** A command line that answers a prompt with text, defined by `[agents.NAME] command`. */
export interface CommandAgent {
  readonly kind: 'command'
  /** As the caller named it. */
  readonly name: string
  /** Absolute path of the file that defines it. */
  readonly file: string
  /** The definition as JSON: agents with the same text behave the same. */
  readonly text: string
  readonly line: CommandLine
  readonly defined?: DefinedText
}

/** The program to start for a command agent. Plain JSON. */
export type CommandLine = {
  /** A program whose flags and output format are known; omitted: stdout is the answer. */
  readonly preset?: CommandPreset
  /** A name on PATH, or a path relative to the workspace. */
  readonly command: string
  /** `{prompt}` and `{model}` are replaced. If no argument contains `{prompt}`, the prompt is written to stdin. */
  readonly args: readonly string[]
  /** Added to the environment of the program; `${NAME}` in a value is replaced by a variable of Baton's environment. */
  readonly env: { readonly [name: string]: string }
  /** A prompt with more bytes than this is written to stdin, and `{prompt}` is removed. */
  readonly stdinOver: number
  readonly model?: string
  /** Time limit of one run in milliseconds; omitted: the default limit of agents. */
  readonly timeoutMs?: number
  /** `sandbox.mode` of its definition: further restricts a preset; any other program needs `danger-full-access`. */
  readonly mode?: SandboxMode
}

const commandPresets = ['claude', 'codex', 'gemini', 'opencode'] as const
export type CommandPreset = (typeof commandPresets)[number]

/** A conversation of a program that a later run of the same program can continue. Plain JSON. */
export type CommandSession = {
  readonly id: string
  /** The usage so far, for a program that counts from the start of the conversation. */
  readonly used?: Usage
}

export type TextAgent = PromptAgent | CommandAgent

/** The input that a caller gives to a prompt file. */
export interface PromptInput {
  /** For its template and its own sub-agents. */
  readonly value: Json
  /** The message "Input" before its instruction if it has no template; empty: no such message. */
  readonly text: string
  /** Values for the variables of its `[input]`, by name. */
  readonly variables: CallerVariables
}

export interface CallerVariables {
  readonly values: JsonObject
  /** Whether values that match no variable of the file are an error of the caller or are ignored. */
  readonly others: 'refused' | 'ignored'
}

/** A model with its settings and tools, which answers in a conversation. */
export interface ModelAgent {
  readonly kind: 'llm'
  readonly name: string
  readonly settings: ModelSettings
  /** Called in this order if the model fails permanently. */
  readonly fallbackModels?: readonly string[]
  /** Schema of the whole answer. */
  readonly output?: { readonly name: string; readonly schema: JsonObject }
  /** The tools it may call; omitted: none. */
  readonly tools?: readonly Tool[]
  /** Maximum number of model calls in the whole conversation; omitted: no limit. */
  readonly maxTurns?: number
  /** Maximum number of rounds for one message; omitted: the default of its mode, 200 in `classic`. */
  readonly maxRounds?: number
  readonly modeOptions?: JsonObject
  /** The id of the mode that executes its messages; omitted: `classic`. */
  readonly mode?: string
  /** The user, for events. */
  readonly userId?: string
  /** Values for the executors of its prompts, of modes that read them. */
  readonly state?: JsonObject
  /** Prompts of an earlier conversation that this one continues, oldest first. */
  readonly history?: readonly Prompt[]
  /** Earlier messages that are recorded elsewhere; without system messages. */
  readonly said?: readonly Message[]
  /**
   * A person talks with it: what was said of an answer that was stopped belongs to the conversation, and its prompts are
   * recorded as they have ended.
   */
  readonly isChat?: true
  /** An empty answer is returned, not an error, if no further model is left: the caller handles it. */
  readonly acceptsEmpty?: true
  /** Its first call may be sent in a batch, which is answered hours later. */
  readonly isBatched?: true
  /** Messages received during the conversation: if the model calls no tool, it waits for them. Omitted: none. */
  readonly inbox?: Inbox
}

/** A tool that a model may call. Its failures are results for the model; only errors that stop the run are thrown. */
export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON Schema of type object. */
  readonly parameters: JsonObject
  /** JSON Schema of its `structured` result; omitted: unknown. */
  readonly output?: JsonObject
  /** The MCP server that it belongs to; omitted: none. */
  readonly server?: string
  /** Not offered to models; a model that calls it anyway gets the reason why it is unavailable. */
  readonly isHidden?: true
  /** It may be called, but requests do not carry it: the model finds it by a search. Programs have it like any other. */
  readonly isDeferred?: true
  /**
   * Whether it is of no use yet, so that requests do not carry it; `said`: the messages of earlier runs of the
   * conversation. Omitted: it is of use from the beginning.
   */
  readonly isIdle?: (said: readonly Message[]) => boolean
  /** Of a tool that only stands for calls of others: the call that an input means; undefined: none. */
  readonly meant?: (input: string) => Pick<ToolCallPart, 'name' | 'input'> | undefined
  /**
   * `input`: JSON as the model wrote it, which may be invalid. The place of the context is that of the call.
   * `onProgress` is called by tools that report progress.
   */
  run(input: string, context: RunContext, onProgress?: OnToolProgress): Promise<ToolResult>
  /**
   * Releases what it holds for a conversation that has ended. `failure`: the error of the last answer, if it failed.
   */
  close?(context: RunContext, failure?: unknown): Promise<void>
}

export function isOffered({ isHidden }: Tool): boolean {
  return isHidden !== true
}

/** Whether requests of a conversation carry it from the beginning. */
export function isSentAtFirst(tool: Tool, said: readonly Message[] = []): boolean {
  return isOffered(tool) && tool.isDeferred !== true && tool.isIdle?.(said) !== true
}

export type OnToolProgress = (progress: McpProgress) => void

export interface ToolResult {
  readonly text: string
  /** Images and documents, after the text. */
  readonly files?: readonly FilePart[]
  /** The result for programs, if it is more than a text. */
  readonly structured?: Json
  readonly isError?: true
  /** Of an error. */
  readonly reason?: ErrorReason
  /** The call was denied by the permissions or by the user. */
  readonly isDenied?: true
}

/** A tool call with its result: `tool_calls` of an `ai_response`. */
export interface ToolUse {
  readonly id: string
  readonly name: string
  /** JSON as the model wrote it, which may be invalid. */
  readonly input: string
  readonly output: string
  readonly is_error?: true
}

/** Settings of a model call. If `model` is omitted, the default model is used. */
export interface ModelSettings {
  readonly model?: string
  readonly temperature?: number
  readonly top_p?: number
  readonly max_tokens?: number
  readonly reasoning_effort?: string
  readonly reasoning_summary?: string
  readonly seed?: number
}

export interface ScriptRequest {
  readonly kind: 'script'
  readonly agent: ScriptAgent
  /** One entry per task; null: no inputs were given. */
  readonly inputs: readonly Json[] | null
  /** Options of the caller, merged over the agent's own. */
  readonly options: JsonObject
  /** Called with each output as soon as it is available; the command line prints it. */
  readonly onOutput?: (output: Json, index: number) => void
}

export interface PromptRequest<Agent extends TextAgent = TextAgent> {
  readonly kind: 'prompt'
  readonly agent: Agent
  /** The agent runs once for each. */
  readonly inputs: readonly PromptInput[]
  /** Settings of the caller, merged over the file's own. */
  readonly options: JsonObject
  /** Maximum number of model calls of a prompt file for one message, unless the file has a lower limit. */
  readonly maxTurns?: number
  /** The conversation for a command line to continue, with a single input; omitted: a new one. */
  readonly session?: CommandSession
  /** Called with the conversation of a command line, even if the run fails. */
  readonly onSession?: (session: CommandSession) => void
}

export interface ModelAgentRequest {
  readonly kind: 'model'
  readonly agent: ModelAgent
  readonly messages: readonly Message[]
}

export type AgentRequest = ScriptRequest | PromptRequest | ModelAgentRequest

export type ScriptResult =
  | {
      readonly kind: 'script'
      readonly end: 'done'
      /** One value per input, in input order; null for nil and for skipped inputs. */
      readonly outputs: readonly Json[]
      /** Number of failed inputs, if `allow_run_on_task_fail` lets the run continue. */
      readonly failedInputs: number
      /** Return value of After All; undefined for nil. */
      readonly afterAll: Json | undefined
    }
  /** The agent itself decided to skip. */
  | { readonly kind: 'script'; readonly end: 'skipped'; readonly reason: string | undefined }
  /** The agent requests another round; `outputs` are those of this round. */
  | {
      readonly kind: 'script'
      readonly end: 'redo'
      readonly outputs: readonly Json[]
      readonly failedInputs: number
      /** Return value of After All if that requested the round; undefined if Before All did. */
      readonly afterAll: Json | undefined
    }

/** The result of an agent that answers with text. */
export type PromptResult =
  | {
      readonly kind: 'prompt'
      readonly end: 'done'
      /** The answers of all inputs, joined by a blank line. */
      readonly text: string
      /** One per input: its answer, or the value described by `[output]`; null if it was skipped. */
      readonly outputs: readonly Json[]
      /** The value described by `[output]`, for a single input; undefined without `[output]`. */
      readonly value: Json | undefined
      readonly spent: Spent
      /** For a command line with one input whose program can continue conversations. */
      readonly session?: CommandSession
    }
  | { readonly kind: 'prompt'; readonly end: 'skipped'; readonly reason: string; readonly spent: Spent }

/**
 * Why a model stopped. `max_tokens`: it reached its output limit; `incomplete`: the answer was cut off for
 * another reason. The others stop a model that wanted to call more tools: `max_turns`, `max_rounds`: no model calls are
 * left in this conversation or for this message; `repeated_calls`: it kept calling the same tools with the same input.
 */
export type ModelEnd = 'done' | 'max_tokens' | 'incomplete' | 'max_turns' | 'max_rounds' | 'repeated_calls'

/** The answer of a model to a message. */
export interface ModelResult {
  readonly kind: 'model'
  readonly end: ModelEnd
  readonly text: string
  readonly reasoning: string
  readonly model: { readonly name: string; readonly provider: string }
  /** The whole conversation so far. */
  readonly messages: readonly Message[]
  /** The tools that were called for this message. */
  readonly calls: readonly ToolUse[]
  readonly spent: Spent
  /** How long the model took. */
  readonly seconds: number
}

export type AgentResult = ScriptResult | PromptResult | ModelResult

export type SubmissionId = string

export type SessionStatus =
  | { readonly kind: 'idle' }
  | { readonly kind: 'running' }
  | { readonly kind: 'completed'; readonly result: ModelResult }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'closed' }

/** A conversation with a model agent, which takes one message at a time. See docs/design/places.md. */
export interface AgentSession {
  /** Derived from the place that opened it. */
  readonly id: string
  status(): SessionStatus
  /** Adds messages. They are answered in the order received; messages of one call are answered together. */
  send(messages: readonly Message[], choice?: PromptChoice): Promise<SubmissionId>
  /** The answer to a submission. @throws the error it failed with, or the reason it was interrupted or closed */
  answer(submission: SubmissionId): Promise<ModelResult>
  /**
   * Whether an earlier process of this run already got the answer to the next submission, and reported why it was sent.
   */
  wasAnswered(): boolean
  /** The messages as prompts with their outputs, oldest first; includes those it was opened with. */
  prompts(): readonly Prompt[]
  /** All messages so far. */
  messages(): readonly Message[]
  /** Approve or reject a call that waits for approval, by the id in its events; other ids are ignored. */
  approve(toolCallId: string): void
  reject(toolCallId: string, reason?: string): void
  /** Stops the answer in progress; the session accepts further messages. */
  interrupt(): void
  /** Resolves when the session is closed, with the last answer or undefined. Never rejects. */
  readonly ended: Promise<ModelResult | undefined>
  /** Waits for the answer in progress, and accepts no further messages. */
  close(): Promise<void>
}

/** The only way to run an agent. `run` is its whole lifecycle: open, send once, close. */
export interface AgentExecutor {
  /** @throws BatonError when the agent fails */
  run(request: ScriptRequest, context: RunContext): Promise<ScriptResult>
  run(request: PromptRequest, context: RunContext): Promise<PromptResult>
  run(request: ModelAgentRequest, context: RunContext): Promise<ModelResult>
  run(request: ScriptRequest | PromptRequest, context: RunContext): Promise<ScriptResult | PromptResult>
  /** Opens a conversation, which the caller must close. */
  open(agent: ModelAgent, context: RunContext): Promise<AgentSession>
  /**
   * Calls the model of a prompt file with the messages of the caller. Returns undefined if the file does more than call
   * its model (it has agents, files or iterations), so that it must be run as an agent.
   * @throws BatonError when it fails
   */
  converse(request: FileConversation, context: RunContext): Promise<FileAnswer | undefined>
}
