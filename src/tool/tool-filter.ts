import type { ToolFilter, ToolRule } from '../event/permission.ts'
import { namePattern } from './capabilities.ts'
import { comesWith, isTeamTool } from './toolbox/names.ts'

/**
 * Whether a tool may be offered to a model: all filters let it through. A tool that one disallows is not allowed (R28). One
 * that comes with another passes where that one is named, and not where that one is disallowed. Tools of a team need not be named.
 */
export function passesFilters(name: string, filters: readonly ToolFilter[] = []): boolean {
  const leader = comesWith(name)
  const names = leader === undefined ? [name] : [name, leader]
  const needsNoName = isTeamTool(name)
  return filters.every(
    ({ tools, disallowed_tools: disallowed = [] }) =>
      (tools === undefined || needsNoName || names.some((one) => isToolNamed(one, tools))) &&
      !names.some((one) => isToolNamed(one, disallowed)),
  )
}

/** Whether one of the names or patterns means a tool. */
function isToolNamed(name: string, patterns: readonly string[]): boolean {
  return patterns.map(toolPattern).some((test) => test(name))
}

/** Whether it is the name of a tool of a server: `server__tool` (R308). No other has `__` in its name. */
export function isServerTool(name: string): boolean {
  return name.includes('__')
}

/**
 * Whether a name or pattern means a tool, by the name it has for models. That of a server may be written as
 * `mcp__server__tool`, and `mcp__*` is every one of a server.
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

/** What `[permission]` calls the tools of servers; patterns of it are about their names: `mcp."github__*"`. */
export const serverTools = 'mcp'

/** The tools that a rule is about, and which of their calls: `mcp."github__*"` is `mcp__github__*`, and all of its calls. */
export function ruledTools({ tool, pattern }: Pick<ToolRule, 'tool' | 'pattern'>): Pick<ToolRule, 'tool' | 'pattern'> {
  if (tool !== serverTools) return { tool, ...(pattern === undefined ? {} : { pattern }) }
  return { tool: pattern?.startsWith('mcp__') === true ? pattern : `mcp__${pattern ?? '*'}` }
}
