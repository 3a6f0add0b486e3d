import { resolve } from 'node:path'
import type { RunContext } from '../event/context.ts'
import { placeOf } from '../event/effects.ts'
import type { EventBody } from '../event/event.ts'
import type { RunJournal } from '../journal/journal.ts'
import { createResumedEffects, type Repeated } from '../journal/resumed-effects.ts'
import type { RunIndex } from '../journal/run-index.ts'
import type { StaleRead } from '../journal/stale-read.ts'
import { spentBefore } from '../journal/spent-before.ts'
import { settleChange } from '../tool/change-state.ts'
import type { Past } from './run-effects.ts'

/** What of an older epoch decides how the run goes on. */
export interface OlderEpochs {
  readonly index: RunIndex
  /** Runs what is on the disk now, and does again what it changes. */
  readonly usesCurrent: boolean
  /** What is done again because a person said so. */
  readonly redone: readonly Repeated[]
}

/** What a run that goes on takes over, with the journal it writes now and its workspace, absolute. */
export function pastOf(
  { index, usesCurrent, redone }: OlderEpochs,
  { journal, workspace }: { readonly journal: RunJournal; readonly workspace: string },
): Past {
  return {
    agentRuns: index.agentRuns,
    spentBelow: (place) => spentBefore(index, place).spent,
    around(live, { onRepeat, events }) {
      for (const one of redone) onRepeat(one)
      return createResumedEffects({
        index,
        usesCurrent,
        journal,
        live,
        onRepeat,
        stateOf: (change) => settleChange(change, workspace),
        onShow: ({ p, event }) => events(placeOf(p), index.source.value(event) as EventBody),
        onStale: tellStale(index, { events, workspace }),
      })
    },
  }
}

/** Says once for each part that it goes on with a file as it was, unless the run has changed the file itself. */
function tellStale(
  { changedFiles }: RunIndex,
  { events, workspace }: { readonly events: RunContext['events']; readonly workspace: string },
): (stale: StaleRead) => void {
  const told = new Set<string>()
  let changed: ReadonlySet<string> | undefined
  return ({ at, path, boundary }) => {
    changed ??= new Set([...changedFiles].map((file) => resolve(workspace, file)))
    if (told.has(boundary) || changed.has(resolve(workspace, path))) return
    told.add(boundary)
    const message = `${path} is another one than when this run read it, and ${boundary} goes on with what it was`
    const hint = `Resume with --from ${boundary} to read it anew; what that part has paid for is paid again.`
    events(at, { type: 'warning', message, hint })
  }
}
