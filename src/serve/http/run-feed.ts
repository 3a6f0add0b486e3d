import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readRunSummary } from '../../history/run-list.ts'
import { createRowTable, type RowTable } from '../../history/rows.ts'
import { followJournal, type Position } from '../../journal/follow.ts'
import { glance } from '../../journal/glance.ts'
import { summaryIn } from '../../journal/index-file.ts'
import type { JournalRecord } from '../../journal/record.ts'
import { noMask } from '../../journal/secrets.ts'
import { openFileRecords } from '../../journal/source.ts'
import type { RunSummary } from '../../journal/summary.ts'

/** One run as it goes on, whichever process works on it. */
export interface RunFeed extends Pick<RowTable, 'changedAfter' | 'latest' | 'left' | 'callIn'> {
  /** Reads what was recorded since the last time. @throws BatonError JOURNAL_FAILED for a run of a newer version */
  readonly refresh: () => Promise<void>
  /** How often it was read. */
  readonly reads: () => number
  /** How far the records were read. */
  readonly position: () => Position
  /** Undefined until it was read first. Another one when the run begins or ends. */
  readonly run: () => RunSummary | undefined
  /** Nobody works on it any more, and all that it has recorded was read. */
  readonly isOver: () => boolean
  /** Keeps reading, and tells when something has changed, until the returned function is called. */
  readonly listen: (listener: () => void) => () => void
}

/** The runs that somebody follows: each is read once, however many do. */
export interface RunFeeds {
  /** Of the run in a folder. */
  readonly of: (folder: string) => RunFeed
}

/** Milliseconds between two looks at the files of a run that somebody follows. */
const pollMs = 200
/** What was read is kept for so long when nobody follows the run: whoever reads its rows mostly follows it then. */
const idleMs = 5_000
/** Whether its process is alive is asked at every so many of them. */
const readsPerAsking = 5

/** @param isHeld whether this process works on a run now */
export function createRunFeeds(isHeld: (id: string) => boolean): RunFeeds {
  const feeds = new Map<string, RunFeed>()
  return {
    of(folder) {
      const known = feeds.get(folder)
      if (known !== undefined) return known
      const feed = createRunFeed(folder, { isHeld, onIdle: () => void feeds.delete(folder) })
      feeds.set(folder, feed)
      return feed
    },
  }
}

interface FeedOptions {
  readonly isHeld: (id: string) => boolean
  /** Called when nobody has asked for anything for a while. */
  readonly onIdle: () => void
}

function createRunFeed(folder: string, { isHeld, onIdle }: FeedOptions): RunFeed {
  const id = basename(folder)
  const reader = followJournal(folder)
  const table = createRowTable(openFileRecords(folder, { mask: noMask }))
  const listeners = new Set<() => void>()
  let run: RunSummary | undefined
  /** Its process has said so, and may not be done yet with all that it does then. */
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
    }
    await reader.read(add)
    if (run === undefined || isTurn || hasEnded || isOver || reads % readsPerAsking === 0) {
      const isRunning = isHeld(id) || (await glance(folder))?.isRunning === true
      // what it has recorded before it ended
      if (!isRunning) await reader.read(add)
      if (run === undefined || isTurn || isRunning === isOver)
        run = await readRunSummary(folder, { known: summaryIn(folder) })
      isOver = !isRunning
    }
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
        // who asks for it is told
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
    reads: () => reads,
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
