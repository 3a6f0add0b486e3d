import { isJsonObject, type Json } from '../base/json.ts'
import type { ScriptResult } from '../event/agent.ts'

/**
 * Why a script with a single input failed, if its options let the other inputs of a list continue: then no error was
 * thrown. Undefined if it did not fail, or if its After All returned a value anyway.
 */
export function failedInput(result: ScriptResult): string | undefined {
  if (result.end !== 'done' || result.failedInputs === 0 || result.afterAll !== undefined) return undefined
  const [output] = result.outputs
  const message = isJsonObject(output) ? output['error'] : undefined
  return typeof message === 'string' ? message : 'its input failed'
}

/** The result of a script agent: the value of After All, else its first output; null if there is neither. */
export function valueOfScript(result: ScriptResult): Json {
  if (result.end === 'skipped') return null
  const first = result.outputs[0] ?? null
  return result.end === 'done' ? (result.afterAll ?? first) : first
}
