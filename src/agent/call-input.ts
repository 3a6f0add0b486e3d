import type { Json } from '../base/json.ts'
import type { ToolCallPart } from '../event/message.ts'

/** The arguments of a call; the text itself where it is no JSON. */
export function inputOf({ input }: Pick<ToolCallPart, 'input'>): Json {
  try {
    return JSON.parse(input) as Json
  } catch {
    return input
  }
}
