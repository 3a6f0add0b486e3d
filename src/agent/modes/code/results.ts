import type { Json } from '../../../base/json.ts'
import { toolNames } from '../../../tool/toolbox/names.ts'

/** Whether what the tool gives is a text, whatever that looks like. */
export function isTextTool(name: string): boolean {
  return (toolNames as readonly string[]).includes(name)
}

/** What a program gets of a tool: built-in ones give texts, others the object or list that their text is the JSON of. */
export function resultOf(name: string, text: string): Json {
  if (isTextTool(name) || !/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
