import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { costText, durationText, numberOf } from '../data/format.ts'
import { fitsFilter, type RowFilter } from '../data/row-filter.ts'
import { durationOf, type Row } from '../data/row.ts'
import { FilterSelect } from './filter-select.tsx'
import { StateBadge } from './state-badge.tsx'
import { type GridRow, VirtualGrid } from './virtual-grid.tsx'

interface TaskListProps {
  /** The rows of the tasks. */
  readonly tasks: readonly Row[]
  readonly version: number
  /** Milliseconds since 1970. */
  readonly now: number
  readonly onPlace: (place: string) => void
}

/** Many tasks, as a list; each opens beside it with its answer. */
export function TaskList({ tasks, version, now, onPlace }: TaskListProps): VNode {
  const [filter, setFilter] = useState<RowFilter>('all')
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const shown = useMemo(() => {
    const wanted = text.trim().toLowerCase()
    return tasks.filter((row) => fitsFilter(row, filter) && nameOf(row).toLowerCase().includes(wanted))
  }, [tasks, version, filter, text])
  return (
    <>
      <div class="toolbar small">
        <input
          type="search"
          id="search"
          placeholder="Search tasks (/)"
          aria-label="Search tasks"
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value)
            setActive(0)
          }}
        />
        <FilterSelect
          filter={filter}
          onFilter={(chosen) => {
            setFilter(chosen)
            setActive(0)
          }}
        />
        <span class="count" role="status">
          {numberOf(shown.length, 'task')}
        </span>
      </div>
      {shown.length === 0 ? (
        <p class="empty">No such tasks.</p>
      ) : (
        <VirtualGrid
          label="Tasks"
          role="grid"
          className="tasks"
          count={shown.length}
          rowHeight={30}
          active={Math.min(active, shown.length - 1)}
          onActive={setActive}
          onOpen={(index) => onPlace(shown[index]?.place ?? '')}
          renderRow={(index): GridRow => {
            const row = shown[index]
            if (row === undefined) return { key: index, cells: null }
            return { key: row.n, cells: <TaskCells row={row} now={now} /> }
          }}
        />
      )}
    </>
  )
}

function nameOf({ text, place }: Row): string {
  return text === '' ? place : text
}

function TaskCells({ row, now }: { readonly row: Row; readonly now: number }): VNode {
  return (
    <div class="task-cells" role="presentation">
      <span role="gridcell">
        <StateBadge state={row.state} />
      </span>
      <span role="gridcell" class="name" title={row.place}>
        {nameOf(row)}
      </span>
      <span role="gridcell" class="number cost">
        {row.usd === undefined ? '' : costText(row.usd)}
      </span>
      <span role="gridcell" class="number took">
        {durationText(durationOf(row, now))}
      </span>
    </div>
  )
}
