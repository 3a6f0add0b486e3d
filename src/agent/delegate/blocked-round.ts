import type { WorkItems } from './items.ts'

/**
 * The ids of a cycle of items, each blocked by the next and the last by the first, so that none can ever start.
 * Undefined if there is no cycle.
 */
export function blockedRound(items: WorkItems): readonly string[] | undefined {
  const waiting = new Map(items.flatMap(({ id, status, blocked_by: on }) => (status === 'completed' ? [] : [[id, on]])))
  for (let before = -1; before !== waiting.size;) {
    before = waiting.size
    for (const [id, on] of waiting) if (!on.some((other) => waiting.has(other))) waiting.delete(id)
  }
  const path: string[] = []
  let [at] = waiting.keys()
  while (at !== undefined && !path.includes(at)) {
    path.push(at)
    at = waiting.get(at)?.find((other) => waiting.has(other))
  }
  return at === undefined ? undefined : path.slice(path.indexOf(at))
}
