import { unifiedDiff } from '../../base/unified-diff.ts'
import { readFileChanges } from './answer-changes.ts'
import { nearestPlaces } from './nearest.ts'
import { parseChanges } from './parse.ts'
import { planChange } from './plan-content.ts'
import { applySearchReplace } from './search-replace.ts'

/** The functions that depend only on the texts of answers and files. */
const textWork = { readFileChanges, parseChanges, planChange, nearestPlaces, unifiedDiff, applySearchReplace }

export type TextWork = typeof textWork
export type WorkName = keyof TextWork

/** Runs one of them. */
export function doTextWork<Name extends WorkName>(
  name: Name,
  ...args: Parameters<TextWork[Name]>
): ReturnType<TextWork[Name]> {
  const work = textWork[name] as unknown as (...values: typeof args) => ReturnType<TextWork[Name]>
  return work(...args)
}
