import type { JsonObject } from '../../base/json.ts'
import type { Block, Turn } from './anthropic-messages.ts'

/** More marks in one request are refused. */
const mostMarks = 4

/**
 * The blocks as they are sent, those with a cache mark as such. When there are too many, the last ones stay, because a
 * mark covers everything before it; one of the system text is among them, because it serves other conversations too.
 */
export function markCached({ system, turns }: { readonly system: readonly Block[]; readonly turns: readonly Turn[] }): {
  readonly system: readonly JsonObject[]
  readonly messages: readonly JsonObject[]
} {
  const inSystem = system.filter(isMarked)
  const inTurns = turns.flatMap(({ blocks }) => blocks.filter(isMarked))
  const ofTurns = lastOf(inTurns, mostMarks - Math.min(inSystem.length, 1))
  const kept = new Set([...ofTurns, ...lastOf(inSystem, mostMarks - ofTurns.length)])

  function sent(block: Block): JsonObject {
    return kept.has(block) ? { ...block.content, cache_control: { type: 'ephemeral' } } : block.content
  }

  return {
    system: system.map(sent),
    messages: turns.map(({ role, blocks }) => ({ role, content: blocks.map(sent) })),
  }
}

function isMarked({ cache }: Block): boolean {
  return cache
}

function lastOf<T>(list: readonly T[], count: number): readonly T[] {
  return list.slice(Math.max(0, list.length - count))
}
