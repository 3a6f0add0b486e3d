import { createContext } from 'preact'
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
import { fetchInbox } from './api.ts'
import { announce } from './notifications.ts'
import type { InboxItem, SentInbox } from './wire.ts'

/** What waits for the person, in all runs. */
export interface LiveInbox {
  /** Undefined until it was read. */
  readonly workspace: SentInbox['workspace'] | undefined
  readonly items: readonly InboxItem[]
  /** Number of answers that are needed. */
  readonly count: number
  /** Reads it again after an answer. */
  readonly reload: () => void
}

const empty: LiveInbox = { workspace: undefined, items: [], count: 0, reload: () => {} }

export const InboxContext = createContext<LiveInbox>(empty)

export function useInbox(): LiveInbox {
  return useContext(InboxContext)
}

/** Milliseconds between reads. Not a stream: a browser has few connections for all its tabs. */
const pollMs = 3_000

/** Reads the inbox again and again, and announces runs that begin to wait. */
export function usePolledInbox(isSignedIn: boolean): LiveInbox {
  const [sent, setSent] = useState<SentInbox>()
  const known = useRef<ReadonlyMap<string, number>>(undefined)
  const load = useCallback(async (): Promise<void> => {
    const now = await fetchInbox()
    setSent((before) => (JSON.stringify(before) === JSON.stringify(now) ? before : now))
    const before = known.current
    // what waited before the page was opened is no news
    if (before !== undefined) {
      for (const item of now.items) if (countOf(item) > (before.get(item.run.id) ?? 0)) announce(item)
    }
    known.current = new Map(now.items.map((item) => [item.run.id, countOf(item)]))
  }, [])
  useEffect(() => {
    if (!isSignedIn) return undefined
    const read = (): void => void load().catch(() => undefined)
    read()
    const timer = setInterval(read, pollMs)
    return () => clearInterval(timer)
  }, [isSignedIn, load])
  const items = sent?.items ?? []
  const count = items.reduce((sum, item) => sum + countOf(item), 0)
  return { workspace: sent?.workspace, items, count, reload: () => void load().catch(() => undefined) }
}

/** How many answers a run needs. */
export function countOf({ approvals, questions, uncertain }: InboxItem): number {
  return approvals + questions + uncertain
}
