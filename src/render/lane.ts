import { startedAgentAround } from '../event/sub-agents.ts'
import { oneLine } from './format.ts'

export interface Counted {
  readonly planned: number
  readonly finished: number
}

/**
 * A unit of work in progress: a task, a step of a workflow, a member of an ensemble, an input of an agent, an agent
 * that a model delegated work to, or a stage of the whole run.
 */
export interface Lane {
  readonly key: string
  /** Start time in milliseconds on the view's clock. */
  readonly since: number
  label: string
  /** The current stage of its chain; empty between stages. */
  stage: string
  /** Names of the agents running in it, by place, oldest first; empty for model calls. */
  readonly agents: Map<string, string>
  /** The place of the model call that is shown: the first one that has not ended. */
  follows: string | undefined
  activity: Activity
  /** Tool calls in progress by id, oldest first. */
  readonly calls: Map<string, ShownCall>
  /** Only for a step with `for_each`. */
  items?: Counted & { readonly failed?: number }
  /** The agent belongs to a team and is waiting for a free slot. */
  isQueued?: boolean
  /** Cost in US dollars of the model calls with a known price; only for an agent of a team. */
  costUsd?: number
  /** The end of the streamed text. */
  tail: string
}

interface ShownCall {
  readonly text: string
  /** Progress, if its server reports any. */
  readonly progress?: string
  /** The last lines that it has printed. */
  readonly output?: readonly string[]
}

export type Activity =
  | { readonly kind: 'none' }
  /** `model`: set if it is not the first choice. */
  | { readonly kind: 'asking'; readonly model?: string }
  | { readonly kind: 'thinking' }
  | { readonly kind: 'answering' }
  /** The conversation has become long; what is streamed is not shown. */
  | { readonly kind: 'summarizing' }
  | { readonly kind: 'retry'; readonly until: number; readonly message: string }

/** How many characters of each text are kept; the view truncates them further to the width of the screen. */
export const textLimits = { label: 200, message: 300, tail: 400 } as const

/** Switches a lane to a different model call, or to none. */
export function show(lane: Lane, follows: string | undefined, activity: Activity = { kind: 'none' }): void {
  lane.follows = follows
  lane.activity = activity
  lane.tail = ''
}

/** Shows a model call in a lane unless it already shows one. */
export function follow(lane: Lane, place: string): void {
  if (lane.follows === undefined) show(lane, place, { kind: 'asking' })
}

/** Adds a piece of an answer. Pieces of other calls in the lane are ignored: interleaved texts would make no sense. */
export function addPiece(lane: Lane, place: string, piece: { readonly text: string; readonly reasoning?: true }): void {
  follow(lane, place)
  if (lane.follows !== place || lane.activity.kind === 'summarizing') return
  const kind = piece.reasoning === true ? 'thinking' : 'answering'
  const before = lane.activity.kind === kind ? lane.tail : ''
  lane.activity = { kind }
  lane.tail = (before + piece.text.slice(-textLimits.tail)).slice(-textLimits.tail)
}

/**
 * The part of the run that a place belongs to: the agent that a model delegated work to
 * (`task/0/ask/turn/0/tool/1:task/agent/Explore`) or started for its team (`…/tool/1:spawn_agent/agent/worker`);
 * otherwise its task (`task/3`, `redo/1/task/3`, `main/task/3`), the step of its workflow (`task/0/step/draft`), the
 * member of its ensemble (`task/0/member/a`), a stage of the whole run (`pre`, `post`), the agent that is the target
 * (`main`), or the run itself (the place unchanged).
 */
export function laneOf(place: string): string {
  const agent = startedAgentAround(place)
  if (agent !== undefined) return agent
  const found = /^(?:\w+\/\d+\/)*?(?:(?:main\/)?task\/\d+(?:\/(?:step|member)\/[^/]+)?|pre|post|main)(?=\/|$)/.exec(
    place,
  )
  return found === null ? place : found[0]
}

/** True for a chain of the run or of one of its tasks, false for that of a prompt file that runs as an agent. */
export function isOwnStage(place: string): boolean {
  const lane = laneOf(place)
  return place === lane || !place.slice(lane.length + 1).includes('/')
}

/** A label on one line, truncated to about a screen width. */
export function shortLabel(text: string): string {
  return oneLine(text.slice(0, textLimits.label))
}

/** For an agent the position of its input, otherwise the stage. Tasks of prompt files bring their own labels. */
export function labelOf(key: string): string {
  const [, input] = /(?:^|\/)main\/task\/(\d+)$/.exec(key) ?? []
  return input === undefined ? (key.split('/').at(-1) ?? '') : `input ${Number(input) + 1}`
}
