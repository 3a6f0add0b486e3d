import type { Row } from './row.ts'

/** The rows of the iterations of a run, in order. If one was restarted, its newest row. */
export function iterationRows(rows: readonly Row[]): readonly Row[] {
  const byPlace = new Map(rows.filter(({ kind }) => kind === 'iteration').map((row) => [row.place, row]))
  return [...byPlace.values()]
}

/** The number of an iteration, counted from 0. */
export function iterationNumber({ place }: Row): number {
  return Number(place.slice(place.lastIndexOf('/') + 1))
}
