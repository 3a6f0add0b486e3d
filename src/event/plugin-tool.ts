import type { Json, JsonObject } from '../base/json.ts'

/** A tool provided by a plug-in. Calls need approval unless `[permission]` says otherwise. */
export interface PluginTool {
  readonly name: string
  readonly description: string
  /** JSON Schema of type object; `run` is only called with matching input. */
  readonly parameters: JsonObject
  /** It changes nothing, so a call interrupted by a crash is repeated. For other tools the user decides. */
  readonly readOnly?: boolean
  /** Returns the result for the model. A thrown error also becomes a result, as an error. */
  run(input: JsonObject, call: PluginCall): string | Promise<string>
}

interface PluginCall {
  /** Absolute. */
  readonly workspace: string
  readonly signal: AbortSignal
}

/** A function that a plug-in adds to programs written by models. Its result is recorded. */
export interface PluginFunction {
  readonly name: string
  /** For the model. */
  readonly description: string
  /** A thrown error is passed to the program. */
  run(...args: readonly Json[]): Json | undefined | Promise<Json | undefined>
}
