import type { ShownStatus } from '../../journal/summary.ts'
import type { ShownRun } from '../live/wire.ts'

/** Which runs to show. Empty texts match all. Kept in the address. */
export interface RunFilter {
  /** Part of the name, the file or the id. */
  readonly text: string
  /** The id of a group of states, or a state. */
  readonly state: string
  /** Part of the name or the file. */
  readonly file: string
  /** Part of the name of a model. */
  readonly model: string
  /** How long ago they may have started: `24h`, `7d`. */
  readonly since: string
}

export const everyRun: RunFilter = { text: '', state: '', file: '', model: '', since: '' }

/** States that people look for together. */
export const stateGroups: readonly {
  readonly id: string
  readonly name: string
  readonly states: readonly ShownStatus[]
}[] = [
  { id: 'waits', name: 'Waits for you', states: ['waiting', 'waiting_for_approval'] },
  { id: 'active', name: 'Running', states: ['running', 'waiting', 'queued'] },
  { id: 'bad', name: 'Went wrong', states: ['failed', 'partial', 'interrupted', 'budget', 'limit'] },
]

export const times: readonly { readonly id: string; readonly name: string; readonly hours: number }[] = [
  { id: '1h', name: 'Last hour', hours: 1 },
  { id: '24h', name: 'Last 24 hours', hours: 24 },
  { id: '7d', name: 'Last 7 days', hours: 7 * 24 },
  { id: '30d', name: 'Last 30 days', hours: 30 * 24 },
]

/** The states of a filter; undefined: all. */
function statesOf({ state }: RunFilter): readonly string[] | undefined {
  return state === '' ? undefined : (stateGroups.find(({ id }) => id === state)?.states ?? [state])
}

/** From when on runs match, in milliseconds since 1970. */
function startOf({ since }: RunFilter, now: number): number {
  const hours = times.find(({ id }) => id === since)?.hours
  return hours === undefined ? 0 : now - hours * 3_600_000
}

/** The query for the runs that match. @param now milliseconds since 1970 */
export function queryOf(filter: RunFilter, now: number): Readonly<Record<string, string>> {
  const since = startOf(filter, now)
  const asked = {
    q: filter.text.trim(),
    state: statesOf(filter)?.join(',') ?? '',
    file: filter.file,
    model: filter.model.trim(),
    since: since === 0 ? '' : new Date(since).toISOString(),
  }
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== ''))
}

/** Whether a new run matches the filter. Older runs are filtered by the server. */
function fitsFilter({ id, file, name = '', status, models }: ShownRun, filter: RunFilter): boolean {
  const states = statesOf(filter)
  if (states !== undefined && !states.includes(status)) return false
  const has = (texts: readonly string[], wanted: string): boolean =>
    texts.some((text) => text.toLowerCase().includes(wanted.trim().toLowerCase()))
  if (!has([id, name, file], filter.text) || !has([name, file], filter.file)) return false
  return filter.model.trim() === '' || has(models, filter.model)
}

/** Updates a run in the list, or adds it in its place if it matches the filter. */
export function withRun(runs: readonly ShownRun[], run: ShownRun, filter: RunFilter): readonly ShownRun[] {
  const index = runs.findIndex(({ id }) => id === run.id)
  if (index !== -1) return runs.with(index, run)
  if (!fitsFilter(run, filter)) return runs
  const place = runs.findIndex(({ started }) => started <= run.started)
  // an older run than those here is loaded when the list is scrolled
  return place === -1 && runs.length > 0 ? runs : runs.toSpliced(Math.max(0, place), 0, run)
}

/** Appends older runs that are not in the list yet. */
export function withOlder(runs: readonly ShownRun[], older: readonly ShownRun[]): readonly ShownRun[] {
  const known = new Set(runs.map(({ id }) => id))
  return [...runs, ...older.filter(({ id }) => !known.has(id))]
}
