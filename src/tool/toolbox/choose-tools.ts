import type { RunScope } from '../../event/context.ts'
import type { Rights, ToolFilter } from '../../event/permission.ts'
import { passesFilters } from '../tool-filter.ts'
import { verdictOnAny } from '../tool-rules.ts'
import { comesWith, rowOf, toolNames, type ToolName } from './rows.ts'

/** Determines which tools are available. */
export interface ToolScope {
  readonly rights: Pick<Rights, 'write' | 'rules' | 'tools' | 'sandbox'>
  readonly folders: Pick<RunScope['folders'], 'workspace'>
}

/**
 * The tools that a model or a program gets: those that are named, not disallowed, and within the rights of the agent.
 */
export function chosenTools(
  { tools = [], disallowed_tools }: ToolFilter,
  { scope }: { readonly scope: ToolScope },
): readonly ToolName[] {
  const { rights } = scope
  const isDenied = (tool: ToolName): boolean => verdictOnAny(tool, scope).kind === 'deny'
  const isUsable = (name: ToolName): boolean => !isDenied(name) && !isDenied(comesWith(name) ?? name)
  return toolNames.filter(
    (name) =>
      passesFilters(name, [{ tools, disallowed_tools }, ...(rights.tools ?? [])]) &&
      (rights.write || !isForWriting(name)) &&
      isUsable(name),
  )
}

function isForWriting(name: ToolName): boolean {
  const { touches, plans } = rowOf(name)
  return touches === 'writes' || plans === true
}
