import type { Row } from './row.ts'

/** The rows of a run in the order in which they began; each as it was sent last. */
export interface RowStore {
  readonly rows: readonly Row[]
  /** @returns the rows that were not there before; those that were take the place of the older */
  add(rows: readonly Row[]): readonly Row[]
  /** Forgets all of them. */
  clear(): void
}

/** Takes rows in any order; those that are sent again cost no search, however many there are. */
export function createRowStore(): RowStore {
  const rows: Row[] = []
  const indexes = new Map<number, number>()
  return {
    rows,
    add(sent) {
      const fresh: Row[] = []
      for (const row of sent) {
        const index = indexes.get(row.n)
        if (index === undefined) {
          indexes.set(row.n, rows.length)
          rows.push(row)
          fresh.push(row)
        } else rows[index] = row
      }
      return fresh
    },
    clear() {
      rows.length = 0
      indexes.clear()
    },
  }
}
