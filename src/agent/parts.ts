import type { Pool } from '../base/limit.ts'
import type { AgentFile } from '../pack/resolve.ts'
import type { ModelProvider } from '../model/provider.ts'
import type { ModuleReader } from '../script/module-reader.ts'
import type { ScriptHost } from '../script/section.ts'

/** A model that was chosen by name, ready to be called. */
export interface ChosenModel {
  readonly provider: ModelProvider
  readonly model: string
  /** For people and events, for example `openai::gpt-5-mini`. */
  readonly label: string
  readonly reasoningEffort?: string
}

/** What executors are made of: handed down by runner.ts, so that each can be tested with fakes. */
export interface AgentParts {
  /** Loads the Lua engine at its first use. */
  readonly scripts: () => Promise<ScriptHost>
  /** Undefined asks for the default of DESIGN 8 "No model named anywhere". */
  readonly chooseModel: (name: string | undefined) => Promise<ChosenModel>
  /** Process-wide places for model requests. */
  readonly modelPool: Pool
  readonly findAgent: (name: string, baseDir: string) => AgentFile
}

/** What script agents need besides: made once for each run. */
export interface ScriptParts extends AgentParts {
  readonly findModule: ModuleReader
  /** Gives each agent run of a run its number, from 1. */
  readonly countRun: () => number
}
