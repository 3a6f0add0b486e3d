import { isJsonObject, type Json } from '../base/json.ts'
import type { ScriptResult } from '../event/agent.ts'

/**
 * Why a script that got one input failed, where its options let the others of a list continue: then no error was thrown.
 * Undefined when it did not fail, or its After All returned a value all the same.
 */
export function failedInput(result: ScriptResult): string | undefined {
  if (result.end !== 'done' || result.failedInputs === 0 || result.afterAll !== undefined) return undefined
  const [output] = result.outputs
  const message = isJsonObject(output) ? output['error'] : undefined
  return typeof message === 'string' ? message : 'its input failed'
}

/** What a script agent gave: the value of After All, else its first output; null when it gave nothing. */
export function valueOfScript(result: ScriptResult): Json {
  if (result.end === 'skipped') return null
  const first = result.outputs[0] ?? null
  return result.end === 'done' ? (result.afterAll ?? first) : first
}
