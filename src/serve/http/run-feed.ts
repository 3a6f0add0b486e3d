import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readRunSummary } from '../../history/run-list.ts'
import { createWaits } from '../../history/run-totals.ts'
import { createRowTable, type RowTable } from '../../history/rows.ts'
import { followJournal, type Position } from '../../journal/follow.ts'
import { readRunState } from '../../journal/run-state.ts'
import type { JournalRecord } from '../../journal/record.ts'
import { noMask } from '../../journal/secrets.ts'
import { openFileRecords } from '../../journal/source.ts'
import { isActive, type ShownSummary } from '../../journal/summary.ts'
import type { ActiveRuns } from './active-runs.ts'
import { asShown } from './shown-run.ts'

/** Follows a run, whichever process it runs in. */
export interface RunFeed extends Pick<RowTable, 'changedAfter' | 'latest' | 'left' | 'callIn'> {
  /** Reads new records. @throws BatonError JOURNAL_FAILED for a run of a newer version */
  readonly refresh: () => Promise<void>
  /** The position up to which the records were read. */
  readonly position: () => Position
  /** Undefined before the first read. A new object when the run starts or ends. */
  readonly run: () => ShownSummary | undefined
  /** No process works on the run any more, and all records were read. */
  readonly isOver: () => boolean
  /** Keeps reading and calls the listener on changes, until the returned function is called. */
  readonly listen: (listener: () => void) => () => void
}

/** The runs that clients follow. Each is read once, however many clients follow it. */
export interface RunFeeds {
  /** The feed of the run in a folder. */
  readonly of: (folder: string) => RunFeed
}

/** Milliseconds between reads of a run that clients follow. */
const pollMs = 200
/** How long a feed is kept without listeners: a client that reads the rows usually follows the run next. */
const idleMs = 5_000
/** Every how many reads to check whether its process is alive. */
const readsPerAsking = 5

export function createRunFeeds(held: Pick<ActiveRuns, 'isHeld' | 'isQueued'>): RunFeeds {
  const feeds = new Map<string, RunFeed>()
  return {
    of(folder) {
      const known = feeds.get(folder)
      if (known !== undefined) return known
      const feed = createRunFeed(folder, { ...held, onIdle: () => void feeds.delete(folder) })
      feeds.set(folder, feed)
      return feed
    },
  }
}

interface FeedOptions extends Pick<ActiveRuns, 'isHeld' | 'isQueued'> {
  /** Called when the feed has not been used for a while. */
  readonly onIdle: () => void
}

/** An active run in the state that it is in when it waits for so many answers; the same object if that is so. */
function waitingOrNot(run: ShownSummary, count: number): ShownSummary {
  const { waits = 0, ...rest } = run
  if (!isActive(run.status) || run.status === 'queued' || waits === count) return run
  return count === 0 ? { ...rest, status: 'running' } : { ...rest, status: 'waiting', waits: count }
}

function createRunFeed(folder: string, { isHeld, isQueued, onIdle }: FeedOptions): RunFeed {
  const id = basename(folder)
  const reader = followJournal(folder)
  const table = createRowTable(openFileRecords(folder, { mask: noMask }))
  const listeners = new Set<() => void>()
  let run: ShownSummary | undefined
  let wasQueued = false
  const waits = createWaits()
  /** The end was recorded; its process may still be finishing. */
  let hasEnded = false
  let isOver = false
  let reads = 0
  let reading: Promise<void> | undefined
  let isFollowed = false
  let timer: NodeJS.Timeout | undefined

  async function read(): Promise<void> {
    const before = reader.position()
    let isTurn = false
    const add = (record: JournalRecord, position: Position): void => {
      if (record.k === 'seg' || record.k === 'run.end') {
        isTurn = true
        hasEnded = record.k === 'run.end'
      }
      table.add(record, position)
      waits.add(record)
    }
    await reader.read(add)
    const isWaiting = isQueued(id)
    if (isWaiting !== wasQueued) isTurn = true
    wasQueued = isWaiting
    if (run === undefined || isTurn || hasEnded || isOver || reads % readsPerAsking === 0) {
      const isRunning = isHeld(id) || (await readRunState(folder))?.isRunning === true
      // records written just before the process ended
      if (!isRunning) await reader.read(add)
      if (run === undefined || isTurn || isRunning === isOver) {
        const summary = await readRunSummary(folder)
        run = summary && asShown(summary, { isQueued })
      }
      isOver = !isRunning
    }
    run = run && waitingOrNot(run, waits.count())
    reads += 1
    if (isOver || reader.position() !== before) for (const listener of listeners) listener()
  }

  async function follow(): Promise<void> {
    if (isFollowed) return
    isFollowed = true
    while (listeners.size > 0 && !isOver) {
      try {
        await refresh()
      } catch {
        // the error is reported to the next caller of `refresh`
        isOver = true
        for (const listener of listeners) listener()
      }
      await sleep(pollMs, undefined, { ref: false })
    }
    isFollowed = false
  }

  function refresh(): Promise<void> {
    reading ??= read().finally(() => {
      reading = undefined
      forgetLater()
    })
    return reading
  }

  function forgetLater(): void {
    clearTimeout(timer)
    timer = setTimeout(() => {
      if (listeners.size === 0 && reading === undefined) onIdle()
    }, idleMs).unref()
  }

  return {
    ...table,
    refresh,
    position: reader.position,
    run: () => run,
    isOver: () => isOver,
    listen(listener) {
      listeners.add(listener)
      void follow()
      return () => {
        listeners.delete(listener)
        forgetLater()
      }
    },
  }
}
