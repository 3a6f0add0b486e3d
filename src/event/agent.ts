import type { Json, JsonObject } from '../base/json.ts'
import type { RunContext } from './context.ts'
import type { Inbox } from './inbox.ts'
import type { McpProgress } from './mcp.ts'
import type { FilePart, Message, Usage } from './message.ts'
import type { Spent } from './meter.ts'
import type { Prompt, PromptChoice } from './prompt.ts'
import type { SandboxMode } from './sandbox-rights.ts'
import type { FileAnswer, FileConversation } from './sub-agents.ts'

/** The pack an agent was named through: what its scripts see as `CTX.PACK_…`. */
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
  /** Only when it was named by a pack reference. */
  readonly pack?: AgentPack
}

/** A prompt file that is run as an agent: it answers with text. */
export interface PromptAgent {
  readonly kind: 'prompt'
  /** As the caller named it. */
  readonly name: string
  /** Absolute path. */
  readonly file: string
  /** As it was when the agent was found. */
  readonly text: string
  /** Left out: the text is that of the file. */
  readonly defined?: DefinedText
}

/** How an agent is defined whose text is not that of its file. Plain JSON. */
type DefinedText = {
  /** Where it is written, the strongest first; none for what comes with Baton. */
  readonly sources: readonly {
    /** Absolute. */
    readonly file: string
    /** As errors name it. */
    readonly shown: string
    /** All of the file. */
    readonly text: string
    /** `config`: a TOML file. `prompt`: a prompt file. */
    readonly form: 'config' | 'prompt'
    /** The table that holds it; empty: the whole file. */
    readonly at: readonly (string | number)[]
  }[]
  /** All of it is the user's, or was trusted. */
  readonly isTrusted: boolean
}

/** A definition of an agent, as the tools see it that start agents by name. */
export interface AgentDefinition {
  readonly name: string
  /** What it is for. Without one no model is offered it. */
  readonly description: string | undefined
  /** `built-in`, `agents/x.md`, `baton.toml:3`. */
  readonly origin: string
  /** The strongest of those that define it. */
  readonly from: 'built-in' | 'user' | 'pack' | 'workspace' | 'prompt' | 'flag'
  readonly agent: TextAgent
  /** Settings of its run as they are written: `model`, `tools`, `permission`, `max_turns`, `budget` and the like. */
  readonly settings: JsonObject
  /** What a model is told as its system message; empty: nothing. */
  readonly instructions: string
  /** It begins with the messages of its caller. */
  readonly forkContext: boolean
  /** Said again behind the prompt of its caller. */
  readonly reminder: string | undefined
  readonly isolation: 'none' | 'worktree'
  /** Its lists of tools do not hold back tools of MCP servers. */
  readonly allMcp: boolean
  /** Undefined: all. */
  readonly tools: readonly string[] | undefined
  readonly disallowedTools: readonly string[]
  readonly maxTurns: number | undefined
  /** The key by which it starts agents or programs that nobody has agreed to: no model may start it. */
  readonly heldBack?: string
}

/** A command line that answers a prompt with text, as `[agents.NAME] command` defines it (R266, R279, R280). */
export interface CommandAgent {
  readonly kind: 'command'
  /** As the caller named it. */
  readonly name: string
  /** Absolute path of the file that defines it. */
  readonly file: string
  /** The definition as JSON: two agents with the same text do the same. */
  readonly text: string
  readonly line: CommandLine
  readonly defined?: DefinedText
}

/** What is started for a command agent. Plain JSON. */
export type CommandLine = {
  /** The command line whose flags and output are known; left out: standard output is the answer. */
  readonly preset?: CommandPreset
  /** A name on PATH, or a path from the workspace. */
  readonly command: string
  /** `{prompt}` and `{model}` in them are replaced; without `{prompt}` in any of them the prompt is written to standard input. */
  readonly args: readonly string[]
  /** Added to the environment of the program; `${NAME}` in a value is a variable of ours. */
  readonly env: { readonly [name: string]: string }
  /** A prompt of more bytes than this is written to standard input, with `{prompt}` left out. */
  readonly stdinOver: number
  readonly model?: string
  /** How long one run of it may take, in milliseconds; left out: as long as agents may that say nothing themselves. */
  readonly timeoutMs?: number
  /** What its definition says of `sandbox.mode`: a preset is held to it besides, another program needs `danger-full-access`. */
  readonly mode?: SandboxMode
}

const commandPresets = ['claude', 'codex', 'gemini', 'opencode'] as const
export type CommandPreset = (typeof commandPresets)[number]

/** A conversation of a program that a later run of the same program takes up. Plain JSON. */
export type CommandSession = {
  readonly id: string
  /** What it had used by then, where the program counts from its begin. */
  readonly used?: Usage
}

/** An agent that answers with text. */
export type TextAgent = PromptAgent | CommandAgent

/** What a prompt file is given by its caller. */
export interface PromptInput {
  /** For its template and its own sub-agents. */
  readonly value: Json
  /** The message "Input" before its instruction when it has no template; empty: there is none. */
  readonly text: string
  /** What fills the variables of its `[input]`, by name. */
  readonly variables: CallerVariables
}

export interface CallerVariables {
  readonly values: JsonObject
  /** What becomes of values that are no variables of the file: an error of the caller, or nothing. */
  readonly others: 'refused' | 'ignored'
}

/** A model with its settings and tools: what answers in a conversation. */
export interface ModelAgent {
  readonly kind: 'llm'
  readonly name: string
  readonly settings: ModelSettings
  /** Asked in this order when the model fails for good. */
  readonly fallbackModels?: readonly string[]
  /** What the whole answer must be. */
  readonly output?: { readonly name: string; readonly schema: JsonObject }
  /** What it may call; none when left out. */
  readonly tools?: readonly Tool[]
  /** How many model calls the whole conversation may take; left out: no limit. */
  readonly maxTurns?: number
  /** How many rounds one message may take; left out: what its mode has, 25 in `classic`. */
  readonly maxRounds?: number
  /** Options of its mode. */
  readonly modeOptions?: JsonObject
  /** The id of the mode that its messages are executed in; left out: `classic`. */
  readonly mode?: string
  /** Who asks, in events. */
  readonly userId?: string
  /** Prompts of an earlier conversation that this one goes on from, oldest first. */
  readonly history?: readonly Prompt[]
  /** What was said before it was opened, and is recorded elsewhere; without system messages. */
  readonly said?: readonly Message[]
  /** An empty answer is an answer when there is no further model to ask: the caller looks at it. */
  readonly acceptsEmpty?: true
  /** What comes to it while it goes on: one that calls no tool waits for it. Left out: nothing comes. */
  readonly inbox?: Inbox
}

/** Something a model may call. What goes wrong in it is a value for the model; only what stops the run is thrown. */
export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON Schema of type object. */
  readonly parameters: JsonObject
  /** JSON Schema of what it gives as `structured`; left out: it is not known. */
  readonly output?: JsonObject
  /** The MCP server that it belongs to; left out: it belongs to none. */
  readonly server?: string
  /** Nobody is told of it; a model that calls it all the same is told why it cannot be. */
  readonly isHidden?: true
  /**
   * `input`: JSON as the model wrote it, which may be invalid. The place of the context is that of the call. `onProgress`: told how far
   * it is, by tools that know it.
   */
  run(input: string, context: RunContext, onProgress?: OnToolProgress): Promise<ToolResult>
  /** Ends what it keeps for its conversation, which has ended. `failure`: what its last answer failed with, if it did. */
  close?(context: RunContext, failure?: unknown): Promise<void>
}

/** Whether a model is told of it. */
export function isOffered({ isHidden }: Tool): boolean {
  return isHidden !== true
}

export type OnToolProgress = (progress: McpProgress) => void

export interface ToolResult {
  readonly text: string
  /** Images and documents, behind the text. */
  readonly files?: readonly FilePart[]
  /** The same for programs, where there is more to it than a text. */
  readonly structured?: Json
  readonly isError?: true
  /** The permission did not allow the call, or a person did not. */
  readonly isDenied?: true
}

/** A call of a tool with what it gave: `tool_calls` of an `ai_response`. */
export interface ToolUse {
  readonly id: string
  readonly name: string
  /** JSON as the model wrote it, which may be invalid. */
  readonly input: string
  readonly output: string
  readonly is_error?: true
}

/** Settings of a model call. `model` is left out when nothing names one: then the default model is chosen. */
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
  /** One entry per task; null is "no inputs given". */
  readonly inputs: readonly Json[] | null
  /** Options of the caller, merged over the agent's own. */
  readonly options: JsonObject
  /** Called with each output as it comes; the command line prints them. */
  readonly onOutput?: (output: Json, index: number) => void
}

export interface PromptRequest<Agent extends TextAgent = TextAgent> {
  readonly kind: 'prompt'
  readonly agent: Agent
  /** One run of the agent for each. */
  readonly inputs: readonly PromptInput[]
  /** Settings of the caller, merged over the file's own. */
  readonly options: JsonObject
  /** How often a prompt file may ask its model for one message, where it allows no less. */
  readonly maxTurns?: number
  /** The conversation that a command line takes up, with its one input; left out: it begins a new one. */
  readonly session?: CommandSession
  /** Told which conversation of a command line it was, however it ends. */
  readonly onSession?: (session: CommandSession) => void
}

export interface ModelAgentRequest {
  readonly kind: 'model'
  readonly agent: ModelAgent
  readonly messages: readonly Message[]
}

export type AgentRequest = ScriptRequest | PromptRequest | ModelAgentRequest

/** How a script agent ended. */
export type ScriptResult =
  | {
      readonly kind: 'script'
      readonly end: 'done'
      /** One value per input, in input order; null for nil and for skipped inputs. */
      readonly outputs: readonly Json[]
      /** Inputs that failed where `allow_run_on_task_fail` lets the run continue. */
      readonly failedInputs: number
      /** Value of After All; undefined for nil. */
      readonly afterAll: Json | undefined
    }
  /** The agent itself decided that there is nothing to do. */
  | { readonly kind: 'script'; readonly end: 'skipped'; readonly reason: string | undefined }
  /** The agent asks for another round; `outputs` are those of this one. */
  | {
      readonly kind: 'script'
      readonly end: 'redo'
      readonly outputs: readonly Json[]
      readonly failedInputs: number
      /** The value of After All when that asked for it; undefined when Before All did. */
      readonly afterAll: Json | undefined
    }

/** How an agent ended that answers with text. */
export type PromptResult =
  | {
      readonly kind: 'prompt'
      readonly end: 'done'
      /** The answers of all inputs, joined by a blank line. */
      readonly text: string
      /** One per input: its answer, or the value its `[output]` describes; null where it was skipped. */
      readonly outputs: readonly Json[]
      /** What `[output]` describes, of one input; undefined without it. */
      readonly value: Json | undefined
      readonly spent: Spent
      /** Of a command line with one input, where its program can take it up. */
      readonly session?: CommandSession
    }
  | { readonly kind: 'prompt'; readonly end: 'skipped'; readonly reason: string; readonly spent: Spent }

/**
 * Why a model stopped (R26). `max_tokens`: its output limit was reached; `incomplete`: it stopped in the middle for another
 * reason. It wanted to call further tools: `max_turns`, `max_rounds`: it may not be called any more, in this conversation or for
 * this message; `repeated_calls`: it called the same tools with the same input again and again.
 */
export type ModelEnd = 'done' | 'max_tokens' | 'incomplete' | 'max_turns' | 'max_rounds' | 'repeated_calls'

/** What a model answered to a message. */
export interface ModelResult {
  readonly kind: 'model'
  readonly end: ModelEnd
  readonly text: string
  readonly reasoning: string
  readonly model: { readonly name: string; readonly provider: string }
  /** The whole conversation so far. */
  readonly messages: readonly Message[]
  /** The tools that were called for this message (R25). */
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

/** A conversation with a model agent that takes one message after the other. See docs/design/places.md. */
export interface AgentSession {
  /** Made of the place that opened it. */
  readonly id: string
  status(): SessionStatus
  /** Adds messages. They are answered in the order they come, those of one call together. */
  send(messages: readonly Message[], choice?: PromptChoice): Promise<SubmissionId>
  /** The answer to a submission. @throws what it failed with, or the reason it was interrupted or closed */
  answer(submission: SubmissionId): Promise<ModelResult>
  /** Whether an older process of this run has got the answer to what is sent next, and told why it was sent. */
  wasAnswered(): boolean
  /** The messages as prompts with what came of them, oldest first; with those it was opened with. */
  prompts(): readonly Prompt[]
  /** All messages so far. */
  messages(): readonly Message[]
  /** Allows, or not, a call that waits for a person, by the id of its events; of other ids nothing happens. */
  approve(toolCallId: string): void
  reject(toolCallId: string, reason?: string): void
  /** Stops the answer that is in progress; the session takes further messages. */
  interrupt(): void
  /** Settles when the session is closed: the last answer, undefined when there was none. Never rejects. */
  readonly ended: Promise<ModelResult | undefined>
  /** Waits for what is in progress, and takes no further messages. */
  close(): Promise<void>
}

/** The only way any agent runs, whoever asks. `run` is an agent's whole life: opened, asked once, closed. */
export interface AgentExecutor {
  /** @throws BatonError when the agent fails */
  run(request: ScriptRequest, context: RunContext): Promise<ScriptResult>
  run(request: PromptRequest, context: RunContext): Promise<PromptResult>
  run(request: ModelAgentRequest, context: RunContext): Promise<ModelResult>
  run(request: ScriptRequest | PromptRequest, context: RunContext): Promise<ScriptResult | PromptResult>
  /** Opens a conversation, which its opener closes. */
  open(agent: ModelAgent, context: RunContext): Promise<AgentSession>
  /**
   * Asks the model of a prompt file with the messages of the caller. Undefined: the file has more to do than to ask its model (agents of
   * its own, files, iterations), so that it is run as an agent. @throws BatonError when it fails
   */
  converse(request: FileConversation, context: RunContext): Promise<FileAnswer | undefined>
}
