import { passesFilters } from '../tool/tool-filter.ts'

/**
 * The tools in both of two lists of names and patterns: the names and patterns of each list that the other one covers
 * completely. Patterns that overlap only partly are omitted, so the result never exceeds either list.
 */
export function intersectTools(left: readonly string[], right: readonly string[]): readonly string[] {
  return [...new Set([...left.filter((name) => lets(name, right)), ...right.filter((name) => lets(name, left))])]
}

function lets(name: string, tools: readonly string[]): boolean {
  return passesFilters(name, [{ tools }])
}
