import type { JsonObject } from '../../base/json.ts'
import type { Steps } from '../../base/steps.ts'
import type { AgentPack } from '../../event/agent.ts'
import type { RunContext } from '../../event/context.ts'
import type { Place } from '../../event/effects.ts'
import type { LuaChunk, LuaValue, TableReading } from '../engine.ts'
import type { LoadedModules } from '../loaded-modules.ts'
import type { ModuleReader } from '../module-reader.ts'

/** Which part of an agent a section is; `chunk` is a whole `.lua` file. Data, Output and chunks run once per task. */
export type SectionStage = 'before_all' | 'data' | 'output' | 'after_all' | 'chunk'

/** The section that is calling: what paths, labels and child agents are resolved with. */
export interface Section {
  readonly context: RunContext
  readonly stage: SectionStage
  /** Absolute path of the agent file. */
  readonly agentFile: string
  /** The agent as its caller named it. */
  readonly agentName: string
  /** The pack the agent was named through. */
  readonly pack?: AgentPack
  /** Options in force for this section. */
  readonly options: JsonObject
  /** Runs another agent and gives `{ outputs, after_all, redo_requested }`; made by agent/. */
  readonly runAgent: (name: string, call: AgentCallArguments, at: Place) => Promise<LuaValue>
  /** Finds what `require` names; shared by the sections of a run. */
  readonly findModule: ModuleReader
  /** The Lua modules this section has loaded; set by whoever runs it. */
  readonly loaded?: LoadedModules
}

export interface AgentCallArguments {
  readonly inputs: readonly LuaValue[] | null
  readonly options: { readonly [key: string]: LuaValue }
  readonly baseDir: string | undefined
}

type Values = readonly LuaValue[]

/**
 * One function of an `aip.*` module. What it declares decides how resume treats it (DESIGN 7):
 * `pure` gives the same result for the same arguments; `observe` reads something from outside and is recorded and
 * answered by its number; `act` changes something and calls `context.effects` itself, at the place it is given.
 */
export type ModuleFunction =
  | {
      readonly effect: 'pure'
      readonly tables?: TableReading
      readonly call: (args: Values, section: Section) => Values
    }
  | {
      readonly effect: 'observe'
      readonly tables?: TableReading
      readonly call: (args: Values, section: Section) => Values
      /** The same for what may take long, as a listing of many folders: then the script waits, and can be stopped. */
      readonly steps?: (args: Values, section: Section) => Steps<Values>
    }
  | {
      readonly effect: 'act'
      readonly tables?: TableReading
      readonly call: (args: Values, section: Section, at: Place) => Values | Promise<Values>
    }

/** An `aip.<name>` module: functions in TypeScript, and a part in Lua where values must be shared by reference. */
export interface HostModule {
  readonly name: string
  readonly functions: { readonly [name: string]: ModuleFunction }
  /** Runs in the globals once the functions are in place. */
  readonly lua?: LuaChunk
}
