import { type Json, parseSentJson } from '../../../base/json.ts'
import { toolNames } from '../../../tool/toolbox/rows.ts'

/** Whether the tool's result is always text, even if it looks like JSON. */
export function isTextTool(name: string): boolean {
  return (toolNames as readonly string[]).includes(name)
}

/**
 * The result of a tool for a program: text from built-in tools, else the parsed value if the text is a JSON object or
 * list.
 */
export function resultOf(name: string, text: string): Json {
  if (isTextTool(name) || !/^\s*[[{]/.test(text)) return text
  try {
    return parseSentJson(text)
  } catch {
    return text
  }
}
