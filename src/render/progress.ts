import type { RunEvent, RunStopReason } from '../event/event.ts'
import { noUsage, type Usage } from '../event/message.ts'
import { oneLine } from './format.ts'
import { addPiece, askInstead, createLane, follow, type Lane, unfollow, waitForRetry } from './lane.ts'
import { isNested, laneOf } from './nested.ts'

/** Where a run is now. */
export interface Progress {
  readonly target: 'prompt' | 'agent'
  /** What a script called the run; empty when it did not. */
  readonly title: string
  /** Tasks of a prompt file; 0 before they are known, and for agents. */
  readonly planned: number
  /** Tasks that are over, failed and skipped ones included; outputs of an agent. */
  readonly finished: number
  readonly failed: number
  readonly skipped: number
  readonly usage: Usage
  readonly costUsd: number | null
  /** How the run ended, once it has. */
  readonly ending: RunStopReason | undefined
  /** What is going on, oldest first. */
  readonly lanes: ReadonlyMap<string, Lane>
}

export interface ProgressKeeper {
  /** Takes in one event, in constant time: runs have many tasks, and answers many pieces. */
  readonly add: (event: RunEvent) => void
  readonly now: () => Progress
}

const nothing = {
  target: 'prompt',
  title: '',
  planned: 0,
  finished: 0,
  failed: 0,
  skipped: 0,
  usage: noUsage,
  costUsd: 0,
  ending: undefined,
} as const

const labelLength = 200

/** Follows a run by its events. Only what is going on is kept, so memory is bounded by what runs at the same time. */
export function createProgress(clock: () => number): ProgressKeeper {
  const lanes = new Map<string, Lane>()
  /** What scripts called inputs of an agent before a lane was there for them. */
  const labels = new Map<string, string>()
  let counts: Omit<Progress, 'lanes'> = nothing

  function open(place: string, label?: string): Lane {
    const key = laneOf(place)
    const known = lanes.get(key)
    if (known !== undefined) return known
    const lane = createLane(key, label ?? labels.get(key) ?? labelOf(key), clock())
    lanes.set(key, lane)
    return lane
  }

  function within(place: string, change: (lane: Lane) => void): void {
    const lane = lanes.get(laneOf(place))
    if (lane !== undefined) change(lane)
  }

  /** Stages of the run and inputs of an agent are over with the last thing in them; tasks say it themselves. */
  function closeIfDone(lane: Lane): void {
    const saysItself = counts.target === 'prompt' && /(?:^|\/)task\/\d+$/.test(lane.key)
    if (!saysItself && lane.stage === '' && lane.agents.size === 0) lanes.delete(lane.key)
  }

  function endTask(event: RunEvent, counted: Partial<Progress>): void {
    if (isNested(event)) return
    lanes.delete(laneOf(event.agent))
    // outputs tell how many inputs of an agent are done
    if (counts.target === 'prompt') counts = { ...counts, finished: counts.finished + 1, ...counted }
  }

  function startOver(planned: number): void {
    counts = { ...counts, planned, finished: 0, failed: 0, skipped: 0 }
    lanes.clear()
    labels.clear()
  }

  function setLabel(event: Extract<RunEvent, { readonly type: 'label' }>): void {
    if (isNested(event)) return
    const label = shortLabel(event.label)
    if (event.scope === 'run') counts = { ...counts, title: label }
    else labels.set(laneOf(event.agent), label)
    if (event.scope === 'task') within(event.agent, (lane) => (lane.label = label))
  }

  function add(event: RunEvent): void {
    const { agent: place } = event
    switch (event.type) {
      case 'run.started':
        counts = { ...counts, target: event.target }
        return
      case 'tasks.planned':
        if (!isNested(event)) startOver(event.count)
        return
      case 'redo':
        if (!isNested(event)) startOver(0)
        return
      case 'task.started':
        if (!isNested(event)) open(place, shortLabel(event.label))
        return
      case 'task.completed':
        return endTask(event, {})
      case 'task.skipped':
        return endTask(event, { skipped: counts.skipped + 1 })
      case 'task.failed':
        return endTask(event, { failed: counts.failed + 1 })
      case 'stage.started':
        if (isOwnStage(place)) open(place).stage = event.stage
        return
      case 'stage.completed':
      case 'stage.failed':
        if (!isOwnStage(place)) return
        return within(place, (lane) => {
          lane.stage = ''
          closeIfDone(lane)
        })
      case 'agent.started': {
        const name = event.kind === 'llm' ? '' : shortLabel(event.name)
        // the target itself has no other name
        const lane = open(place, place === laneOf(place) ? name : undefined)
        lane.agents.set(place, name)
        return
      }
      case 'agent.completed':
      case 'agent.failed':
        return within(place, (lane) => {
          lane.agents.delete(place)
          unfollow(lane, place)
          closeIfDone(lane)
        })
      case 'item.started':
        return within(place, (lane) => follow(lane, place))
      case 'item.delta':
        return within(place, (lane) => addPiece(lane, place, event))
      case 'item.completed':
        return within(place, (lane) => unfollow(lane, place))
      case 'retry': {
        const wait = { until: clock() + event.delay_ms, message: event.error.message }
        return within(place, (lane) => waitForRetry(lane, place, wait))
      }
      case 'fallback':
        return within(place, (lane) => askInstead(lane, place, event.to))
      case 'usage':
        counts = { ...counts, usage: event.total, costUsd: event.total_cost_usd }
        return
      case 'output':
        counts = { ...counts, finished: counts.finished + 1 }
        return
      case 'label':
        return setLabel(event)
      case 'run.completed':
      case 'run.failed':
        counts = { ...counts, usage: event.usage, costUsd: event.cost_usd, ending: event.stop_reason }
        return
      default:
    }
  }

  return { add, now: () => ({ ...counts, lanes }) }
}

/** A chain of the run or of one of its tasks, not one of a prompt file that runs as an agent. */
function isOwnStage(place: string): boolean {
  const lane = laneOf(place)
  return place === lane || !place.slice(lane.length + 1).includes('/')
}

function shortLabel(text: string): string {
  return oneLine(text.slice(0, labelLength))
}

/** Of an agent the position of its input, else the stage. Tasks of prompt files have labels of their own. */
function labelOf(key: string): string {
  const [, input] = /(?:^|\/)main\/task\/(\d+)$/.exec(key) ?? []
  return input === undefined ? (key.split('/').at(-1) ?? '') : `input ${Number(input) + 1}`
}
