/*
 * What the place of a boundary says about it.
 */

/** How a finished boundary ended. */
export type DoneStatus = 'done' | 'skipped' | 'failed'

/** The kind of a boundary: `task`, `iteration`, `step`, `member`, `section`, or `agent` for all others. */
export function kindOfPlace(place: string): string {
  if (isTask(place)) return 'task'
  if (isIteration(place)) return 'iteration'
  if (isStep(place)) return 'step'
  if (isMember(place)) return 'member'
  return /(?:^|\/)(?:before_all|data|output|after_all|chunk)$/.test(place) ? 'section' : 'agent'
}

export function isIteration(place: string): boolean {
  return /(?:^|\/)iteration\/\d+$/.test(place)
}

function isTask(place: string): boolean {
  return /(?:^|\/)task\/\d+$/.test(place)
}

/** A step of a workflow, but not one of its items. */
function isStep(place: string): boolean {
  return /(?:^|\/)step\/[^/]+$/.test(place)
}

/** An agent that a model delegated work to, or a piece of work of an agent in its team. */
export function isGivenWork(place: string): boolean {
  return /\/tool\/\d+:(?:task\/agent\/[^/]+|spawn_agent\/agent\/[^/]+\/input\/\d+)$/.test(place)
}

/** A member of an ensemble. */
export function isMember(place: string): boolean {
  return /(?:^|\/)member\/[^/]+$/.test(place)
}

/** The part that merges the answers of the members into one. */
function isAggregate(place: string): boolean {
  return /(?:^|\/)aggregate$/.test(place)
}

/** Parts whose value says how they ended. */
export function hasStatus(place: string): boolean {
  return isTask(place) || isStep(place) || isMember(place) || isGivenWork(place)
}

export function hasLabel(place: string): boolean {
  return hasStatus(place) || isAggregate(place)
}

/** A member without an answer is finished, and failed; a member that was stopped is skipped. */
export function statusOfDone(place: string, status: unknown): DoneStatus {
  if (status === 'skipped' || (isMember(place) && status === 'stopped')) return 'skipped'
  if (isMember(place)) return status === 'answered' ? 'done' : 'failed'
  return isGivenWork(place) && status !== 'done' ? 'failed' : 'done'
}
