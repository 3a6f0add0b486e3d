import { oneLine } from './format.ts'

/** What the model call that a lane shows is doing. */
type Activity =
  | { readonly kind: 'none' }
  /** `model`: only when it is not the one that was asked first. */
  | { readonly kind: 'asking'; readonly model?: string }
  | { readonly kind: 'thinking' }
  | { readonly kind: 'answering' }
  | { readonly kind: 'retry'; readonly until: number; readonly message: string }

/** One thing that is going on: a task, an input of an agent, or a stage of the whole run. */
export interface Lane {
  readonly key: string
  /** When it began, in milliseconds of the clock of the view. */
  readonly since: number
  label: string
  /** The stage of its chain; empty between stages. */
  stage: string
  /** Agents that run in it by their place, oldest first; the name of model calls is empty. */
  readonly agents: Map<string, string>
  /** The place whose model call is shown: the first one that has not ended. */
  follows: string | undefined
  activity: Activity
  /** The end of the text that streams in. */
  tail: string
}

const tailLength = 400
const idle: Activity = { kind: 'none' }

export function createLane(key: string, label: string, since: number): Lane {
  return { key, since, label, stage: '', agents: new Map(), follows: undefined, activity: idle, tail: '' }
}

/** A model call began at a place. */
export function follow(lane: Lane, place: string): void {
  if (lane.follows !== undefined) return
  lane.follows = place
  lane.activity = { kind: 'asking' }
  lane.tail = ''
}

/** The model call at a place is over. */
export function unfollow(lane: Lane, place: string): void {
  if (lane.follows !== place) return
  lane.follows = undefined
  lane.activity = idle
  lane.tail = ''
}

/** A piece of an answer. Pieces of other calls in the same lane are left out: two texts at once make none. */
export function addPiece(lane: Lane, place: string, piece: { readonly text: string; readonly reasoning?: true }): void {
  if (lane.follows === undefined) follow(lane, place)
  if (lane.follows !== place) return
  const kind = piece.reasoning === true ? 'thinking' : 'answering'
  const before = lane.activity.kind === kind ? lane.tail : ''
  lane.activity = { kind }
  lane.tail = (before + piece.text.slice(-tailLength)).slice(-tailLength)
}

const messageLength = 300

/** The model call at a place is made again at a time. What it sent so far does not count. */
export function waitForRetry(
  lane: Lane,
  place: string,
  { until, message }: { readonly until: number; readonly message: string },
): void {
  if (lane.follows !== place) return
  lane.tail = ''
  lane.activity = { kind: 'retry', until, message: oneLine(message.slice(0, messageLength)) }
}

/** Another model is asked in place of the one that failed. */
export function askInstead(lane: Lane, place: string, model: string): void {
  if (lane.follows !== place) return
  lane.tail = ''
  lane.activity = { kind: 'asking', model: oneLine(model.slice(0, messageLength)) }
}
