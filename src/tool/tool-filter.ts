import type { ToolFilter } from '../event/permission.ts'
import { namePattern } from './capabilities.ts'
import { comesWith } from './toolbox/names.ts'

/**
 * Whether a tool may be offered to a model: all filters let it through. A tool that one disallows is not allowed (R28). One
 * that comes with another passes where that one is named, and not where that one is disallowed.
 */
export function passesFilters(name: string, filters: readonly ToolFilter[] = []): boolean {
  const leader = comesWith(name)
  const names = leader === undefined ? [name] : [name, leader]
  return filters.every(
    ({ tools, disallowed_tools: disallowed = [] }) =>
      (tools === undefined || names.some((one) => isToolNamed(one, tools))) &&
      !names.some((one) => isToolNamed(one, disallowed)),
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
