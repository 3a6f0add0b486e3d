/**
 * Long series of the same trial have their core in `npm test`; `npm run soak -- series` runs all of it, in each test
 * file that imports this one.
 */
const isWholeSeries = process.env['BATON_SERIES'] === 'whole'

/** A count in a series; `npm run soak -- series` uses the second number. */
export function core(few: number, all: number): number {
  return isWholeSeries ? all : few
}
