import type { ServersOfPack } from '../config/unused-servers.ts'
import { usableAgents } from '../team/task/tools.ts'
import { taskTool } from '../event/sub-agents.ts'
import type { Agents, ContextWith, RunScope, Servers } from '../event/context.ts'
import type { ToolFilter, ToolRule, Verdict } from '../event/permission.ts'
import { mayPass, mayMatch, matchesAll } from '../mcp/names.ts'
import { passesFilters, ruledTools, toolPattern } from '../tool/tool-filter.ts'
import { toolVerdict, verdictOnAny } from '../tool/tool-rules.ts'
import { isWriter, toolNames } from '../tool/toolbox/rows.ts'
import type { ToolPlan } from './plan.ts'

/**
 * The tools that settings name, including those of plugins and servers: the permission of each, or why a model does not
 * get it.
 */
export async function planTools(
  { tools = [], disallowed_tools }: ToolFilter,
  { names: servers }: Pick<ServersOfPack, 'names'>,
  context: ContextWith<'rights' | 'folders', Pick<Agents, 'definitions'> & Pick<Servers, 'broughtTools'>>,
): Promise<readonly ToolPlan[]> {
  const { scope, services } = context
  const { rights, folders } = scope
  const brought = (services.broughtTools ?? []).map(({ name }) => name)
  const verdictOf = (tool: string): Verdict =>
    toolVerdict(rights.rules, { kind: 'tool', tool, input: null }, folders.workspace)

  function reasonAgainst(name: string): string | null {
    if (!passesFilters(name, [{ disallowed_tools }])) return 'disallowed_tools'
    if (!passesFilters(name, rights.tools)) return 'the file that runs it does not have it'
    if (isWriter(name) && !rights.write) return 'write_mode is not set'
    const any = verdictOnAny(name, scope)
    return any.kind === 'deny' ? any.reason : null
  }

  const named = [...toolNames, ...brought].filter((name) => passesFilters(name, [{ tools }]))
  const agents = named.includes(taskTool) ? (await usableAgents(context)).map((agent) => agent.name) : []
  const own = named.map((name) => ({
    name,
    permission: verdictOf(name).kind,
    patterns: rights.rules.flat().filter((rule) => isAboutSome(rule, name)).length,
    not_offered: reasonAgainst(name),
    ...(name === taskTool ? { agents } : {}),
  }))
  return [...own, ...planServers({ tools, disallowed_tools }, { verdictOf, scope, servers })]
}

interface PlannedServers {
  readonly verdictOf: (tool: string) => Verdict
  readonly scope: Pick<RunScope, 'rights' | 'folders'>
  readonly servers: readonly string[]
}

/**
 * Tools of servers, which are not contacted: those with a literal name, else `server__*` for those that a pattern
 * matches.
 */
function planServers({ tools = [], disallowed_tools }: ToolFilter, { verdictOf, scope, servers }: PlannedServers) {
  const { rights } = scope
  const rules = rights.rules.flat().filter(({ origin }) => origin !== 'default')
  return servers.flatMap((server): readonly ToolPlan[] => {
    const meant = tools.filter((pattern) => mayMatch(pattern, server))
    const names = meant.every((one) => !one.includes('*')) ? meant.map(withoutPrefix) : [`${server}__*`]
    return names.map((name) => {
      const isWhole = name.includes('*')
      const passes = (filter: ToolFilter): boolean =>
        isWhole ? mayPass(filter, server) : passesFilters(name, [filter])
      const any = verdictOnAny(name, scope)
      const reason = !passes({ disallowed_tools })
        ? 'disallowed_tools'
        : !(rights.tools ?? []).every(passes)
          ? 'the file that runs it does not have it'
          : any.kind === 'deny'
            ? any.reason
            : null
      const about = rules.filter((rule) => isWhole && isAboutSomeOf(rule, server))
      return { name, permission: verdictOf(name).kind, patterns: about.length, not_offered: reason }
    })
  })
}

/** The name for models: `server__tool`. */
function withoutPrefix(name: string): string {
  return name.replace(/^mcp__(?=.*__)/, '')
}

/** Whether a rule matches some tools of a server, but not all of them. */
function isAboutSomeOf(rule: ToolRule, server: string): boolean {
  const { tool } = ruledTools(rule)
  return mayMatch(tool, server) && !matchesAll(tool, server)
}

/** Whether a rule decides about some calls of a tool. */
function isAboutSome({ tool, pattern, origin }: ToolRule, name: string): boolean {
  return pattern !== undefined && origin !== 'default' && toolPattern(tool)(name)
}
