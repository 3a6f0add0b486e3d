import type { ToolFilter, ToolRule } from '../event/permission.ts'
import { namePattern } from './capabilities.ts'
import { comesWith, isSearchTool, isTeamTool } from './toolbox/rows.ts'

/**
 * Whether a tool may be offered to a model: every filter must let it through. A tool that one filter disallows is not
 * allowed. A tool that comes with another one passes if that one is named, and not if that one is disallowed.
 * Tools of teams, and those that search for others, need not be named.
 */
export function passesFilters(name: string, filters: readonly ToolFilter[] = []): boolean {
  const leader = comesWith(name)
  const names = leader === undefined ? [name] : [name, leader]
  const needsNoName = isTeamTool(name) || isSearchTool(name)
  return filters.every(
    ({ tools, disallowed_tools: disallowed = [] }) =>
      (tools === undefined || needsNoName || names.some((one) => isToolNamed(one, tools))) &&
      !names.some((one) => isToolNamed(one, disallowed)),
  )
}

/** Whether one of the names or patterns matches a tool. */
function isToolNamed(name: string, patterns: readonly string[]): boolean {
  return patterns.map(toolPattern).some((test) => test(name))
}

/** Whether it is the name of a server's tool: `server__tool`. No other name contains `__`. */
export function isServerTool(name: string): boolean {
  return name.includes('__')
}

/**
 * Whether a name or pattern matches a tool, by its name for models. A server's tool may also be written as
 * `mcp__server__tool`; `mcp__*` matches every tool of every server.
 */
export function toolPattern(pattern: string): (name: string) => boolean {
  const isNamed = plainPattern(pattern)
  if (!pattern.startsWith('mcp__')) return isNamed
  const isOfServer = plainPattern(pattern.slice('mcp__'.length))
  // a server may be named mcp
  return (name) => isServerTool(name) && (isNamed(name) || isOfServer(name))
}

function plainPattern(pattern: string): (name: string) => boolean {
  if (!pattern.includes('*')) return (name) => name === pattern
  const test = namePattern(pattern)
  return (name) => test.test(name)
}

/** The name of the servers' tools in `[permission]`, where patterns match their names: `mcp."github__*"`. */
export const serverTools = 'mcp'

/**
 * The tools a rule is about, and the pattern for their calls: `mcp."github__*"` becomes `mcp__github__*` for all its
 * calls.
 */
export function ruledTools({ tool, pattern }: Pick<ToolRule, 'tool' | 'pattern'>): Pick<ToolRule, 'tool' | 'pattern'> {
  if (tool !== serverTools) return { tool, ...(pattern === undefined ? {} : { pattern }) }
  return { tool: pattern?.startsWith('mcp__') === true ? pattern : `mcp__${pattern ?? '*'}` }
}
