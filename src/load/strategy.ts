import type { AgentParts, ChosenModel } from '../agent/parts.ts'
import type { DataPath } from '../base/data-text.ts'
import type { BatonError, SourcePlace } from '../base/error.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import type { RunSpec } from '../config/run-spec.ts'
import type { Settings } from '../config/settings.ts'
import type { StrategyKey } from '../settings/strategies.ts'
import type { LuaCompiler } from '../script/compiler.ts'
import type { ResolvedAgent } from './definitions.ts'
import type { OutputSchema } from './output-schema.ts'

/** An agent that the table of a strategy names. */
export interface StepAgent {
  readonly name: string
  readonly options: JsonObject
  /** Where it is named. */
  readonly path: DataPath
  /** It is started after something else was paid for. */
  readonly isLate?: boolean
}

/** A program that a table defines, and the variables it gives to it. */
export interface NamedProgram {
  readonly name: string
  readonly env: Readonly<Record<string, string>>
}

/** What the check of a strategy may need besides the file. */
export interface StrategySurroundings {
  readonly output: OutputSchema | undefined
  /** Called only if there is code; the provider closes the compiler. */
  readonly compiler: () => Promise<LuaCompiler>
}

/** What the models of a strategy are looked up with. */
export interface ModelSurroundings extends Pick<AgentParts, 'chooseModel'> {
  readonly spec: RunSpec
  readonly settings: Settings
  readonly settingsFor: (params: JsonObject) => Settings
  readonly placeOf: (path: DataPath, part?: 'key' | 'value') => Promise<SourcePlace>
  /** Whether the model with these settings may be given tools. */
  readonly givesTools: (settings: Settings) => Promise<boolean>
}

/** What loading a prompt file has to know about a strategy. Functions that most files do not need load their code late. */
export interface StrategyLoader {
  readonly key: StrategyKey
  /** Why `-i` and `working_globs` cannot be combined with it; omitted if they can. */
  readonly ownTasks?: { readonly reason: string; readonly hint: string }
  /** The instructions are in its table: the text of the file may be empty. */
  readonly hasInstructions?: true
  readonly agents: (settings: Settings) => readonly StepAgent[]
  /** The options that its table gives to agents and to the model of the file; `path` is that of their owner. */
  readonly givenOptions?: (settings: Settings) => readonly Pick<StepAgent, 'options' | 'path'>[]
  /** The programs that its table defines. */
  readonly programs?: (settings: Settings) => readonly NamedProgram[]
  /** The same in a table that was not checked: the tables of these programs, by name. */
  readonly programTables?: (table: Json) => readonly (readonly [name: string, table: Json])[]
  /** The agent of the key `agent` does not answer instead of the model of the file. */
  readonly ignoresAgent?: true
  /** Its agents change files with their tools, so that their answers can match `[output]`. */
  readonly changesByTools?: (settings: Settings) => boolean
  /** The settings without work trees of its parts. */
  readonly inPlace?: (settings: Settings) => Settings
  /** Whether its table gives `-i` to something; default: no. */
  readonly readsInput?: (settings: Settings) => boolean
  /** Whether the model of the file may be called; default: as without a strategy. */
  readonly asksModel?: (settings: Settings) => boolean
  /** The models that its table names for the model of the file. */
  readonly namedModels?: (settings: Settings) => readonly { readonly name: string; readonly path: DataPath }[]
  /** Checks these models before anything is paid for. @throws BatonError for one that cannot be used, at its place */
  readonly models?: (around: ModelSurroundings) => Promise<readonly ChosenModel[]>
  /** What in the file contradicts its table, in the order in which a run reports it. */
  readonly problems?: (spec: RunSpec, around: StrategySurroundings) => Promise<readonly BatonError[]>
  /** Reads the files that its table names. Undefined if it is not used. */
  readonly load?: (spec: RunSpec, options: StrategyLoading) => Promise<object | undefined>
}

export interface StrategyLoading {
  readonly reads?: ReadLog | undefined
  /** The file is run as an agent. */
  readonly isAgent?: boolean | undefined
  /** The agents that the file names. */
  readonly byName?: ReadonlyMap<string, ResolvedAgent>
}

export interface LoadedStrategy {
  readonly row: StrategyLoader
  /** What its `load` has returned. */
  readonly loaded: object | undefined
}
