import { isJsonObject } from '../base/json.ts'
import type { AgentResult } from '../event/agent.ts'

/**
 * Why a script that got one input gave nothing, where its options let the others of a list go on: then nobody else is
 * told. Undefined when it did not fail, or its After All said what to make of it.
 */
export function failedInput({ failedInputs, afterAll, outputs: [output] }: AgentResult): string | undefined {
  if (failedInputs === 0 || afterAll !== undefined) return undefined
  const message = isJsonObject(output) ? output['error'] : undefined
  return typeof message === 'string' ? message : 'its input failed'
}
