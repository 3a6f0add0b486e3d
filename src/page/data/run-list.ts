import type { ShownSummary as RunSummary } from '../../journal/summary.ts'

/** Which runs to show. Empty texts match all. */
export interface RunFilter {
  readonly text: string
  readonly state: string
}

/** Whether a new run matches the filter. Older runs are filtered by the server. */
function fitsFilter({ id, file, status, models }: RunSummary, { text, state }: RunFilter): boolean {
  if (state !== '' && status !== state) return false
  const wanted = text.trim().toLowerCase()
  return wanted === '' || [id, file, ...models].some((field) => field.toLowerCase().includes(wanted))
}

/** Updates a run in the list, or adds it at the top if it is new and matches the filter. */
export function withRun(runs: readonly RunSummary[], run: RunSummary, filter: RunFilter): readonly RunSummary[] {
  const index = runs.findIndex(({ id }) => id === run.id)
  if (index !== -1) return runs.with(index, run)
  if (!fitsFilter(run, filter)) return runs
  const newest = runs[0]
  // an older run is loaded when the list is scrolled
  return newest === undefined || run.started >= newest.started ? [run, ...runs] : runs
}

/** Appends older runs that are not in the list yet. */
export function withOlder(runs: readonly RunSummary[], older: readonly RunSummary[]): readonly RunSummary[] {
  const known = new Set(runs.map(({ id }) => id))
  return [...runs, ...older.filter(({ id }) => !known.has(id))]
}
