import type { VNode } from 'preact'
import { useCallback, useMemo, useState } from 'preact/hooks'
import { costText, countText, durationText } from '../data/format.ts'
import { durationOf } from '../data/row.ts'
import { fitsFilter, type RowFilter } from '../data/row-filter.ts'
import type { RowTree, ShownLines, TreeLine } from '../data/row-tree.ts'
import { FilterSelect } from './filter-select.tsx'
import { StateDot } from './state-badge.tsx'
import { type GridRow, VirtualGrid } from './virtual-grid.tsx'

interface TreeTabProps {
  readonly tree: RowTree
  readonly version: number
  /** Milliseconds since 1970. */
  readonly now: number
  readonly onPlace: (place: string) => void
}

/** Everything a run does, as a tree. The left and right arrow keys collapse and expand. */
export function TreeTab({ tree, version, now, onPlace }: TreeTabProps): VNode {
  const [shown, setShown] = useState<ShownLines>({ expanded: 'few', toggled: new Set() })
  const [filter, setFilter] = useState<RowFilter>('all')
  const [active, setActive] = useState(0)
  const lines = useMemo(
    () => tree.lines({ ...shown, ...(filter !== 'all' && { fits: (row) => fitsFilter(row, filter) }) }),
    [tree, version, shown, filter],
  )

  const toggle = useCallback((line: TreeLine) => {
    setShown(({ toggled, ...before }) => {
      const after = new Set(toggled)
      if (!after.delete(line.row.n)) after.add(line.row.n)
      return { ...before, toggled: after }
    })
  }, [])
  const onKey = (key: string, at: number): boolean => {
    const line = lines[at]
    if (line === undefined) return false
    if ((key === 'ArrowLeft' && line.shape === 'open') || (key === 'ArrowRight' && line.shape === 'closed'))
      toggle(line)
    else if (key === 'ArrowLeft' && line.depth > 0)
      setActive(lines.findLastIndex(({ depth }, index) => index < at && depth < line.depth))
    else return false
    return true
  }
  if (lines.length === 0 && filter === 'all') return <p class="empty">Nothing to show yet.</p>
  return (
    <>
      <div class="toolbar small">
        <button type="button" onClick={() => setShown({ expanded: 'all', toggled: new Set() })}>
          Expand all
        </button>
        <button type="button" onClick={() => setShown({ expanded: 'none', toggled: new Set() })}>
          Collapse all
        </button>
        <FilterSelect filter={filter} onFilter={setFilter} />
        <span class="count">{lines.length} shown</span>
      </div>
      <VirtualGrid
        label="Run tree"
        role="treegrid"
        className="tree"
        count={lines.length}
        rowHeight={26}
        active={active}
        onActive={setActive}
        onOpen={(index) => onPlace(lines[index]?.row.place ?? '')}
        onKey={onKey}
        renderRow={(index): GridRow => {
          const line = lines[index]
          if (line === undefined) return { key: index, cells: null }
          return {
            key: line.row.n,
            level: line.depth + 1,
            position: line.position,
            siblings: line.siblings,
            ...(line.shape !== 'leaf' && { expanded: line.shape === 'open' }),
            cells: <TreeCells line={line} now={now} onToggle={toggle} />,
          }
        }}
      />
    </>
  )
}

interface TreeCellsProps {
  readonly line: TreeLine
  readonly now: number
  readonly onToggle: (line: TreeLine) => void
}

/** Deeper lines are not indented further. */
const deepest = 16

function TreeCells({ line, now, onToggle }: TreeCellsProps): VNode {
  const { row, depth, name, shape } = line
  const tokens = (row.input ?? 0) + (row.output ?? 0)
  return (
    <div class="tree-cells" role="presentation">
      <span role="gridcell" class="name" style={{ paddingLeft: `${Math.min(depth, deepest) * 14}px` }}>
        <span
          class={`twist ${shape}`}
          aria-hidden="true"
          onClick={(event) => {
            if (shape === 'leaf') return
            event.stopPropagation()
            onToggle(line)
          }}
        />
        <StateDot state={row.state} />
        <span class="tag">{row.kind}</span>
        <span class="place">{name}</span>
        <span class="about">{row.text}</span>
      </span>
      <span role="gridcell" class="number">
        {row.score === undefined ? '' : `score ${row.score}`}
      </span>
      <span role="gridcell" class="number tokens">
        {tokens === 0 ? '' : countText(tokens)}
      </span>
      <span role="gridcell" class="number cost">
        {row.usd === undefined || row.usd === null || row.usd === 0 ? '' : costText(row.usd)}
      </span>
      <span role="gridcell" class="number took">
        {durationText(durationOf(row, now))}
      </span>
    </div>
  )
}
