import { afterAll } from 'vitest'

/**
 * Long series of the same trial have their core in `npm test`; `npm run soak -- series` runs all of it, in each test
 * file that imports this one.
 */
const isWholeSeries = process.env['BATON_SERIES'] === 'whole'

/** A part of a series; `npm run soak -- series` uses the second one. */
export function core<T>(few: T, all: T): T {
  return isWholeSeries ? all : few
}

/** Prints what came of a whole series. */
export function tellSeries(text: string): void {
  if (isWholeSeries) process.stdout.write(`${text}\n`)
}

export interface KillCount {
  /** `isHit`: the process was killed. The number of operations varies, so that a late point may be beyond the end. */
  readonly add: (tried: { readonly isHit: boolean; readonly problems: readonly string[] }) => void
}

/** Counts the trials of a test file; the whole series prints the total at its end. */
export function countKills(name: string): KillCount {
  let [points, hit, violations] = [0, 0, 0]
  afterAll(() => {
    tellSeries(`${name}: ${points} points, ${hit} hit, ${points - hit} beyond the end, ${violations} violations`)
  })
  return {
    add({ isHit, problems }) {
      points += 1
      if (isHit) hit += 1
      if (problems.length > 0) violations += 1
    },
  }
}
