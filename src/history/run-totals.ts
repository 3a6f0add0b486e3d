import { isObject } from '../base/json.ts'
import { openFileRecords } from '../journal/file-records.ts'
import type { Glance } from '../journal/glance.ts'
import { noMask } from '../journal/secrets.ts'
import { type ErrorView, errorView, type RunSummary, type RunStatus } from '../journal/summary.ts'
import { failureOf, type RecordedFailure } from './recorded.ts'
import { addPaid, noPaid, type Paid } from './paid.ts'

export type RunTotals = Pick<RunSummary, 'tasks' | 'calls' | 'tokens' | 'cost_usd' | 'models'> & Partial<ErrorView>

const taskPlace = /^(?:redo\/\d+\/)?task\/\d+$/

/**
 * What a run without a summary came to, from its records: it broke off, or is running. A task of a run that has failed
 * counts as failed when it was begun and is not done.
 */
export async function readTotals(folder: string, { end }: Pick<Glance, 'end'>): Promise<RunTotals> {
  const source = openFileRecords(folder, { mask: noMask })
  const tasks = new Map<string, 'begun' | 'done' | 'skipped'>()
  let paid = noPaid
  let failure: RecordedFailure | undefined
  try {
    await source.scan(({ k, p, rest }, location) => {
      if (k === 'ended' && rest.includes('"kind":"model"')) {
        const record = source.at(location)
        const used = record.k === 'ended' ? source.value(record.used) : undefined
        if (isObject(used)) paid = addPaid(paid, used)
      } else if (k === 'begin' && taskPlace.test(p)) tasks.set(p, 'begun')
      else if (k === 'done' && taskPlace.test(p)) tasks.set(p, rest.includes('"status":"skipped"') ? 'skipped' : 'done')
    })
    failure = end && failureOf(end, source)
  } finally {
    source.close()
  }
  const count = (wanted: string): number => [...tasks.values()].filter((status) => status === wanted).length
  const failed = end === undefined ? 0 : count('begun')
  const totals = totalsOf(paid, { done: count('done'), failed, skipped: count('skipped') })
  return failure === undefined ? totals : { ...totals, ...errorView(failure.message, failure.place) }
}

function totalsOf({ calls, input, output, cached, usd, models }: Paid, tasks: RunSummary['tasks']): RunTotals {
  return { tasks, calls, tokens: { input, output, cached }, cost_usd: usd, models }
}

/** How a run stands that is not in the index. */
export function statusOfGlance({ end, isRunning }: Glance, named: (stop: string) => RunStatus): RunStatus {
  if (isRunning) return 'running'
  return end === undefined ? 'interrupted' : named(end.stop)
}
