/**
 * Long series of one and the same trial have their core in `npm test`; `npm run soak -- series` runs all of it, in each test
 * file that imports this one.
 */
const isWholeSeries = process.env['BATON_SERIES'] === 'whole'

/** How many of something: the second number in `npm run soak -- series`. */
export function core(few: number, all: number): number {
  return isWholeSeries ? all : few
}
