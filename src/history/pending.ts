import { join } from 'node:path'
import type { ApprovalView } from '../event/action-view.ts'
import { isInTool, parsePlace } from '../event/place.ts'
import { openApprovals } from '../journal/open-approvals.ts'
import { indexRun, type RunIndex } from '../journal/run-index.ts'
import { noMask } from '../journal/secrets.ts'
import { openFileRecords } from '../journal/source.ts'
import type { RunSummary } from '../journal/summary.ts'
import { startedEffects, needsChoice } from '../journal/uncertain.ts'
import { describeEffect } from './node-view.ts'
import { errorOf, valueOf } from './recorded.ts'
import { type ListOptions, listRuns } from './run-list.ts'

/** An effect that is waiting, or whose outcome is unknown, or that failed in a way that only the user can judge. */
export interface PendingView {
  /** The id that `baton resume --uncertain` takes. */
  readonly id: string
  readonly place: string
  readonly kind: string
  readonly text: string
  /**
   * What a resume does: `again`: repeats it; `files`: checks whether the file was changed; `choice`: needs
   * `--uncertain`; `waits`: it was suspended before anything happened, and is requested again.
   */
  readonly resume: 'again' | 'files' | 'choice' | 'waits'
  readonly error: string | null
  /** It is the tool of a model, so that `tell` is a choice. */
  readonly can_tell?: true
}

/** The effects whose outcome is unknown. */
export function pendingEffects(open: RunIndex): readonly PendingView[] {
  const { source } = open
  return startedEffects(open).flatMap(({ node, place, started }): readonly PendingView[] => {
    const { e, n, kind, request } = started
    const ended = node.ended === undefined ? undefined : source.at(node.ended)
    const known = kind === 'file' ? 'files' : needsChoice(started, node) ? 'choice' : 'again'
    const resume = node.waits === true ? 'waits' : known
    // an effect that definitely failed is repeated like one that never started
    if (ended?.k === 'ended' && ended.status === 'error' && resume !== 'choice') return []
    const text = describeEffect(kind, valueOf(request, source))
    const tool = resume === 'choice' && isInTool(parsePlace(place)) ? ({ can_tell: true } as const) : {}
    const error = ended === undefined ? null : errorOf(ended, source)
    return [{ id: `${e}.${n}`, place, kind, text, resume, error, ...tool }]
  })
}

/** The approvals that a run waits for. */
export function pendingApprovals(open: RunIndex): readonly ApprovalView[] {
  return openApprovals(open).map(({ view }) => view)
}

/** What the run in a folder waits for; secrets are shown by name. */
export async function pendingIn(
  folder: string,
): Promise<{ readonly approvals: readonly ApprovalView[]; readonly effects: readonly PendingView[] }> {
  const source = openFileRecords(folder, { mask: noMask })
  try {
    const open = await indexRun(source, { keeps: 'unfinished', repair: 'skip' })
    return { approvals: pendingApprovals(open), effects: pendingEffects(open) }
  } finally {
    source.close()
  }
}

/** Only the approvals. */
export async function approvalsIn(folder: string): Promise<readonly ApprovalView[]> {
  return (await pendingIn(folder)).approvals
}

/** A run with the approvals that it waits for. */
export interface WaitingRun {
  readonly run: RunSummary
  readonly approvals: readonly ApprovalView[]
}

/** The runs of a folder that wait for an approval, newest first. Runs that are done are not read. */
export async function* waitingRuns(runs: string, { limit, fits, ...more }: ListOptions): AsyncGenerator<WaitingRun> {
  const mayWait: ListOptions['fits'] = (run) => run.status !== 'done' && run.status !== 'skipped' && fits(run)
  let left = limit
  for await (const run of listRuns(runs, { ...more, limit: Number.POSITIVE_INFINITY, fits: mayWait })) {
    if (left <= 0) return
    const { approvals } = await pendingIn(join(runs, run.id))
    if (approvals.length === 0) continue
    left -= 1
    yield { run, approvals }
  }
}
