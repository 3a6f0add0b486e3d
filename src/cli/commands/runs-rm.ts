import { basename, join } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { findRun } from '../../journal/find-run.ts'
import { parseDuration } from '../../config/duration.ts'
import { listRuns, readRunSummary } from '../../history/run-list.ts'
import { summaryIn } from '../../journal/index-file.ts'
import { lastWork, removeRun } from '../../journal/prune.ts'
import type { RunStatus } from '../../journal/summary.ts'
import { expectWords, type RunsContext, type RunsFlags } from './runs.ts'
import { fitsFlags } from './runs-filter.ts'

/** A run that may be removed, and how it stands. */
interface Candidate {
  readonly folder: string
  readonly status: RunStatus
}

/** `baton runs rm`: removes the named runs, or all that fit every flag given; never one that is running. */
export async function removeRunsCommand(flags: RunsFlags, context: RunsContext): Promise<number> {
  const { io } = context
  const candidates = flags.runs.length > 0 ? await namedRuns(flags, context) : await fittingRuns(flags, context)
  let kept = 0
  for (const { folder, status } of candidates) {
    io.signal.throwIfAborted()
    const isGone = status !== 'running' && (flags.dryRun || (await removeRun(folder)))
    if (!isGone) kept += 1
    tell({ id: basename(folder), isGone }, flags, context)
  }
  if (candidates.length === 0 && flags.level !== 'quiet' && !flags.json) io.err('no run fits\n')
  // a run that was named and stays is not what was asked for
  return flags.runs.length > 0 && kept > 0 ? 1 : 0
}

function tell(
  { id, isGone }: { readonly id: string; readonly isGone: boolean },
  { json, dryRun, level }: RunsFlags,
  { io }: RunsContext,
): void {
  if (json) {
    io.out(`${JSON.stringify({ id, removed: isGone && !dryRun, ...(isGone ? {} : { reason: 'running' }) })}\n`)
  } else if (!isGone) io.err(`${id} is running and stays\n`)
  else if (level !== 'quiet') io.out(`${dryRun ? 'would remove' : 'removed'} ${id}\n`)
}

async function namedRuns(flags: RunsFlags, { folder }: RunsContext): Promise<readonly Candidate[]> {
  const { runs, older, failed, file, status } = flags
  if (older !== undefined || failed || file !== undefined || status !== undefined) {
    throw new BatonError('USAGE', 'runs and flags that choose runs are both given', { hint: 'Leave one of them out.' })
  }
  const folders = new Set(runs.map((run) => findRun(folder, run)))
  const found = [...folders].map(async (run): Promise<Candidate> => {
    const summary = await readRunSummary(run, { known: summaryIn(run) })
    return { folder: run, status: summary?.status ?? 'interrupted' }
  })
  return Promise.all(found)
}

async function fittingRuns(flags: RunsFlags, context: RunsContext): Promise<readonly Candidate[]> {
  const { older, failed, file, status } = flags
  if (older === undefined && !failed && file === undefined && status === undefined) {
    expectWords(flags, { least: 1, most: Infinity, shape: 'RUN…, --older 30d, --failed, --status or --file' })
  }
  const age = older === undefined ? 0 : parseDuration(older)
  if (age === undefined) {
    throw new BatonError('USAGE', `--older ${older ?? ''} is not a length of time`, { hint: 'Write for example 30d.' })
  }
  const before = Date.now() - age
  const fits = fitsFlags(flags, context)
  const candidates: Candidate[] = []
  const listed = listRuns(context.folder, {
    limit: Number.POSITIVE_INFINITY,
    fits: (run) => fits(run) && !(failed && (run.status === 'done' || run.status === 'skipped')),
  })
  for await (const { id, status: stands } of listed) {
    const folder = join(context.folder, id)
    if (older !== undefined && lastWork(folder) >= before) continue
    // those that are running were not asked for
    if (stands !== 'running') candidates.push({ folder, status: stands })
  }
  return candidates
}
