import { modelText } from '../../base/model-text.ts'
import { constants } from 'node:os'
import type { EndedLine } from './run-line.ts'

/**
 * How a command ended, as the first line of its result for a model; undefined if it succeeded. `timeout` is in seconds.
 */
export function statusText({ end, stopped }: EndedLine, timeout: number | undefined): string | undefined {
  if (stopped !== undefined) return modelText`ended by its sandbox: ${stopped}`
  switch (end.kind) {
    case 'exited':
      return end.code === 0 ? undefined : `exit code ${end.code}${signalOf(end.code)}`
    case 'killed':
      return modelText`ended by ${end.signal}`
    case 'timed_out':
      return modelText`stopped at its time limit${timeout === undefined ? '' : ` of ${timeout} s`}; this is what it had printed`
  }
}

/** Shells report the signal that ended a program as an exit code above 128. */
function signalOf(code: number): string {
  const found = Object.entries(constants.signals).find(([, number]) => number === code - 128)
  return found === undefined ? '' : ` (${found[0]})`
}
