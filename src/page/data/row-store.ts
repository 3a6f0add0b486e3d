import type { Row } from './row.ts'

/** The latest version of each row of a run, in order of arrival. */
export interface RowStore {
  readonly rows: readonly Row[]
  /** Adds new rows and replaces known ones. @returns the new rows */
  add(rows: readonly Row[]): readonly Row[]
  clear(): void
}

/** Accepts rows in any order, and replaces a row in constant time. */
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
