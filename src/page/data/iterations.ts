import type { Row } from './row.ts'

const iterationPlace = /(?:^|\/)iteration\/\d+$/

/** The rows of the iterations of a run, in their order; of one that has begun again the newest. */
export function iterationRows(rows: readonly Row[]): readonly Row[] {
  const byPlace = new Map(rows.filter(({ place }) => iterationPlace.test(place)).map((row) => [row.place, row]))
  return [...byPlace.values()]
}

/** The number of an iteration, from 0 as everywhere. */
export function iterationNumber({ place }: Row): number {
  return Number(place.slice(place.lastIndexOf('/') + 1))
}
