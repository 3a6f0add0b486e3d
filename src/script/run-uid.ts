import { sha256 } from '../base/hash.ts'
import type { RunContext } from '../event/context.ts'
import { placeText } from '../event/effects.ts'

/**
 * A unique name for the agent run or task at this place of the run. It is the same whenever it is asked for, so that a
 * resumed run calls things as it did before. Written as a UUID of version 8, whose content is up to its maker.
 */
export function runUid({ runId, at }: Pick<RunContext, 'runId' | 'at'>): string {
  const hash = sha256(`${runId} ${placeText(at)}`)
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `a${hash.slice(17, 20)}`]
  return [...parts, hash.slice(20, 32)].join('-')
}
