import type { RunSummary } from '../../journal/summary.ts'

/** Which runs are asked for. An empty text means all. */
export interface RunFilter {
  readonly text: string
  readonly state: string
}

/** Whether a run that has just begun belongs to what is shown; older ones the server has picked. */
function fitsFilter({ id, file, status, models }: RunSummary, { text, state }: RunFilter): boolean {
  if (state !== '' && status !== state) return false
  const wanted = text.trim().toLowerCase()
  return wanted === '' || [id, file, ...models].some((field) => field.toLowerCase().includes(wanted))
}

/** The list with a run as it stands now: in its place when it is known, at the top when it has just begun. */
export function withRun(runs: readonly RunSummary[], run: RunSummary, filter: RunFilter): readonly RunSummary[] {
  const index = runs.findIndex(({ id }) => id === run.id)
  if (index !== -1) return runs.with(index, run)
  if (!fitsFilter(run, filter)) return runs
  const newest = runs[0]
  // one that is older than what is shown comes when the list is scrolled
  return newest === undefined || run.started >= newest.started ? [run, ...runs] : runs
}

/** The list with older runs at its end; those that are in it already are left out. */
export function withOlder(runs: readonly RunSummary[], older: readonly RunSummary[]): readonly RunSummary[] {
  const known = new Set(runs.map(({ id }) => id))
  return [...runs, ...older.filter(({ id }) => !known.has(id))]
}
