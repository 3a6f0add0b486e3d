import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readRunSummary } from '../../history/run-list.ts'
import { isActive, type ShownStatus } from '../../journal/summary.ts'
import type { ActiveRuns } from './active-runs.ts'
import { eventText, type OpenSource } from './event-stream.ts'
import type { ServedWorkspace } from './served-workspace.ts'
import type { ShownRun, ShownRuns } from './shown-run.ts'

/** Milliseconds between polls of the runs while there are listeners. */
const pollMs = 1_000
/**
 * Only this many of the newest runs are polled, and those that work or wait for their turn in this server, or were
 * working when they were polled last. An older run that another process resumes is shown where it was resumed.
 */
const watched = 200

interface Known {
  /** Modification time of the folder: a process that starts or ends a run creates a file in it. */
  readonly modified: number
  readonly status: ShownStatus | undefined
  /** What is shown of it, to notice a change. */
  readonly mark: string
}

/** Notifies listeners of runs that start, wait, go on, end or are resumed, and of the progress of their tasks. */
export interface ListFeed {
  /** @param onReady called once changes from now on are noticed */
  readonly listen: (listener: (run: ShownRun) => void, onReady: () => void) => () => void
}

export function createListFeed(
  { runs, totals, readIndex }: ServedWorkspace,
  { shown, held }: { readonly shown: ShownRuns; readonly held: Pick<ActiveRuns, 'ids' | 'isQueued'> },
): ListFeed {
  const listeners = new Set<(run: ShownRun) => void>()
  let known = new Map<string, Known>()
  let following: Promise<void> | undefined
  let first: Promise<void> | undefined

  /** Reports changes since the last poll. The first poll reports nothing. */
  async function look(isFirst: boolean): Promise<void> {
    const now = new Map<string, Known>()
    const newest = new Set(readIndex().ids.slice(0, watched))
    const unsettled = [...known].filter(([, { status }]) => status !== undefined && isActive(status))
    for (const id of new Set([...newest, ...held.ids(), ...unsettled.map(([one]) => one)])) {
      const before = known.get(id)
      const isQueued = held.isQueued(id)
      // thousands may wait for their turn, and nothing happens to them until then
      if (isQueued && (before?.status === 'queued' || !newest.has(id))) {
        now.set(id, before?.status === 'queued' ? before : { modified: 0, status: 'queued', mark: '' })
        continue
      }
      const folder = join(runs, id)
      const modified = statSync(folder, { throwIfNoEntry: false })?.mtimeMs
      // it was removed
      if (modified === undefined) continue
      if (before?.modified === modified && !isQueued && before.status !== undefined && !isActive(before.status)) {
        now.set(id, before)
        continue
      }
      const run = await readRunSummary(folder, { totals })
      // a run that has not recorded its file yet is read again
      const status = run === undefined || run.file === '' ? undefined : shown.stateOf(run)
      const sent = run && (await shown.show(run))
      const mark = JSON.stringify([sent?.status, sent?.waits, sent?.tasks, sent?.planned])
      now.set(id, { modified, status, mark })
      if (sent === undefined || status === undefined || isFirst || mark === before?.mark) continue
      for (const listener of listeners) listener(sent)
    }
    known = now
  }

  // a folder may be removed at any time
  const lookAgain = (isFirst: boolean): Promise<void> => look(isFirst).catch(() => undefined)

  async function follow(): Promise<void> {
    await (first = lookAgain(true))
    while (listeners.size > 0) {
      await sleep(pollMs, undefined, { ref: false })
      await lookAgain(false)
    }
    known = new Map()
    following = undefined
  }

  return {
    listen(listener, onReady) {
      listeners.add(listener)
      following ??= follow()
      void first?.then(onReady)
      return () => void listeners.delete(listener)
    },
  }
}

/** The events of the run list for one client: `hello`, after which no change is missed, then each changed run. */
export function listEvents(feed: ListFeed): OpenSource {
  return (wake) => {
    const waiting = new Map<string, ShownRun>()
    let isReady = false
    let isGreeted = false
    const close = feed.listen(
      (run) => {
        waiting.set(run.id, run)
        wake()
      },
      () => {
        isReady = true
        wake()
      },
    )
    return {
      take() {
        if (!isReady) return undefined
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
