import { sha256 } from '../base/hash.ts'
import type { ContextWith } from '../event/context.ts'
import { placeText } from '../event/place.ts'

/**
 * A unique name for the agent run or task at this place of the run. It is always the same for a place, so that a
 * resumed run uses the same names as before. Written as a UUID of version 8, whose content is implementation-defined.
 */
export function runUid({ scope }: ContextWith<'runId' | 'at', unknown>): string {
  const hash = sha256(`${scope.runId} ${placeText(scope.at)}`)
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `a${hash.slice(17, 20)}`]
  return [...parts, hash.slice(20, 32)].join('-')
}

/** The time in the id of a run, as `newRunId` writes it: the second, then three hex digits of milliseconds. */
const timed = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-([\da-f]{3})/

/**
 * The name of a run as scripts see it: a UUID of version 7. Its time is that of the run's id and its other bits are a
 * hash of the id, so it is the same when the run is resumed or replayed. An id without a time results in the year 1970.
 */
export function sessionUid(runId: string): string {
  const hash = sha256(runId)
  const time = timeOf(runId).toString(16).padStart(12, '0')
  const parts = [time.slice(0, 8), time.slice(8), `7${hash.slice(0, 3)}`, `a${hash.slice(3, 6)}`, hash.slice(6, 18)]
  return parts.join('-')
}

function timeOf(runId: string): number {
  const [, year, month, day, hour, minute, second, milliseconds = ''] = timed.exec(runId) ?? []
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(time) ? 0 : time + Number.parseInt(milliseconds, 16)
}
