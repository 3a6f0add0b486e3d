import { statSync } from 'node:fs'
import { join } from 'node:path'
import { pendingIn, type PendingView } from '../../history/pending.ts'
import { listRuns } from '../../history/run-list.ts'
import type { RunIndexFile } from '../../journal/index-file.ts'
import type { RunStatus } from '../../journal/summary.ts'
import type { ActiveRuns } from './active-runs.ts'
import type { ServedWorkspace } from './served-workspace.ts'
import type { ShownRun, ShownRuns } from './shown-run.ts'

/** A run that waits for a person, and how many answers it needs. */
interface InboxItem {
  readonly run: ShownRun
  readonly approvals: number
  /** Of MCP servers. */
  readonly questions: number
  /** Calls whose outcome is unknown. */
  readonly uncertain: number
}

/** All that waits for a person in a workspace. */
export interface Inbox {
  /** The runs that wait, newest first. */
  readonly read: () => Promise<readonly InboxItem[]>
}

/** Only this many of the newest runs are looked at whatever is known of them, and at most as many are listed. */
const newest = 1_000

/** A run that was stopped by a person does not wait for one. */
const mayWait: ReadonlySet<RunStatus> = new Set([
  'running',
  'waiting',
  'waiting_for_approval',
  'suspended',
  'interrupted',
])

/** The calls of a run that need the choice of a person before it can be resumed. */
export function choicesOf(pending: readonly PendingView[]): readonly PendingView[] {
  return pending.filter(({ resume }) => resume === 'choice')
}

export function createInbox(served: ServedWorkspace, shown: ShownRuns, held: ActiveRuns): Inbox {
  const { runs, totals, readIndex } = served
  let counts = new Map<string, Counted>()

  /** Of a run that no process works on: read once, until a process works on it again or an answer is recorded. */
  async function stoppedCounts(id: string, before: Counted | undefined): Promise<Counted> {
    const folder = join(runs, id)
    const modified = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (before?.modified === modified) return before
    const { approvals, effects } = await pendingIn(folder)
    return { modified, approvals: approvals.length, uncertain: choicesOf(effects).length }
  }

  /** The runs that may wait. Old ones that have ended otherwise are not looked at again and again. */
  function candidates(): RunIndexFile {
    const { ids, summaries } = readIndex()
    const working = held.ids()
    const older = ids.slice(newest).filter((id) => {
      const status = summaries.get(id)?.status
      return status === undefined || mayWait.has(status) || (working.has(id) && !held.isQueued(id))
    })
    return { ids: [...ids.slice(0, newest), ...older], summaries }
  }

  async function read(): Promise<readonly InboxItem[]> {
    const found: InboxItem[] = []
    const now = new Map<string, Counted>()
    const fits = ({ status }: { readonly status: RunStatus }): boolean => mayWait.has(status)
    for await (const run of listRuns(runs, { limit: newest, fits, index: candidates(), totals })) {
      const { id, status, waits = 0 } = run
      if (held.isQueued(id)) continue
      if (status === 'running' || status === 'waiting') {
        const questions = held.questions(id).length
        if (waits + questions > 0) found.push({ run: await shown.show(run), approvals: waits, questions, uncertain: 0 })
        continue
      }
      const counted = await stoppedCounts(id, counts.get(id))
      now.set(id, counted)
      const { approvals, uncertain } = counted
      if (approvals + uncertain > 0) found.push({ run: await shown.show(run), approvals, questions: 0, uncertain })
    }
    counts = now
    return found
  }

  // clients ask again and again, and those that ask together get the same
  let reading: Promise<readonly InboxItem[]> | undefined
  return { read: () => (reading ??= read().finally(() => (reading = undefined))) }
}

interface Counted extends Pick<InboxItem, 'approvals' | 'uncertain'> {
  /** Modification time of the folder. */
  readonly modified: number
}
