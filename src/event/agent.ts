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

/** A model with its settings: one conversation turn, streamed. */
export interface ModelAgent {
  readonly kind: 'llm'
  readonly name: string
  readonly settings: ModelSettings
}

/** Settings of a model call. `model` is left out when nothing names one: then DESIGN 8 "no model named" decides. */
export interface ModelSettings {
  readonly model?: string
  readonly temperature?: number
  readonly top_p?: number
  readonly max_tokens?: number
  readonly reasoning_effort?: string
  readonly seed?: number
}

export type AgentRequest =
  | {
      readonly agent: ScriptAgent
      /** One entry per task; null is "no inputs given" (spec/aipack.md 2.4). */
      readonly inputs: readonly Json[] | null
      /** Options of the caller, merged over the agent's own. */
      readonly options: JsonObject
      /** Whether outputs are wanted: a caller agent wants them, the command line prints them as they come. */
      readonly onOutput?: (output: Json, index: number) => void
    }
  | { readonly agent: ModelAgent; readonly messages: readonly Message[] }

/** `skipped`: the agent itself decided that there is nothing to do. `max_tokens`: the answer was cut. */
type StopReason = 'done' | 'skipped' | 'max_tokens'

export interface AgentResult {
  readonly stopReason: StopReason
  /** The answer of a model agent; empty for script agents. */
  readonly text: string
  /** Script agents: one value per input, in input order; null for nil and for skipped inputs. */
  readonly outputs: readonly Json[]
  /** Inputs that failed where `allow_run_on_task_fail` lets the run go on. */
  readonly failedInputs: number
  /** Value of After All (`.aip`) or of the chunk (`.lua`); undefined for nil. */
  readonly afterAll: Json | undefined
  readonly skipReason: string | undefined
  readonly redoRequested: boolean
  /** The model that answered; undefined for script agents. */
  readonly model?: { readonly name: string; readonly provider: string }
  readonly reasoning?: string
  readonly messages: readonly Message[]
  readonly toolUseCount: number
  readonly usage: Usage
}

/** The only way any agent runs, whoever asks (DESIGN 2 rule 2). Throws `BatonError` when the agent fails. */
export interface AgentExecutor {
  run(request: AgentRequest, context: RunContext): Promise<AgentResult>
}
