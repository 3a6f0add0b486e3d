import { atMost, unlessAborted } from '../../base/concurrency.ts'
import type { AgentStatus, Collab } from '../../event/collab.ts'

/** An agent as `close_agent` has found it, and the id of its last end then, which a record of an older version lacks. */
export interface ClosedAt {
  readonly status: AgentStatus
  readonly end?: string
}

/** Much more than work takes whose calls a record answers; a record that somebody has changed makes nobody wait for good. */
const longestReplayMs = 60_000

/**
 * Until an agent that is not closed has the end that a record says it had: the leader goes through its own record without waiting.
 * Pieces may end with the same text, so the end is known by its id.
 */
export async function untilEnded(
  id: string,
  { status, end }: ClosedAt,
  { team, signal }: Pick<Collab, 'team' | 'signal'>,
): Promise<void> {
  const isThere = (): boolean => {
    const now = team.statusOf(id)
    if (typeof status === 'string' || now === 'shutdown') return true
    return typeof now === 'object' && (end === undefined || team.endOf(id) === end)
  }
  if (isThere()) return
  let unwatch = (): void => {}
  const reached = new Promise<void>((resolve) => {
    unwatch = team.watch(() => void (isThere() && resolve()))
  })
  try {
    await unlessAborted(atMost(longestReplayMs, reached), signal)
  } finally {
    unwatch()
  }
}
