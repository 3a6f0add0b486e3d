import type { VNode } from 'preact'
import { useCallback, useMemo, useState } from 'preact/hooks'
import { costText, countText, durationText, numberOf } from '../data/format.ts'
import { durationOf, isEffect, type Row } from '../data/row.ts'
import { fitsFilter, type RowFilter } from '../data/row-filter.ts'
import { labelledTicks, type TimeScale } from '../data/time-scale.ts'
import { barOf, labelOf, layoutWaterfall, scaleOf, type WaterfallRows } from '../data/waterfall.ts'
import { FilterSelect } from './filter-select.tsx'
import { toneClass } from './state-badge.tsx'
import { type GridRow, VirtualGrid } from './virtual-grid.tsx'

interface WaterfallTabProps {
  readonly rows: readonly Row[]
  readonly version: number
  /** Milliseconds since 1970. */
  readonly now: number
  readonly onPlace: (place: string) => void
}

/** What the time axis covers: the whole run, or the visible rows. */
type Zoom = 'run' | 'view'

/** The parts of a run as bars over time. */
export function WaterfallTab({ rows, version, now, onPlace }: WaterfallTabProps): VNode {
  const [chosen, setChosen] = useState<WaterfallRows>()
  const [filter, setFilter] = useState<RowFilter>('all')
  // a run without calls has only its parts
  const hasEffects = useMemo(() => rows.some(isEffect), [rows, version])
  const which = chosen ?? (hasEffects ? 'effects' : 'all')
  const [zoom, setZoom] = useState<Zoom>('run')
  const [active, setActive] = useState(0)
  const [shown, setShown] = useState({ first: 0, end: 0 })
  const whole = useMemo(() => {
    const fitting = filter === 'all' ? rows : rows.filter((row) => fitsFilter(row, filter))
    return layoutWaterfall(fitting, which, now)
  }, [rows, version, which, filter, now])
  const { first, end } = shown
  const scale = useMemo(
    () => (zoom === 'run' ? whole.scale : scaleOf(whole.rows.slice(first, end), now)),
    [zoom, whole, first, end, now],
  )
  const onShown = useCallback((from: number, to: number) => setShown({ first: from, end: to }), [])

  if (rows.length === 0) return <p class="empty">Nothing to show yet.</p>
  return (
    <>
      <div class="toolbar small">
        <select
          aria-label="Rows"
          value={which}
          onChange={({ currentTarget }) => {
            setChosen(currentTarget.value === 'all' ? 'all' : 'effects')
            setActive(0)
          }}
        >
          <option value="effects">Calls and changes</option>
          <option value="all">All parts</option>
        </select>
        <select
          aria-label="Time axis"
          value={zoom}
          onChange={({ currentTarget }) => setZoom(currentTarget.value === 'view' ? 'view' : 'run')}
        >
          <option value="run">Axis: whole run</option>
          <option value="view">Axis: visible rows</option>
        </select>
        <FilterSelect filter={filter} onFilter={setFilter} />
        <span class="count">{numberOf(whole.rows.length, 'row')}</span>
      </div>
      <VirtualGrid
        label="Run timeline"
        role="grid"
        className="waterfall"
        count={whole.rows.length}
        rowHeight={24}
        head={<Axis scale={scale} />}
        active={active}
        onActive={setActive}
        onOpen={(index) => onPlace(whole.rows[index]?.place ?? '')}
        onShown={onShown}
        renderRow={(index): GridRow => {
          const row = whole.rows[index]
          if (row === undefined) return { key: index, cells: null }
          return { key: row.n, cells: <BarCells row={row} scale={scale} now={now} /> }
        }}
      />
    </>
  )
}

function Axis({ scale }: { readonly scale: TimeScale }): VNode {
  return (
    <div class="bar-cells">
      <span />
      <span class="axis">
        {labelledTicks(scale).map(({ at, ms }) => (
          <span key={ms} class="tick" style={{ left: `${at}%` }}>
            {durationText(ms)}
          </span>
        ))}
        {scale.breaks.map(({ at, width, ms }) => (
          <span
            key={at}
            class="break"
            style={{ left: `${at}%`, width: `${width}%` }}
            title={`Idle for ${durationText(ms)}`}
          />
        ))}
      </span>
    </div>
  )
}

interface BarCellsProps {
  readonly row: Row
  readonly scale: TimeScale
  readonly now: number
}

function BarCells({ row, scale, now }: BarCellsProps): VNode {
  const { left, width } = barOf(row, scale, now)
  const took = durationText(durationOf(row, now))
  const label = labelOf({ left, width })
  return (
    <div class="bar-cells" role="presentation">
      <span role="gridcell" class="name">
        <span class="tag">{row.kind}</span>
        <span class="about">{row.text === '' ? row.place : row.text}</span>
      </span>
      <span role="gridcell" class="track" aria-label={`${row.state}, ${took}`}>
        <span
          class={`bar ${toneClass(row.state)} kind-${kindClass(row.kind)}`}
          style={{ left: `${left}%`, width: `${width}%` }}
          title={titleOf(row, took)}
        />
        <span class={`took ${label.side}`} style={label.style} aria-hidden="true">
          {took}
        </span>
      </span>
    </div>
  )
}

function kindClass(kind: string): 'model' | 'file' | 'other' {
  if (kind === 'model' || kind === 'llm') return 'model'
  return kind === 'file' || kind === 'git' ? 'file' : 'other'
}

function titleOf({ place, text, model, input, output, usd }: Row, took: string): string {
  const tokens =
    input === undefined && output === undefined ? [] : [`${countText((input ?? 0) + (output ?? 0))} tokens`]
  const cost = usd === undefined ? [] : [costText(usd)]
  return [place, text, [took, ...(model === undefined ? [] : [model]), ...tokens, ...cost].join(', ')].join('\n')
}
