import type { VNode } from 'preact'
import { type RowFilter, rowFilters } from '../data/row-filter.ts'

interface FilterSelectProps {
  readonly filter: RowFilter
  readonly onFilter: (filter: RowFilter) => void
}

/** A choice of states. */
export function FilterSelect({ filter, onFilter }: FilterSelectProps): VNode {
  return (
    <select
      aria-label="State"
      value={filter}
      onChange={({ currentTarget }) => onFilter(rowFilters.find(({ id }) => id === currentTarget.value)?.id ?? 'all')}
    >
      {rowFilters.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}
