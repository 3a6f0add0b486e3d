import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { answersOnly } from '../../history/answers.ts'
import { readRunSummary } from '../../history/run-list.ts'
import { createCounting } from '../../history/run-totals.ts'
import { createRunView, type RunView } from '../../history/run-view.ts'
import { createRowTable, type RowTable } from '../../history/rows.ts'
import { nodeFiles } from '../../journal/file-port.ts'
import { followJournal, type Position } from '../../journal/follow.ts'
import { readRunState, type RunState } from '../../journal/run-state.ts'
import type { JournalRecord } from '../../journal/record.ts'
import { noMask } from '../../journal/secrets.ts'
import { epochsIn } from '../../journal/segment.ts'
import { openFileRecords } from '../../journal/source.ts'
import { isActive, isUnfinished, type RunSummary, type ShownSummary, statusOf } from '../../journal/summary.ts'
import type { ActiveRuns } from './active-runs.ts'
import { asShown } from './shown-run.ts'

/** Follows a run, whichever process it runs in. Its records are read once for its summary, its view and its rows. */
export interface RunFeed extends Pick<RowTable, 'changedAfter' | 'latest' | 'left' | 'callIn'> {
  /** As far as the records were read; undefined if there is no such run. */
  readonly summary: () => Promise<RunSummary | undefined>
  /** The same, of its tasks and its answer, with what it waits for unless it is done. Returns what `show` does. */
  readonly view: <T>(show: (view: RunView) => T) => T
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

/** What a client follows of a run. */
export type RunChanges = Omit<RunFeed, 'refresh' | 'summary' | 'view'>

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
const readsPerCheck = 5

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

/** All that is made of the records of a run while they are read. */
interface Reading {
  /** The newest process that had begun. What others left may be void as soon as another one begins. */
  readonly newest: number
  readonly reader: ReturnType<typeof followJournal>
  readonly table: RowTable
  readonly counting: ReturnType<typeof createCounting>
  readonly add: (record: JournalRecord, position: Position, location: number) => void
  readonly view: RunFeed['view']
}

/** Before the first record. `end`: how the run has ended. */
function beginReading(folder: string, end: RunState['end']): Reading {
  const newest = epochsIn(folder, nodeFiles).at(-1) ?? 0
  const source = openFileRecords(folder, { mask: noMask })
  const table = createRowTable(source)
  const counting = createCounting(source)
  const keepsOpen = end === undefined || isUnfinished(statusOf(end.stop))
  const growing = createRunView(source, { ...answersOnly, keepsOpen })
  return {
    newest,
    reader: followJournal(folder),
    table,
    counting,
    add(record, position, location) {
      table.add(record, position)
      counting.add(record)
      growing.follow(record, location, record.e >= newest)
    },
    view(show) {
      try {
        return show(growing.view([]))
      } finally {
        source.close()
      }
    },
  }
}

function createRunFeed(folder: string, { isHeld, isQueued, onIdle }: FeedOptions): RunFeed {
  const id = basename(folder)
  let now: Reading | undefined
  const listeners = new Set<() => void>()
  let run: ShownSummary | undefined
  let wasQueued = false
  /** The end was recorded; its process may still be finishing. */
  let hasEnded = false
  let isOver = false
  let reads = 0
  let reading: Promise<void> | undefined
  let isFollowed = false
  let timer: NodeJS.Timeout | undefined

  function current(): Reading {
    if (now === undefined) throw new Error(`the run in ${folder} was not read yet`)
    return now
  }

  function summary(): Promise<RunSummary | undefined> {
    const { counting } = current()
    return readRunSummary(folder, {
      totals: { read: (_, { end }) => Promise.resolve(counting.totals(end)), forget: () => undefined },
    })
  }

  /** A run that another process continues is read again from its beginning, and then takes the place of the old. */
  async function readingNow(): Promise<Reading> {
    if (now !== undefined && now.newest === (epochsIn(folder, nodeFiles).at(-1) ?? 0)) return now
    return beginReading(folder, (await readRunState(folder))?.end)
  }

  async function read(): Promise<void> {
    const before = now?.reader.position()
    const next = await readingNow()
    const { reader, counting, add } = next
    let isTurn = false
    const take: Reading['add'] = (record, ...at) => {
      if (record.k === 'seg' || record.k === 'run.end') {
        isTurn = true
        hasEnded = record.k === 'run.end'
      }
      add(record, ...at)
    }
    await reader.read(take)
    now = next
    const isWaiting = isQueued(id)
    if (isWaiting !== wasQueued) isTurn = true
    wasQueued = isWaiting
    if (run === undefined || isTurn || hasEnded || isOver || reads % readsPerCheck === 0) {
      const isRunning = isHeld(id) || (await readRunState(folder))?.isRunning === true
      // records written just before the process ended
      if (!isRunning) await reader.read(add)
      if (run === undefined || isTurn || isRunning === isOver) {
        const found = await summary()
        run = found && asShown(found, { isQueued })
      }
      isOver = !isRunning
    }
    run = run && waitingOrNot(run, counting.waits())
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
    changedAfter: (position) => current().table.changedAfter(position),
    latest: () => current().table.latest(),
    left: () => current().table.left(),
    callIn: (agent, since) => current().table.callIn(agent, since),
    summary,
    view: (show) => current().view(show),
    refresh,
    position: () => current().reader.position(),
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
