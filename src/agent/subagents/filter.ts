import type { ToolFilter } from '../../event/permission.ts'
import type { AgentDefinition } from '../../event/agent.ts'
import { passesFilters } from '../../tool/tool-filter.ts'
import { factsOf, teamTools, toolNames } from '../../tool/toolbox/names.ts'

/** Tools that no sub-agent has: agents below it, and what is between its caller and a person. */
const ofCallersOnly: readonly string[] = ['task', 'enter_plan', 'exit_plan']

/** Tools that need nobody while they work, so that an agent may use them of which nobody is aware. */
const needNobody: readonly string[] = [
  'bash',
  'edit',
  'glob',
  'grep',
  'interpreter_run',
  'read',
  'todo',
  'webfetch',
  'write',
]

const ofServers = 'mcp__*'

interface Given {
  readonly isBackground: boolean
  /** What the caller lets it have at most; left out: what the others let through. */
  readonly allowedTools?: readonly string[] | undefined
  /** The caller is in plan mode. */
  readonly onlyReads?: boolean
  /** It may start agents of its team itself. */
  readonly leads?: boolean
}

/**
 * The filters that the tools of a sub-agent go through (R34): those of no sub-agent, what its definition denies, what that allows. Then
 * what works in the background, and what its caller says of this once. All of them hold, so what one denies is denied.
 */
export function toolLayers(
  { tools = ['*'], disallowedTools, allMcp }: Pick<AgentDefinition, 'tools' | 'disallowedTools' | 'allMcp'>,
  { isBackground, allowedTools, onlyReads = false, leads = false }: Given,
): readonly ToolFilter[] {
  const servers = allMcp ? [ofServers] : []
  return [
    { disallowed_tools: leads ? ofCallersOnly : [...ofCallersOnly, ...Object.keys(teamTools)] },
    { disallowed_tools: disallowedTools },
    { tools: [...tools, ...servers] },
    ...(isBackground ? [{ tools: [...needNobody, ...servers] }] : []),
    ...(allowedTools === undefined ? [] : [{ tools: allowedTools }]),
    ...(onlyReads ? [{ tools: readers }] : []),
  ]
}

const readers: readonly string[] = toolNames.filter((name) => factsOf(name).reads === true)

/** The tools that a sub-agent has of those of its caller, in their order. */
export function toolsThrough(names: readonly string[], layers: readonly ToolFilter[]): readonly string[] {
  return names.filter((name) => passesFilters(name, layers))
}
