/*
 * What the place of a boundary says about it.
 */

/** How a boundary that is finished has ended. */
export type DoneStatus = 'done' | 'skipped' | 'failed'

/** What a boundary is: `task`, `iteration`, `step`, `member`, `section`, or `agent` for all others. */
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

/** A step of a workflow, not one of its items. */
function isStep(place: string): boolean {
  return /(?:^|\/)step\/[^/]+$/.test(place)
}

/** An agent that a model has given work to, or a piece of the work of one that it has started for its team. */
export function isGivenWork(place: string): boolean {
  return /\/tool\/\d+:(?:task\/agent\/[^/]+|spawn_agent\/agent\/[^/]+\/input\/\d+)$/.test(place)
}

/** A member of an ensemble. */
export function isMember(place: string): boolean {
  return /(?:^|\/)member\/[^/]+$/.test(place)
}

/** What makes one answer of those of the members. */
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

/** A member that gave no answer is done with, and has failed; one that was stopped is left out. */
export function statusOfDone(place: string, status: unknown): DoneStatus {
  if (status === 'skipped' || (isMember(place) && status === 'stopped')) return 'skipped'
  if (isMember(place)) return status === 'answered' ? 'done' : 'failed'
  return isGivenWork(place) && status !== 'done' ? 'failed' : 'done'
}
