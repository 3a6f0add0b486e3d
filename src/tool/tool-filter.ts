import type { ToolFilter } from '../event/permission.ts'
import { namePattern } from './capabilities.ts'

/** Whether a tool may be offered to a model: all filters let it through. A tool that one disallows is not allowed (R28). */
export function passesFilters(name: string, filters: readonly ToolFilter[] = []): boolean {
  return filters.every(
    ({ tools, disallowed_tools: disallowed = [] }) =>
      (tools === undefined || isToolNamed(name, tools)) && !isToolNamed(name, disallowed),
  )
}

/** Whether one of the names or patterns means a tool. That of a server may be written as `mcp__server__tool`. */
function isToolNamed(name: string, patterns: readonly string[]): boolean {
  return patterns.map(toolPattern).some((test) => test(name))
}

/** Whether a name or pattern means a tool, by the name it has for models. */
export function toolPattern(pattern: string): (name: string) => boolean {
  const plain = pattern.replace(/^mcp__/, '')
  if (!plain.includes('*')) return (name) => name === plain
  const test = namePattern(plain)
  return (name) => test.test(name)
}
