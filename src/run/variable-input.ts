import type { JsonObject } from '../base/json.ts'
import type { PromptTarget } from './prompt-target.ts'

/** What agents get of the `[input]` variables of the file that names them: `vars`, where it has any (DESIGN 4). */
export function variableInput({ vars }: Pick<PromptTarget, 'vars'>): JsonObject {
  return vars === undefined ? {} : { vars }
}
