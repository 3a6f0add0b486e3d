import type { Row } from './row.ts'

/** Which rows are shown, by their states. */
export const rowFilters = [
  { id: 'all', name: 'All states' },
  { id: 'failed', name: 'Failed' },
  { id: 'open', name: 'Running or waiting' },
  { id: 'done', name: 'Done' },
] as const

export type RowFilter = (typeof rowFilters)[number]['id']

export function fitsFilter({ state }: Pick<Row, 'state'>, filter: RowFilter): boolean {
  switch (filter) {
    case 'all':
      return true
    case 'failed':
      return state === 'failed' || state === 'partial' || state === 'interrupted'
    case 'open':
      return state === 'running' || state === 'suspended'
    case 'done':
      return state === 'done' || state === 'skipped'
  }
}
