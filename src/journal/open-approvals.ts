import type { Json } from '../base/json.ts'
import type { ApprovalView } from '../event/action-view.ts'
import type { Action, ActionAbout, Decision } from '../event/permission.ts'
import { originOf, parsePlace, placeText, type Place } from '../event/place.ts'
import { viewOf } from './approvals.ts'
import type { StartedRecord } from './matching.ts'
import type { RunIndex } from './run-index.ts'
import { startedEffects } from './uncertain.ts'

/** An unanswered approval question of a run. */
export interface OpenApproval {
  readonly view: ApprovalView
  readonly action: Action
  /** The newest record of the question. */
  readonly started: StartedRecord
}

/** The questions that a run waits for, in the order in which they were first asked. */
export function openApprovals(index: RunIndex): readonly OpenApproval[] {
  const open = startedEffects(index).flatMap(({ node, place, started }): readonly OpenApproval[] => {
    if (started.kind !== 'approval' || hasEnded(place, index)) return []
    const ended = node.ended === undefined ? undefined : index.source.at(node.ended)
    // a withdrawn question is asked again; the model was told about one that could not be asked
    if (ended?.k === 'ended' && ended.status === 'error') return []
    const { asked = started.t, until, about } = started
    const named = index.source.value(started.request) as Action
    const action = about === undefined ? named : { ...named, about: index.source.value(about) as ActionAbout }
    const id = numberOf(place, index) ?? ''
    const times = { asked, ...(until === undefined ? {} : { until }) }
    return [{ view: viewOf(action, { id, place: callOf(place), ...times }), action, started }]
  })
  return open.toSorted((left, right) => Number(left.view.id) - Number(right.view.id))
}

/**
 * Whether the asking work has ended: a piece of work of an agent whose record is kept for the agents that it started.
 */
function hasEnded(place: string, { tree }: RunIndex): boolean {
  const path = originOf(parsePlace(place))
  for (let length = path.length; length > 0; length -= 1) {
    const around = path.slice(0, length)
    if (tree.find(placeText(around))?.doneAgain !== undefined) return true
    if (isPieceOfWork(around)) return false
  }
  return false
}

/** A piece of work of a team agent: agents started in it continue after it has ended. */
function isPieceOfWork(place: Place): boolean {
  const [around, own] = place.slice(-2)
  return around?.kind === 'part' && around.name === 'input' && own?.kind === 'item'
}

/** The last answer to the question with this number; undefined: it was not answered, or does not exist. */
export function decidedApproval(index: RunIndex, call: string): Decision | undefined {
  const place = index.approvals.places.find((one) => isCalled(call, one, index))
  const node = place === undefined ? undefined : index.tree.find(place)
  const ended = node?.isOk === true && node.ended !== undefined ? index.source.at(node.ended) : undefined
  return ended?.k === 'ended' && ended.status === 'ok'
    ? (index.source.value(ended.value as Json) as Decision)
    : undefined
}

/** Whether a word names the question at a place: by its number, its place, or the place of its call. */
function isCalled(word: string, place: string, index: RunIndex): boolean {
  return word === place || word === callOf(place) || word === numberOf(place, index)
}

/** The question that a word names. */
export function findApproval(open: readonly OpenApproval[], word: string): OpenApproval | undefined {
  return open.find(({ view, started }) => [view.id, view.place, started.p].includes(word))
}

function numberOf(place: string, { approvals: { places } }: RunIndex): string | undefined {
  const index = places.indexOf(place)
  return index === -1 ? undefined : String(index + 1)
}

/** The place of the call that a question is about; the question is its part `approval`. */
function callOf(place: string): string {
  return place.slice(0, place.lastIndexOf('/'))
}
