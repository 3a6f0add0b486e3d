import { atMost, unlessAborted } from '../../base/concurrency.ts'
import type { AgentStatus, Collab } from '../../event/collab.ts'

/**
 * The status of an agent when `close_agent` was called, and the id of its latest end; records of older versions lack
 * the id.
 */
export interface ClosedAt {
  readonly status: AgentStatus
  readonly end?: string
}

/** Far more than a replay takes; it keeps an edited record from blocking the run forever. */
const longestReplayMs = 60_000

/**
 * Waits until an open agent has reached the end that the record says it had: the leader replays its own record without
 * waiting. Pieces may end with the same text, so the end is identified by its id.
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
