import { unifiedDiff } from '../../base/unified-diff.ts'
import { readFileChanges } from './answer-changes.ts'
import { nearestPlaces } from './nearest.ts'
import { parseChanges } from './parse.ts'
import { planChange } from './plan-content.ts'
import { applySearchReplace } from './search-replace.ts'

/** All that is worked out of the texts of answers and files, and of nothing else. */
const textWork = { readFileChanges, parseChanges, planChange, nearestPlaces, unifiedDiff, applySearchReplace }

export type TextWork = typeof textWork
export type WorkName = keyof TextWork

/** Does one piece of it. */
export function doTextWork<Name extends WorkName>(
  name: Name,
  ...args: Parameters<TextWork[Name]>
): ReturnType<TextWork[Name]> {
  const work = textWork[name] as unknown as (...values: typeof args) => ReturnType<TextWork[Name]>
  return work(...args)
}
