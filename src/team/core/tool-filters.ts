import type { ToolFilter } from '../../event/permission.ts'
import type { AgentDefinition } from '../../event/agent.ts'
import { passesFilters } from '../../tool/tool-filter.ts'
import { isHarmless, teamToolNames, toolNames } from '../../tool/toolbox/rows.ts'

/** Tools that no sub-agent gets: to start agents, and to talk to the user in the name of its caller. */
const ofCallersOnly: readonly string[] = ['task', 'enter_plan', 'exit_plan']

/** Tools that never need the user, so that background agents may use them. */
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

interface SubAgentLimits {
  readonly isBackground: boolean
  /** The tools that the caller allows at most. Default: no limit of its own. */
  readonly allowedTools?: readonly string[] | undefined
  /** The caller is in plan mode. */
  readonly onlyReads?: boolean
  /** It may start agents of its team itself. */
  readonly leads?: boolean
}

/**
 * The filters for the tools of a sub-agent: tools that no sub-agent gets, those its definition denies, those its
 * definition allows, then limits for background agents and for this one call. A tool must pass all of them.
 */
export function toolLayers(
  { tools = ['*'], disallowedTools, allMcp }: Pick<AgentDefinition, 'tools' | 'disallowedTools' | 'allMcp'>,
  { isBackground, allowedTools, onlyReads = false, leads = false }: SubAgentLimits,
): readonly ToolFilter[] {
  const servers = allMcp ? [ofServers] : []
  return [
    { disallowed_tools: leads ? ofCallersOnly : [...ofCallersOnly, ...teamToolNames.collab] },
    { disallowed_tools: disallowedTools },
    { tools: [...tools, ...servers] },
    ...(isBackground ? [{ tools: [...needNobody, ...servers] }] : []),
    ...(allowedTools === undefined ? [] : [{ tools: allowedTools }]),
    ...(onlyReads ? [{ tools: readers }] : []),
  ]
}

const readers: readonly string[] = toolNames.filter(isHarmless)

/** The caller's tools that pass the filters, in the caller's order. */
export function toolsThrough(names: readonly string[], layers: readonly ToolFilter[]): readonly string[] {
  return names.filter((name) => passesFilters(name, layers))
}
