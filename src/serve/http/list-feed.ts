import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readRunSummary } from '../../history/run-list.ts'
import { runIds } from '../../journal/find-run.ts'
import { readRunState } from '../../journal/run-state.ts'
import { summaryIn } from '../../journal/index-file.ts'
import type { ActiveRuns } from './active-runs.ts'
import { asShown, type ShownRun } from './read-runs.ts'
import { eventText, type OpenSource } from './event-stream.ts'

/** Milliseconds between polls of the runs while there are listeners. */
const pollMs = 1_000
/** Only this many of the newest runs are polled. An older run that is resumed is shown where it was resumed. */
const watched = 200

interface Known {
  /** Modification time of the folder: a process that starts or ends a run creates a file in it. */
  readonly modified: number
  readonly status: ShownRun['status'] | undefined
}

/** Notifies listeners of runs that start, end or are resumed. */
export interface ListFeed {
  readonly listen: (listener: (run: ShownRun) => void) => () => void
}

/** @param runs the folder with the runs of a workspace */
export function createListFeed(runs: string, held: Pick<ActiveRuns, 'isQueued'>): ListFeed {
  const listeners = new Set<(run: ShownRun) => void>()
  let known = new Map<string, Known>()
  let isFollowed = false

  /** Reports changes since the last poll. The first poll reports nothing. */
  async function look(isFirst: boolean): Promise<void> {
    const now = new Map<string, Known>()
    for (const id of runIds(runs).slice(0, watched)) {
      const before = known.get(id)
      const folder = join(runs, id)
      const modified = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0
      const isWaiting = held.isQueued(id)
      const isSame =
        before?.modified === modified && before.status !== undefined && (before.status === 'queued') === isWaiting
      if (isSame && (before.status !== 'running' || (await readRunState(folder))?.isRunning === true)) {
        now.set(id, before)
        continue
      }
      const summary = await readRunSummary(folder, { known: summaryIn(folder) })
      const run = summary && asShown(summary, held)
      // a run that has not recorded its file yet is read again
      const status = run === undefined || run.file === '' ? undefined : run.status
      now.set(id, { modified, status })
      if (run === undefined || status === undefined || isFirst || status === before?.status) continue
      for (const listener of listeners) listener(run)
    }
    known = now
  }

  async function follow(): Promise<void> {
    if (isFollowed) return
    isFollowed = true
    for (let isFirst = true; listeners.size > 0; isFirst = false) {
      // a folder may be removed at any time
      await look(isFirst).catch(() => undefined)
      await sleep(pollMs, undefined, { ref: false })
    }
    known = new Map()
    isFollowed = false
  }

  return {
    listen(listener) {
      listeners.add(listener)
      void follow()
      return () => void listeners.delete(listener)
    },
  }
}

/** The events of the run list for one client: `hello`, then each changed run. */
export function listEvents(feed: ListFeed): OpenSource {
  return (wake) => {
    const waiting = new Map<string, ShownRun>()
    let isGreeted = false
    const close = feed.listen((run) => {
      waiting.set(run.id, run)
      wake()
    })
    return {
      take() {
        const hello = isGreeted ? '' : eventText('hello', {})
        const runs = [...waiting.values()].map((run) => eventText('run', run))
        isGreeted = true
        waiting.clear()
        return hello === '' && runs.length === 0 ? undefined : `${hello}${runs.join('')}`
      },
      isOver: () => false,
      close,
    }
  }
}
