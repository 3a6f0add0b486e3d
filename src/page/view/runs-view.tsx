import type { VNode } from 'preact'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { isActive, type ShownStatus, shownStatuses } from '../../journal/summary.ts'
import { costText, countText, durationText, splitPath, tasksText, whenText } from '../data/format.ts'
import type { ShownRun } from '../live/wire.ts'
import type { Route } from '../route.ts'
import { ConnectionBanner } from './connection-banner.tsx'
import { StateBadge, stateOf, toneClass } from './state-badge.tsx'
import { useNow } from './use-now.ts'
import { type GridRow, VirtualGrid } from './virtual-grid.tsx'
import { type RunFilter, stateGroups, times, withOlder, withRun } from '../data/run-list.ts'
import { errorText, fetchRuns } from '../live/api.ts'
import { listen, type StreamState } from '../live/listen.ts'

export interface RunsViewProps {
  readonly filter: RunFilter
  /** Changes the filter in the address. */
  readonly onFilter: (filter: RunFilter) => void
  /** The selected row, which is kept while another view is open. */
  readonly active: number
  readonly onActive: (index: number) => void
  readonly go: (route: Route) => void
}

/** The list of runs, newest first, with search and filters. Two runs can be selected and compared. */
export function RunsView({ filter, onFilter, active, onActive, go }: RunsViewProps): VNode {
  const { runs, total, status, stream, loadMore } = useRuns(filter)
  const [picked, setPicked] = useState<readonly string[]>([])
  const isNarrow = useIsNarrow()
  const now = useNow(runs.some((run) => isActive(run.status)))

  const pick = (id: string): void =>
    setPicked((ids) => (ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id].slice(-2)))
  const open = (index: number): void => {
    const run = runs[index]
    if (run !== undefined) go({ kind: 'run', id: run.id, tab: 'answer' })
  }
  const filterBy = (changed: Partial<RunFilter>): void => {
    onActive(0)
    onFilter({ ...filter, ...changed })
  }
  const onKey = (key: string, index: number): boolean => {
    const run = runs[index]
    if ((key !== ' ' && key !== 'c') || run === undefined) return false
    pick(run.id)
    return true
  }
  // ids sort by time: the older run comes first
  const [before, after] = picked.toSorted()
  const isAll = Object.values(filter).every((value) => value === '')

  return (
    <section class="view" aria-label="Runs">
      <h1 class="hidden">Runs</h1>
      <ConnectionBanner stream={stream} />
      <div class="toolbar">
        <input
          type="search"
          id="search"
          placeholder="Search runs (/)"
          title="Enter opens the selected run, ↓ goes to the list"
          aria-label="Search runs by file or id"
          value={filter.text}
          onInput={({ currentTarget }) => filterBy({ text: currentTarget.value })}
          onKeyDown={({ key }) => {
            if (key === 'Enter') open(active)
          }}
        />
        <select
          aria-label="Filter by state"
          value={filter.state}
          onChange={({ currentTarget }) => filterBy({ state: currentTarget.value })}
        >
          <option value="">All states</option>
          {stateGroups.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
          <optgroup label="Exactly">
            {shownStatuses.map((one: ShownStatus) => (
              <option key={one} value={one}>
                {one.replaceAll('_', ' ')}
              </option>
            ))}
          </optgroup>
        </select>
        <select
          aria-label="Filter by time"
          value={filter.since}
          onChange={({ currentTarget }) => filterBy({ since: currentTarget.value })}
        >
          <option value="">Any time</option>
          {times.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
        <input
          class="short"
          type="search"
          placeholder="Model"
          aria-label="Filter by model"
          value={filter.model}
          onInput={({ currentTarget }) => filterBy({ model: currentTarget.value })}
        />
        {filter.file !== '' && (
          <button type="button" title="Runs of all files" onClick={() => filterBy({ file: '' })}>
            {filter.file} ×
          </button>
        )}
        <button
          type="button"
          disabled={before === undefined || after === undefined}
          title="Select two runs in the list to compare them"
          onClick={() => {
            if (before !== undefined && after !== undefined) go({ kind: 'compare', before, after })
          }}
        >
          Compare{picked.length > 0 ? ` ${picked.length}/2` : ''}
        </button>
        <span class="count" role="status">
          {typeof status === 'object' ? status.error : countOf(runs.length, status, total)}
        </span>
      </div>
      {runs.length === 0 && status === 'all' ? (
        <p class="empty">{isAll ? 'No runs yet. Start one with baton run FILE.' : 'No matching runs.'}</p>
      ) : (
        <VirtualGrid
          label="Runs, newest first"
          role="grid"
          className="runs"
          count={runs.length}
          rowHeight={isNarrow ? 60 : 36}
          head={isNarrow ? <></> : <RunsHead />}
          active={active}
          onActive={onActive}
          onOpen={open}
          onKey={onKey}
          onNearEnd={loadMore}
          hasFocus
          renderRow={(index): GridRow => {
            const run = runs[index]
            if (run === undefined) return { key: index, cells: null }
            return {
              key: run.id,
              className: `tone-${toneClass(stateOf(run))}`,
              cells: <RunCells run={run} now={now} isPicked={picked.includes(run.id)} onPick={() => pick(run.id)} />,
            }
          }}
        />
      )}
    </section>
  )
}

function countOf(count: number, status: 'loading' | 'more' | 'all', total: number | undefined): string {
  if (status === 'loading' && count === 0) return 'Loading…'
  const all = status === 'all' ? count : total
  if (all === undefined) return `${count}+ runs`
  return `${all.toLocaleString('en')} ${all === 1 ? 'run' : 'runs'}`
}

function RunsHead(): VNode {
  return (
    <div class="run-cells">
      <span />
      <span>State</span>
      <span>File</span>
      <span>Tasks</span>
      <span>Model</span>
      <span class="number">Tokens</span>
      <span class="number">Cost</span>
      <span class="number">Duration</span>
      <span class="number">Started</span>
    </div>
  )
}

interface RunCellsProps {
  readonly run: ShownRun
  /** Milliseconds since 1970. */
  readonly now: number
  readonly isPicked: boolean
  readonly onPick: () => void
}

function RunCells({ run, now, isPicked, onPick }: RunCellsProps): VNode {
  const { name: shown = run.file, chat } = run
  const { folder, name } = chat === undefined ? splitPath(shown) : { folder: chat.message, name: shown }
  const took = isActive(run.status) ? now - Date.parse(run.started) : run.duration_ms
  return (
    <div class="run-cells" role="presentation">
      <span role="gridcell" class="pick">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Select ${run.id} for comparison`}
          checked={isPicked}
          onClick={(event) => event.stopPropagation()}
          onChange={onPick}
        />
      </span>
      <span role="gridcell" class="state">
        <StateBadge state={stateOf(run)} />
      </span>
      <span role="gridcell" class="file" title={`${run.file}\n${run.id}`}>
        <strong>{name}</strong> {run.target === 'undo' && <em class="tag">undo</em>}
        {chat !== undefined && <em class="tag">chat</em>} {folder !== name && <span class="folder">{folder}</span>}
      </span>
      <span role="gridcell" class="tasks">
        <TaskBar run={run} />
      </span>
      <span role="gridcell" class="model" title={run.models.join(', ')}>
        {run.models.join(', ')}
      </span>
      <span role="gridcell" class="number tokens">
        {countText(run.tokens.input + run.tokens.output)}
      </span>
      <span role="gridcell" class="number cost">
        {costText(run.cost_usd)}
      </span>
      <span role="gridcell" class="number took">
        {durationText(took)}
      </span>
      <span role="gridcell" class="number when" title={run.started}>
        {whenText(run.started)}
      </span>
    </div>
  )
}

/** How many of several tasks are done, failed and skipped. A bar, if it is known of how many. */
function TaskBar({ run: { tasks, planned, status } }: { readonly run: ShownRun }): VNode | null {
  const { done, failed, skipped } = tasks
  const over = done + failed + skipped
  const all = isActive(status) ? planned : over
  if ((all ?? over) < 2) return null
  const title = `${tasksText(tasks)}${all === undefined ? '' : ` of ${all}`}`
  const share = (count: number): { readonly width: string } => ({ width: `${(100 * count) / (all ?? over)}%` })
  return (
    <span class="task-bar" title={title}>
      {all !== undefined && (
        <span class="bar" role="img" aria-label={title}>
          <span class="good" style={share(done)} />
          <span class="bad" style={share(failed)} />
          <span class="calm" style={share(skipped)} />
        </span>
      )}
      <span aria-hidden={all !== undefined}>
        {all === undefined || over === all ? countText(over) : `${countText(over)}/${countText(all)}`}
      </span>
    </span>
  )
}

/** Whether a media query matches; updates when that changes. */
function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const list = matchMedia(query)
    const follow = (): void => setMatches(list.matches)
    list.addEventListener('change', follow)
    return () => list.removeEventListener('change', follow)
  }, [query])
  return matches
}

/** Whether the page is as narrow as on a phone. page.css uses the same width. */
function useIsNarrow(): boolean {
  return useMedia('(max-width: 720px)')
}

interface LiveRuns {
  readonly runs: readonly ShownRun[]
  /** How many there are, if nothing is searched. */
  readonly total: number | undefined
  readonly status: 'loading' | 'more' | 'all' | { readonly error: string }
  readonly stream: StreamState
  /** Call when the end of the list becomes visible. */
  readonly loadMore: () => void
}

const pageSize = 200

/** The runs that match a filter, loaded page by page, and new runs as they start. */
function useRuns(filter: RunFilter): LiveRuns {
  const [runs, setRuns] = useState<readonly ShownRun[]>([])
  const [total, setTotal] = useState<number>()
  const [status, setStatus] = useState<LiveRuns['status']>('loading')
  const [stream, setStream] = useState<StreamState>('connecting')
  const asked = useRef(0)

  const load = useCallback(
    async (before: string | undefined): Promise<void> => {
      const number = (asked.current += 1)
      setStatus('loading')
      try {
        const page = await fetchRuns(filter, before, pageSize)
        // the filter has changed in the meantime
        if (number !== asked.current) return
        setRuns((known) => (before === undefined ? page.runs : withOlder(known, page.runs)))
        setTotal(page.total)
        setStatus(page.more ? 'more' : 'all')
      } catch (error) {
        if (number === asked.current) setStatus({ error: errorText(error) })
      }
    },
    [filter],
  )

  // one stream for all filters
  const now = useRef({ load, filter, isOpen: false })
  now.current = { ...now.current, load, filter }
  useEffect(() => {
    if (now.current.isOpen) void load(undefined)
  }, [load])
  useEffect(
    () =>
      listen('/api/events', {
        onState(state) {
          setStream(state)
          if (state === 'lost' && !now.current.isOpen) void now.current.load(undefined)
        },
        on: {
          // no change is missed from now on; before, some may have been
          hello() {
            now.current.isOpen = true
            void now.current.load(undefined)
          },
          run: (data) => {
            const run: ShownRun = JSON.parse(data)
            setRuns((known) => {
              const next = withRun(known, run, now.current.filter)
              if (next.length > known.length) setTotal((count) => count && count + 1)
              return next
            })
          },
        },
      }),
    [],
  )

  const last = runs.at(-1)?.id
  const loadMore = useCallback(() => void (status === 'more' && load(last)), [status, load, last])
  return { runs, total, status, stream, loadMore }
}
