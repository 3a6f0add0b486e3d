import { oneLine } from './format.ts'

export interface Counted {
  readonly planned: number
  readonly finished: number
}

/**
 * One thing that is in progress: a task, a step of a workflow, a member of an ensemble, an input of an agent, an agent that a
 * model has given work to, or a stage of the whole run.
 */
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
  /** Calls of tools that are going on, oldest first, by their ids. */
  readonly calls: Map<string, ShownCall>
  /** Of a step with `for_each`. */
  items?: Counted
  /** Of an agent of a team that may not work yet. */
  isQueued?: boolean
  /** What the model calls of an agent of a team came to, in US dollars, as far as their prices are known. */
  costUsd?: number
  /** The end of the text that streams in. */
  tail: string
}

interface ShownCall {
  readonly text: string
  /** How far it is, where its server says so. */
  readonly progress?: string
}

export type Activity =
  | { readonly kind: 'none' }
  /** `model`: only when it is not the one that was asked first. */
  | { readonly kind: 'asking'; readonly model?: string }
  | { readonly kind: 'thinking' }
  | { readonly kind: 'answering' }
  | { readonly kind: 'retry'; readonly until: number; readonly message: string }

/** Characters that are kept of texts, before they are cut to the width of the screen. */
export const kept = { label: 200, message: 300, tail: 400 } as const

/** Shows another model call in a lane, or none. */
export function show(lane: Lane, follows: string | undefined, activity: Activity = { kind: 'none' }): void {
  lane.follows = follows
  lane.activity = activity
  lane.tail = ''
}

/** Shows a model call in a lane that shows none. */
export function follow(lane: Lane, place: string): void {
  if (lane.follows === undefined) show(lane, place, { kind: 'asking' })
}

/** A piece of an answer. Pieces of other calls in the same lane are left out: two interleaved texts make no sense. */
export function addPiece(lane: Lane, place: string, piece: { readonly text: string; readonly reasoning?: true }): void {
  follow(lane, place)
  if (lane.follows !== place) return
  const kind = piece.reasoning === true ? 'thinking' : 'answering'
  const before = lane.activity.kind === kind ? lane.tail : ''
  lane.activity = { kind }
  lane.tail = (before + piece.text.slice(-kept.tail)).slice(-kept.tail)
}

/**
 * The part of the run that a place belongs to: the agent that a model has given work to (`task/0/ask/turn/0/tool/1:task/agent/Explore`), or
 * has started for its team (`…/tool/1:spawn_agent/agent/worker`), else its task (`task/3`, `redo/1/task/3`, `main/task/3`), the step of its workflow (`task/0/step/draft`) or the member of its
 * ensemble (`task/0/member/a`), a stage of the whole run (`pre`, `post`), the agent that is the target (`main`), or the run
 * itself (the place as it is).
 */
export function laneOf(place: string): string {
  const given = place.includes('/agent/') ? /^.*\/tool\/\d+:(?:task|spawn_agent)\/agent\/[^/]+/.exec(place) : null
  if (given !== null) return given[0]
  const found = /^(?:\w+\/\d+\/)*?(?:(?:main\/)?task\/\d+(?:\/(?:step|member)\/[^/]+)?|pre|post|main)(?=\/|$)/.exec(
    place,
  )
  return found === null ? place : found[0]
}

/** A chain of the run or of one of its tasks, not one of a prompt file that runs as an agent. */
export function isOwnStage(place: string): boolean {
  const lane = laneOf(place)
  return place === lane || !place.slice(lane.length + 1).includes('/')
}

/** On one line, and not longer than a screen shows. */
export function shortLabel(text: string): string {
  return oneLine(text.slice(0, kept.label))
}

/** Of an agent the position of its input, else the stage. Tasks of prompt files have labels of their own. */
export function labelOf(key: string): string {
  const [, input] = /(?:^|\/)main\/task\/(\d+)$/.exec(key) ?? []
  return input === undefined ? (key.split('/').at(-1) ?? '') : `input ${Number(input) + 1}`
}
