import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { glance } from '../journal/glance.ts'
import { readIndex } from '../journal/index-file.ts'
import { startedAt } from '../journal/prune.ts'
import { segmentFile } from '../journal/segment.ts'
import { type RunSummary, statusOf, summaryOf } from '../journal/summary.ts'
import { readTotals, statusOfGlance } from './run-totals.ts'

export interface ListOptions {
  readonly limit: number
  /** Decides which runs are listed. */
  readonly fits: (run: Pick<RunSummary, 'id' | 'status' | 'file'>) => boolean
}

/** The runs of a folder, the newest first, as they stand now. */
export async function* listRuns(runs: string, { limit, fits }: ListOptions): AsyncGenerator<RunSummary> {
  const { ids, summaries } = readIndex(runs)
  let left = limit
  for (const id of ids) {
    if (left <= 0) return
    const run = await readRunSummary(join(runs, id), { known: summaries.get(id), fits })
    if (run === undefined) continue
    left -= 1
    yield run
  }
}

export interface SummaryOptions {
  /** What the index says; it is only true until somebody goes on with the run. */
  readonly known?: RunSummary | undefined
  readonly fits?: ListOptions['fits']
}

/** How a run stands now; undefined when it does not fit. */
export async function readRunSummary(
  folder: string,
  { known, fits = () => true }: SummaryOptions = {},
): Promise<RunSummary | undefined> {
  if (known !== undefined && !existsSync(segmentFile(folder, known.epochs + 1))) return fits(known) ? known : undefined
  const seen = await glance(folder)
  const id = basename(folder)
  const file = seen?.start?.file ?? known?.file ?? ''
  const status = seen === undefined ? 'interrupted' : statusOfGlance(seen, statusOf)
  if (!fits({ id, status, file })) return undefined
  const times = seen?.times ?? { started: startedAt(id), ended: startedAt(id), worked: 0, epochs: 0 }
  const totals =
    seen === undefined
      ? { tasks: { done: 0, failed: 0, skipped: 0 }, calls: 0, tokens: { input: 0, output: 0, cached: 0 } }
      : await readTotals(folder, seen)
  const result = { id, target: targetOf(file), status, exit: 0, repeated: 0, cost_usd: 0, models: [], ...totals }
  const summary = summaryOf(result, file, times)
  return seen?.end === undefined ? { ...summary, ended: null, exit: null } : { ...summary, exit: seen.end.exit }
}

function targetOf(file: string): RunSummary['target'] {
  return /\.(?:aip|lua)$/.test(file) ? 'agent' : 'prompt'
}
