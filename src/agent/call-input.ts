import { type Json, parseSentJson } from '../base/json.ts'
import type { ToolCallPart } from '../event/message.ts'

/** The arguments of a call, or its raw text if that is not JSON. */
export function inputOf({ input }: Pick<ToolCallPart, 'input'>): Json {
  try {
    return parseSentJson(input)
  } catch {
    return input
  }
}
