import { LuaError } from '../engine.ts'
import type { HostCall } from './call.ts'

/**
 * The fraction (1/4) of a script's memory that printed and pinned text may take: it is held until the section ends, and
 * recorded as a whole.
 */
const part = 4
/** Overhead per line in bytes, besides its text. */
const overhead = 100

/**
 * Counts what a script prints, pins or labels.
 * @throws LuaError, which ends the section, when it is more than a quarter of `lua.memory_mb`
 */
export function countShown({ section: { computing } }: HostCall, text: string): void {
  if (computing === undefined) return
  computing.shownBytes += text.length + overhead
  if (computing.shownBytes <= computing.limits.memoryBytes / part) return
  const most = Math.floor(computing.limits.memoryBytes / part)
  throw new LuaError(`the script has printed and pinned more than ${most} bytes`, { limit: 'memory' })
}
