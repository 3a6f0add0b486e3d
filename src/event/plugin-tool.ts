import type { Json, JsonObject } from '../base/json.ts'

/** A tool that a plug-in brings. A person is asked before it is called, as long as `[permission]` does not say otherwise. */
export interface PluginTool {
  readonly name: string
  readonly description: string
  /** JSON Schema of type object; `run` is only given what fits it. */
  readonly parameters: JsonObject
  /** It changes nothing: a call that a crash has cut off is made again. Of others a person decides. */
  readonly readOnly?: boolean
  /** What the model is told. What it throws is told as well, as an error. */
  run(input: JsonObject, call: PluginCall): string | Promise<string>
}

interface PluginCall {
  /** Absolute. */
  readonly workspace: string
  readonly signal: AbortSignal
}

/** A function that a plug-in adds to the programs that models write. What it gives is recorded. */
export interface PluginFunction {
  readonly name: string
  /** For the model. */
  readonly description: string
  /** What it throws the program is told. */
  run(...args: readonly Json[]): Json | undefined | Promise<Json | undefined>
}
