/**
 * Long series of the same trial have their core in `npm test`; `npm run soak -- series` runs all of it, in each test
 * file that imports this one.
 */
const isWholeSeries = process.env['BATON_SERIES'] === 'whole'

/** A part of a series; `npm run soak -- series` uses the second one. */
export function core<T>(few: T, all: T): T {
  return isWholeSeries ? all : few
}
