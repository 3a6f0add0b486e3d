import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Spent } from '../event/meter.ts'
import { hasBegun } from '../journal/begun.ts'
import { glance, type Glance, isConversation, undoneRun } from '../journal/glance.ts'
import { readIndex } from '../journal/index-file.ts'
import { startedAt } from '../journal/prune.ts'
import { noMask } from '../journal/secrets.ts'
import { segmentFile } from '../journal/segment.ts'
import { openFileRecords } from '../journal/source.ts'
import { undoneBy } from '../journal/undone.ts'
import { roundOfTask } from '../journal/tally.ts'
import { type ErrorView, errorView, type RunSummary, statusOf, summaryOf, tokenTotals } from '../journal/summary.ts'
import { addPaid, noPaid } from './run-tree.ts'
import { failureOf, type RecordedFailure } from './recorded.ts'

export interface ListOptions {
  readonly limit: number
  /** Decides which runs are listed. Called in any order. */
  readonly fits: (run: Pick<RunSummary, 'id' | 'status' | 'file'>) => boolean
}

/**
 * Runs that are read together. A busy process comes back to each read late, so that one after the other would be slow.
 */
const readAtOnce = 16

/** The runs of a folder, newest first, with their current state. */
export async function* listRuns(runs: string, { limit, fits }: ListOptions): AsyncGenerator<RunSummary> {
  const { ids, summaries } = readIndex(runs)
  let left = limit
  for (let index = 0; index < ids.length; index += readAtOnce) {
    const some = ids.slice(index, index + readAtOnce)
    const read = some.map((id) => readRunSummary(join(runs, id), { known: summaries.get(id), fits }))
    for (const run of await Promise.all(read)) {
      if (run === undefined) continue
      if (left <= 0) return
      left -= 1
      yield run
    }
    if (left <= 0) return
  }
}

interface SummaryOptions {
  /** From the index; only valid until the run is resumed. */
  readonly known?: RunSummary | undefined
  readonly fits?: ListOptions['fits']
}

/** The current state of a run; undefined if it does not fit. */
export async function readRunSummary(
  folder: string,
  { known, fits = () => true }: SummaryOptions = {},
): Promise<RunSummary | undefined> {
  if (known !== undefined && !existsSync(segmentFile(folder, known.epochs + 1))) return fits(known) ? known : undefined
  const seen = await glance(folder)
  const id = basename(folder)
  const file = seen?.start?.file ?? known?.file ?? ''
  const stood = seen?.end === undefined ? 'interrupted' : statusOf(seen.end.stop)
  const status = seen?.isRunning === true ? 'running' : stood
  if (!fits({ id, status, file })) return undefined
  const times = seen?.times ?? { started: startedAt(id), ended: startedAt(id), worked: 0, epochs: 0 }
  const totals =
    seen === undefined
      ? { tasks: { done: 0, failed: 0, skipped: 0 }, calls: 0, tokens: { input: 0, output: 0, cached: 0 } }
      : await readTotals(folder, seen)
  const target = targetOf(seen?.start, file)
  const result = { id, target, status, exit: 0, repeated: 0, cost_usd: 0, models: [], ...totals }
  const summary = summaryOf(result, file, times)
  if (seen?.end !== undefined) return { ...summary, exit: seen.end.exit }
  const isNew = status === 'interrupted' && !(await hasBegun(folder))
  const isRefused = seen?.start === undefined || isNew || undoneBy(folder) !== undefined
  return {
    ...summary,
    ended: null,
    exit: null,
    ...(status === 'interrupted' && isRefused ? { resumable: false } : {}),
    ...(isNew ? { begun: false } : {}),
  }
}

type RunTotals = Pick<RunSummary, 'tasks' | 'calls' | 'tokens' | 'cost_usd' | 'models'> & Partial<ErrorView>

/**
 * The totals of a run without a summary (interrupted, or still running), from its records. In a run that failed, a task
 * counts as failed if it was started and is not done.
 */
async function readTotals(folder: string, { end }: Pick<Glance, 'end'>): Promise<RunTotals> {
  const source = openFileRecords(folder, { mask: noMask })
  const tasks = new Map<string, 'begun' | 'done' | 'skipped' | 'suspended'>()
  let paid = noPaid
  let failure: RecordedFailure | undefined
  let round = ''
  try {
    await source.scan((record) => {
      if (record.k === 'ended') {
        for (const spent of (source.value(record.spent) ?? []) as readonly Spent[]) paid = addPaid(paid, spent)
        return
      }
      if (record.k !== 'begin' && record.k !== 'suspended' && record.k !== 'done') return
      const own = roundOfTask(record.p)
      if (own === undefined) return
      if (own !== round) tasks.clear()
      round = own
      if (record.k === 'begin') tasks.set(record.p, 'begun')
      else if (record.k === 'suspended') tasks.set(record.p, 'suspended')
      else {
        const value = source.value(record.value) as { readonly status?: unknown }
        tasks.set(record.p, value.status === 'skipped' ? 'skipped' : 'done')
      }
    })
    failure = end && failureOf(end, source)
  } finally {
    source.close()
  }
  const count = (wanted: string): number => [...tasks.values()].filter((status) => status === wanted).length
  const failed = end === undefined ? 0 : count('begun')
  const { calls, usd: cost_usd, models } = paid
  const ended = { done: count('done'), failed, skipped: count('skipped') }
  const totals = { tasks: ended, calls, tokens: tokenTotals(paid), cost_usd, models }
  return failure === undefined ? totals : { ...totals, ...errorView(failure.message, failure.place) }
}

function targetOf(start: Glance['start'], file: string): RunSummary['target'] {
  if (start !== undefined && undoneRun(start) !== undefined) return 'undo'
  if (start !== undefined && isConversation(start)) return 'conversation'
  return /\.(?:aip|lua)$/.test(file) ? 'agent' : 'prompt'
}
