import { passesFilters } from '../tool/tool-filter.ts'

/**
 * The tools that two lists of names and patterns both mean: the names and patterns of each that the other one lets through
 * whole. Patterns that overlap in part are left out, so that it is never more than either list says.
 */
export function toolsInBoth(left: readonly string[], right: readonly string[]): readonly string[] {
  return [...new Set([...left.filter((name) => lets(name, right)), ...right.filter((name) => lets(name, left))])]
}

function lets(name: string, tools: readonly string[]): boolean {
  return passesFilters(name, [{ tools }])
}
