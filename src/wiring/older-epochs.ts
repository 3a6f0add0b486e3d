import { resolve } from 'node:path'
import type { RunServices } from '../event/context.ts'
import { parsePlace } from '../event/place.ts'
import { createResumedEffects, type Repeated, type StaleRead } from '../journal/resumed-effects.ts'
import { costBelow } from '../journal/paid-calls.ts'
import type { EventBody } from '../event/event.ts'
import type { RunJournal } from '../journal/journal.ts'
import type { RunIndex } from '../journal/run-index.ts'
import type { PreviousAttempts } from './run-effects.ts'

/** What a resumed run needs from its older epochs. */
export interface OlderEpochs {
  readonly index: RunIndex
  /** Runs the current files, and repeats what that affects. */
  readonly usesCurrent: boolean
  /** Effects that are repeated because the user chose so. */
  readonly redone: readonly Repeated[]
}

/** What a resumed run takes over. `journal` is the one it writes now; `workspace` is absolute. */
export function readOlderEpochs(
  { index, usesCurrent, redone }: OlderEpochs,
  { journal, workspace }: { readonly journal: RunJournal; readonly workspace: string },
): PreviousAttempts {
  return {
    agentRuns: index.agentRuns,
    madeFiles: index.madeFiles,
    async planned() {
      // only needed by runs that change no files
      const { plannedChanges } = await import('../journal/planned-changes.ts')
      return plannedChanges(index)
    },
    approvals: index.approvals,
    spentBelow: (place) => costBelow(index, place),
    around(live, { onRepeat, onRecall, events }) {
      for (const one of redone) onRepeat(one)
      return createResumedEffects({
        index,
        usesCurrent,
        journal,
        live,
        onRepeat,
        onRetry: ({ at, error }) => {
          const hint = 'What it did before it failed is not undone.'
          events(at, { type: 'warning', message: `retrying: ${error}`, hint })
        },
        onRecall,
        onShow: ({ p, event }) => events(parsePlace(p), index.source.value(event) as EventBody),
        onStale: tellStale(index, { events, workspace }),
      })
    },
  }
}

/** Warns once for each part that continues with an old version of a file, unless the run changed the file itself. */
function tellStale(
  { changedFiles }: RunIndex,
  { events, workspace }: { readonly events: RunServices['events']; readonly workspace: string },
): (stale: StaleRead) => void {
  const told = new Set<string>()
  let changed: ReadonlySet<string> | undefined
  return ({ at, path, boundary }) => {
    changed ??= new Set([...changedFiles].map((file) => resolve(workspace, file)))
    if (told.has(boundary) || changed.has(resolve(workspace, path))) return
    told.add(boundary)
    const message = `${path} has changed since this run read it, but ${boundary} continues with what it read`
    const hint = `Resume with --from ${boundary} to read it again; its paid calls are paid for again.`
    events(at, { type: 'warning', message, hint })
  }
}
