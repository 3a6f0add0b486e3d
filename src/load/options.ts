import type { Definitions } from '../config/collect-definitions.ts'
import type { RunSpecOptions } from '../config/run-spec.ts'
import type { ConfigOptions } from '../config/target-config.ts'
import type { StrategyLoader } from './strategy.ts'

export interface TargetOptions extends ConfigOptions {
  readonly file: string
  /** The prompt itself, if it is not a file; `file` is then only its name in messages. */
  readonly text?: string
  /** See `RunSpecOptions`. */
  readonly instruction?: string
  /** The agent definition in `file` that is run. */
  readonly definition?: RunSpecOptions['definition'] & {}
  /** Standard input, as context of the prompt. */
  readonly stdin?: string
  readonly builtInDir: string
  readonly strategies: readonly StrategyLoader[]
  /** Named agents that were collected already, for checks of many files; see `definitionsOfPrompt`. */
  readonly collected?: Map<string, Promise<Definitions>>
}
