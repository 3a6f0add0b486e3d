import type { RunContext } from '../event/context.ts'
import type { ToolFilter, ToolRule, Verdict } from '../event/permission.ts'
import { passesFilters, toolPattern } from '../tool/tool-filter.ts'
import { toolVerdict, verdictOnAny } from '../tool/tool-rules.ts'
import { isWriter, toolNames } from '../tool/toolbox/names.ts'
import type { ToolPlan } from './plan.ts'

/** The tools that settings name, with those of plug-ins: what calls of each need, or why a model is not given it. */
export function planTools(
  { tools = [], disallowed_tools }: ToolFilter,
  { scope, services }: RunContext,
): readonly ToolPlan[] {
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

  return [...toolNames, ...brought]
    .filter((name) => passesFilters(name, [{ tools }]))
    .map((name) => ({
      name,
      permission: verdictOf(name).kind,
      patterns: rights.rules.flat().filter((rule) => isAboutSome(rule, name)).length,
      not_offered: reasonAgainst(name),
    }))
}

/** Whether a rule decides about some of the calls of a tool. */
function isAboutSome({ tool, pattern, origin }: ToolRule, name: string): boolean {
  return pattern !== undefined && origin !== 'default' && toolPattern(tool)(name)
}
