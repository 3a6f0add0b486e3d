import { join } from 'node:path'
import type { ApprovalView } from '../event/action-view.ts'
import { openApprovals } from '../journal/open-approvals.ts'
import { indexRun } from '../journal/run-index.ts'
import { noMask } from '../journal/secrets.ts'
import { openFileRecords } from '../journal/source.ts'
import type { RunSummary } from '../journal/summary.ts'
import { type ListOptions, listRuns } from './run-list.ts'

/** A run with the approvals that it waits for. */
export interface WaitingRun {
  readonly run: RunSummary
  readonly approvals: readonly ApprovalView[]
}

/** The approvals that the run in a folder waits for; secrets are shown by name. */
export async function approvalsIn(folder: string): Promise<readonly ApprovalView[]> {
  const source = openFileRecords(folder, { mask: noMask })
  try {
    const index = await indexRun(source, { keeps: 'unfinished', repair: 'skip' })
    return openApprovals(index).map(({ view }) => view)
  } finally {
    source.close()
  }
}

/** The runs of a folder that wait for an approval, newest first. Runs that are done are not read. */
export async function* waitingRuns(runs: string, { limit, fits }: ListOptions): AsyncGenerator<WaitingRun> {
  const mayWait: ListOptions['fits'] = (run) => run.status !== 'done' && run.status !== 'skipped' && fits(run)
  let left = limit
  for await (const run of listRuns(runs, { limit: Number.POSITIVE_INFINITY, fits: mayWait })) {
    if (left <= 0) return
    const approvals = await approvalsIn(join(runs, run.id))
    if (approvals.length === 0) continue
    left -= 1
    yield { run, approvals }
  }
}
