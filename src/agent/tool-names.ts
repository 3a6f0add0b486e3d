import type { DataPath } from '../base/data-text.ts'
import { BatonError } from '../base/error.ts'
import { type Finding, meantHint, wrongValue } from '../config/issue.ts'
import type { ToolFilter } from '../event/permission.ts'
import { passesFilters } from '../tool/tool-filter.ts'
import { factsOf, laterTools, toolNames } from '../tool/toolbox/names.ts'

/**
 * What is wrong with a list of tools at `path`: names that no tool has, and tools that this version does not have. Patterns, and
 * names of tools of servers (`server__tool`), are not known before they are used. `brought`: by plug-ins.
 */
export function unknownTools(
  names: readonly string[],
  path: DataPath,
  brought: readonly string[] = [],
): readonly Finding[] {
  return names.flatMap((name, index): readonly Finding[] => {
    if (isKnown(name) || brought.includes(name)) return []
    const at = [...path, index]
    if (laterTools.includes(name)) {
      const said = { message: `the tool "${name}" is not available in this version`, hint: 'Remove it.' }
      return [{ ...wrongValue(at, said), code: 'NOT_AVAILABLE' }]
    }
    const all = [...toolNames, ...brought]
    const known = `Known tools: ${all.join(', ')}.`
    return [wrongValue(at, { message: `unknown tool "${name}"`, hint: meantHint(name, all, known) })]
  })
}

/** The same for tools that may not be used: one that is not there yet may be named. */
export function unknownDisallowed(
  names: readonly string[],
  path: DataPath,
  brought: readonly string[] = [],
): readonly Finding[] {
  return unknownTools(names, path, brought).filter(({ code }) => code !== 'NOT_AVAILABLE')
}

function isKnown(name: string): boolean {
  return name.includes('*') || name.includes('__') || (toolNames as readonly string[]).includes(name)
}

/** @throws BatonError CONFIG_INVALID, NOT_AVAILABLE for the first that is unknown; `of` says whose options they are */
export function refuseUnknownTools(names: readonly string[], of: string, brought: readonly string[] = []): void {
  const [finding] = unknownTools(names, [], brought)
  if (finding === undefined) return
  throw new BatonError(finding.code, `options of ${of}: ${finding.message}`, { hint: finding.hint })
}

interface ToolSettings extends ToolFilter {
  /** Whether tools that change files may be offered. */
  readonly writes: boolean
  /** Tools of plug-ins: what these change is their affair. */
  readonly brought?: readonly string[]
}

/** Whether a model may be given tools, as far as the settings alone say. */
export function mayGiveTools({ tools = [], disallowed_tools, writes, brought = [] }: ToolSettings): boolean {
  const filters = [{ tools, disallowed_tools }]
  const offered = toolNames.filter((name) => writes || factsOf(name).writes !== true)
  return [...offered, ...brought].some((name) => passesFilters(name, filters))
}
