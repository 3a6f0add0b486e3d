import type { VNode } from 'preact'
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type ShownStatus, shownStatuses } from '../../journal/summary.ts'
import { costText, countText, durationText, splitPath, whenText } from '../data/format.ts'
import type { RunSummary } from '../live/wire.ts'
import type { Route } from '../route.ts'
import { ConnectionBanner } from './connection-banner.tsx'
import { StateBadge, stateOf } from './state-badge.tsx'
import { useNow } from './use-now.ts'
import { type GridRow, VirtualGrid } from './virtual-grid.tsx'
import { type RunFilter, withOlder, withRun } from '../data/run-list.ts'
import { errorText, fetchRuns } from '../live/api.ts'
import { listen, type StreamState } from '../live/listen.ts'

/** State of the list that is kept while another view is open. */
export interface RunsMemory {
  readonly text: string
  readonly state: string
  readonly active: number
}

interface RunsViewProps {
  readonly memory: RunsMemory
  readonly onMemory: (memory: RunsMemory) => void
  readonly go: (route: Route) => void
}

/** The list of runs, newest first, with search and filter. Two runs can be selected and compared. */
export function RunsView({ memory, onMemory, go }: RunsViewProps): VNode {
  const { text, state, active } = memory
  const { runs, status, stream, loadMore } = useRuns(useMemo(() => ({ text, state }), [text, state]))
  const [picked, setPicked] = useState<readonly string[]>([])
  const isNarrow = useIsNarrow()
  const now = useNow(runs.some((run) => run.status === 'running'))

  const pick = (id: string): void =>
    setPicked((ids) => (ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id].slice(-2)))
  const open = (index: number): void => {
    const run = runs[index]
    if (run !== undefined) go({ kind: 'run', id: run.id, tab: 'answer' })
  }
  const setActive = useCallback((index: number) => onMemory({ ...memory, active: index }), [memory, onMemory])
  const filterBy = (changed: Partial<RunsMemory>): void => onMemory({ ...memory, ...changed, active: 0 })
  const onKey = (key: string): boolean => {
    const run = runs[active]
    if ((key !== ' ' && key !== 'c') || run === undefined) return false
    pick(run.id)
    return true
  }
  // ids sort by time: the older run comes first
  const [before, after] = picked.toSorted()

  return (
    <section class="view" aria-label="Runs">
      <h1 class="hidden">Runs</h1>
      <ConnectionBanner stream={stream} />
      <div class="toolbar">
        <input
          type="search"
          id="search"
          placeholder="Search runs (/)"
          aria-label="Search runs by file or id"
          value={text}
          onInput={({ currentTarget }) => filterBy({ text: currentTarget.value })}
        />
        <select
          aria-label="Filter by state"
          value={state}
          onChange={({ currentTarget }) => filterBy({ state: currentTarget.value })}
        >
          <option value="">All states</option>
          {shownStatuses.map((one: ShownStatus) => (
            <option key={one} value={one}>
              {one.replaceAll('_', ' ')}
            </option>
          ))}
        </select>
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
          {typeof status === 'object' ? status.error : countOf(runs.length, status)}
        </span>
      </div>
      {runs.length === 0 && status === 'all' ? (
        <p class="empty">
          {text === '' && state === '' ? 'No runs yet. Start one with baton run FILE.' : 'No matching runs.'}
        </p>
      ) : (
        <VirtualGrid
          label="Runs, newest first"
          role="grid"
          className="runs"
          count={runs.length}
          rowHeight={isNarrow ? 60 : 36}
          head={isNarrow ? <></> : <RunsHead />}
          active={active}
          onActive={setActive}
          onOpen={open}
          onKey={onKey}
          onNearEnd={loadMore}
          hasFocus
          renderRow={(index): GridRow => {
            const run = runs[index]
            if (run === undefined) return { key: index, cells: null }
            return {
              key: run.id,
              cells: <RunCells run={run} now={now} isPicked={picked.includes(run.id)} onPick={() => pick(run.id)} />,
            }
          }}
        />
      )}
    </section>
  )
}

function countOf(count: number, status: 'loading' | 'more' | 'all'): string {
  if (status === 'loading') return count === 0 ? 'Loading…' : `${count} runs, loading…`
  return `${count}${status === 'more' ? '+' : ''} ${count === 1 ? 'run' : 'runs'}`
}

function RunsHead(): VNode {
  return (
    <div class="run-cells">
      <span />
      <span>State</span>
      <span>File</span>
      <span>Model</span>
      <span class="number">Tokens</span>
      <span class="number">Cost</span>
      <span class="number">Duration</span>
      <span class="number">Started</span>
    </div>
  )
}

interface RunCellsProps {
  readonly run: RunSummary
  /** Milliseconds since 1970. */
  readonly now: number
  readonly isPicked: boolean
  readonly onPick: () => void
}

function RunCells({ run, now, isPicked, onPick }: RunCellsProps): VNode {
  const { folder, name } = splitPath(run.file)
  const took = run.status === 'running' ? now - Date.parse(run.started) : run.duration_ms
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
        <span class="folder">{folder}</span>
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
  readonly runs: readonly RunSummary[]
  readonly status: 'loading' | 'more' | 'all' | { readonly error: string }
  readonly stream: StreamState
  /** Call when the end of the list becomes visible. */
  readonly loadMore: () => void
}

const pageSize = 200

/** The runs that match a filter, loaded page by page, and new runs as they start. */
function useRuns(filter: RunFilter): LiveRuns {
  const { text, state } = filter
  const [runs, setRuns] = useState<readonly RunSummary[]>([])
  const [status, setStatus] = useState<LiveRuns['status']>('loading')
  const [stream, setStream] = useState<StreamState>('connecting')
  const asked = useRef(0)

  const load = useCallback(
    async (before: string | undefined): Promise<void> => {
      const number = (asked.current += 1)
      setStatus('loading')
      try {
        const page = await fetchRuns({ text, state }, before, pageSize)
        // the filter has changed in the meantime
        if (number !== asked.current) return
        setRuns((known) => (before === undefined ? page.runs : withOlder(known, page.runs)))
        setStatus(page.more ? 'more' : 'all')
      } catch (error) {
        if (number === asked.current) setStatus({ error: errorText(error) })
      }
    },
    [text, state],
  )

  useEffect(() => void load(undefined), [load])
  useEffect(() => {
    let isAgain = false
    return listen('/api/events', {
      onState: setStream,
      on: {
        // the list may have missed runs while the connection was lost
        hello: () => {
          if (isAgain) void load(undefined)
          isAgain = true
        },
        run: (data) => {
          const run: RunSummary = JSON.parse(data)
          setRuns((known) => withRun(known, run, { text, state }))
        },
      },
    })
  }, [load])

  const last = runs.at(-1)?.id
  const loadMore = useCallback(() => void (status === 'more' && load(last)), [status, load, last])
  return { runs, status, stream, loadMore }
}
