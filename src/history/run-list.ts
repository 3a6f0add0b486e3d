import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { hasBegun } from '../journal/has-begun.ts'
import { readRunState, type RunState, appliedRun, isConversation, undoneRun } from '../journal/run-state.ts'
import { readIndex, type RunIndexFile, summaryIn } from '../journal/index-file.ts'
import { startedAt } from '../journal/prune.ts'
import { segmentFile } from '../journal/segment.ts'
import { isApplied, undoneBy } from '../journal/undo-mark.ts'
import { type RunSummary, statusOf, summaryOf } from '../journal/summary.ts'
import { createRunTotals, type RunTotals } from './run-totals.ts'

export interface ListOptions {
  readonly limit: number
  /** Only this many of the newest runs are looked at. Default: all. */
  readonly newest?: number
  /** Decides which runs are listed. Called in any order. */
  readonly fits: (run: Pick<RunSummary, 'id' | 'status' | 'file'>) => boolean
  /** Decides by the models of a run, which are known only once it was read. Default: all are listed. */
  readonly uses?: ((models: readonly string[]) => boolean) | undefined
  /** The index of the runs, from a process that keeps it: a run in it may have been removed since. */
  readonly index?: RunIndexFile
  /** Kept by a process that lists the same runs again and again. */
  readonly totals?: RunTotals
}

/**
 * Runs that are read together. A busy process comes back to each read late, so that one after the other would be slow.
 */
const readAtOnce = 16

/** The runs of a folder, newest first, with their current state. */
export async function* listRuns(
  runs: string,
  { limit, newest, uses = () => true, index: kept, ...options }: ListOptions,
): AsyncGenerator<RunSummary> {
  const { ids: all, summaries } = kept ?? readIndex(runs)
  const ids = all.slice(0, newest)
  let left = limit
  for (let index = 0; index < ids.length; index += readAtOnce) {
    const some = ids.slice(index, index + readAtOnce)
    const read = some.map((id) => readRunSummary(join(runs, id), { known: summaries.get(id), ...options }))
    for (const run of await Promise.all(read)) {
      if (run === undefined || !uses(run.models)) continue
      if (kept !== undefined && !existsSync(join(runs, run.id))) continue
      if (left <= 0) return
      left -= 1
      yield run
    }
    if (left <= 0) return
  }
}

/** Whether a model of a run has a name with this text in it, in any case. An empty text: all runs. */
export function usesModel(text = ''): (models: readonly string[]) => boolean {
  const wanted = text.trim().toLowerCase()
  return (models) => wanted === '' || models.some((model) => model.toLowerCase().includes(wanted))
}

interface SummaryOptions extends Pick<Partial<ListOptions>, 'fits' | 'totals'> {
  /** Only valid until the run is resumed. Default: the one in its folder. */
  readonly known?: RunSummary | undefined
}

function withApplied(summary: RunSummary, folder: string): RunSummary {
  if (summary.not_applied !== true || !isApplied(folder)) return summary
  const { not_applied: _, ...rest } = summary
  return rest
}

/** The current state of a run; undefined if it does not fit. */
export async function readRunSummary(
  folder: string,
  { known = summaryIn(folder), fits = () => true, totals: kept = createRunTotals() }: SummaryOptions = {},
): Promise<RunSummary | undefined> {
  if (known !== undefined && !existsSync(segmentFile(folder, known.epochs + 1))) {
    kept.forget(folder)
    return fits(known) ? withApplied(known, folder) : undefined
  }
  const seen = await readRunState(folder)
  const id = basename(folder)
  const file = seen?.start?.file ?? known?.file ?? ''
  const isRunning = seen?.isRunning === true
  const stood = seen?.end === undefined ? 'interrupted' : statusOf(seen.end.stop)
  // whether it waits is in its records
  if (!isRunning && !fits({ id, status: stood, file })) return undefined
  const times = seen?.times ?? { started: startedAt(id), ended: startedAt(id), worked: 0, epochs: 0 }
  const { gapsMs, open, ...totals } = seen === undefined ? nothing : await kept.read(folder, seen)
  const status = !isRunning ? stood : open > 0 ? 'waiting' : 'running'
  if (isRunning && !fits({ id, status, file })) return undefined
  const target = targetOf(seen?.start, file)
  const result = { id, target, status, exit: 0, repeated: 0, cost_usd: 0, models: [], ...totals }
  // the last process of an ended run has recorded those of the processes before
  const worked = seen?.end === undefined ? Math.max(0, times.worked - gapsMs) : times.worked
  const summary = summaryOf(result, file, { ...times, worked })
  if (seen?.end !== undefined) return { ...summary, exit: seen.end.exit }
  const isNew = status === 'interrupted' && !(await hasBegun(folder))
  const isRefused = seen?.start === undefined || isNew || undoneBy(folder) !== undefined
  return {
    ...summary,
    ended: null,
    exit: null,
    ...(status === 'interrupted' && isRefused ? { resumable: false } : {}),
    ...(isNew ? { begun: false } : {}),
    ...(status === 'waiting' ? { waits: open } : {}),
  }
}

/** The totals of a run without a journal. */
const nothing = {
  tasks: { done: 0, failed: 0, skipped: 0 },
  calls: 0,
  tokens: { input: 0, output: 0, cached: 0 },
  gapsMs: 0,
  open: 0,
}

function targetOf(start: RunState['start'], file: string): RunSummary['target'] {
  if (start !== undefined && undoneRun(start) !== undefined) return 'undo'
  if (start !== undefined && appliedRun(start) !== undefined) return 'apply'
  if (start !== undefined && isConversation(start)) return 'conversation'
  return /\.(?:aip|lua)$/.test(file) ? 'agent' : 'prompt'
}
