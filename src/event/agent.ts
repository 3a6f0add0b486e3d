import type { Json, JsonObject } from '../base/json.ts'
import type { RunContext } from './context.ts'
import type { Message, Usage } from './message.ts'

/** The pack an agent was named through: what its scripts see as `CTX.PACK_…` (spec/aipack.md 3.8). */
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

/** A prompt file that is run as an agent: it answers text (DESIGN 4 "agent = X", 5). */
export interface PromptAgent {
  readonly kind: 'prompt'
  /** As the caller named it. */
  readonly name: string
  /** Absolute path. */
  readonly file: string
  /** As it was when the agent was found. */
  readonly text: string
}

/** What a prompt file is given by its caller. */
export interface PromptInput {
  /** For its template and its own sub-agents. */
  readonly value: Json
  /** The message "Input" that stands before its instruction when it has no template; empty: there is none. */
  readonly text: string
  /** What fills the variables of its `[input]`, by name. */
  readonly variables: CallerVariables
}

export interface CallerVariables {
  readonly values: JsonObject
  /** What becomes of values that are no variables of the file: a mistake of the caller, or no matter. */
  readonly others: 'refused' | 'ignored'
}

/** A model with its settings: one conversation turn, streamed. */
export interface ModelAgent {
  readonly kind: 'llm'
  readonly name: string
  readonly settings: ModelSettings
  /** Asked in this order when the model fails for good. */
  readonly fallbackModels?: readonly string[]
  /** What the whole answer must be. */
  readonly output?: { readonly name: string; readonly schema: JsonObject }
  /** An empty answer is one, when there is no further model to ask: whoever asked looks at it (spec/aipack.md 2.5). */
  readonly takesEmpty?: true
}

/** Settings of a model call. `model` is left out when nothing names one: then DESIGN 8 "no model named" decides. */
export interface ModelSettings {
  readonly model?: string
  readonly temperature?: number
  readonly top_p?: number
  readonly max_tokens?: number
  readonly reasoning_effort?: string
  readonly reasoning_summary?: string
  readonly seed?: number
}

interface ScriptRequest {
  readonly agent: ScriptAgent
  /** One entry per task; null is "no inputs given" (spec/aipack.md 2.4). */
  readonly inputs: readonly Json[] | null
  /** Options of the caller, merged over the agent's own. */
  readonly options: JsonObject
  /** Whether outputs are wanted: a caller agent wants them, the command line prints them as they come. */
  readonly onOutput?: (output: Json, index: number) => void
}

export interface PromptRequest {
  readonly agent: PromptAgent
  /** One run of the file for each. */
  readonly inputs: readonly PromptInput[]
  /** Settings of the caller, merged over the file's own. */
  readonly options: JsonObject
}

interface ModelAgentRequest {
  readonly agent: ModelAgent
  readonly messages: readonly Message[]
}

export type AgentRequest = ScriptRequest | PromptRequest | ModelAgentRequest

/** `skipped`: the agent itself decided that there is nothing to do. `max_tokens`: the answer was cut. */
type StopReason = 'done' | 'skipped' | 'max_tokens'

export interface AgentResult {
  readonly stopReason: StopReason
  /** The model stopped in the middle for another reason than its output limit. */
  readonly isPart?: true
  /** The answer of a model agent, the answers of a prompt file; empty for script agents. */
  readonly text: string
  /**
   * One value per input, in input order; null for nil and for skipped inputs. Of a prompt file its answer text, or the
   * value its `[output]` describes.
   */
  readonly outputs: readonly Json[]
  /** Inputs that failed where `allow_run_on_task_fail` lets the run go on. */
  readonly failedInputs: number
  /** Value of After All (`.aip`), or what `[output]` of a prompt file describes; undefined for nil. */
  readonly afterAll: Json | undefined
  readonly skipReason: string | undefined
  readonly redoRequested: boolean
  /** The model that answered; undefined for script agents. */
  readonly model?: { readonly name: string; readonly provider: string }
  readonly reasoning?: string
  readonly messages: readonly Message[]
  readonly toolUseCount: number
  readonly usage: Usage
  /** US dollars of a model agent's calls; null when the price is not known. */
  readonly costUsd?: number | null
  /** How long the model took. */
  readonly seconds?: number
}

/** The only way any agent runs, whoever asks (DESIGN 2 rule 2). Throws `BatonError` when the agent fails. */
export interface AgentExecutor {
  run(request: AgentRequest, context: RunContext): Promise<AgentResult>
}
