import type { RunEvent, RunStopReason } from '../event/event.ts'
import { isNested } from '../event/place.ts'
import { noUsage, type Usage } from '../event/message.ts'
import { oneLine } from './format.ts'
import {
  type Activity,
  addPiece,
  type Counted,
  follow,
  isOwnStage,
  textLimits,
  type Lane,
  labelOf,
  laneOf,
  shortLabel,
  show,
} from './lane.ts'
import { isOfTeam } from '../event/sub-agents.ts'
import { createTeamMembers } from './team-members.ts'
import { callText, progressText } from './tool-text.ts'

/** The current progress of a run. */
export interface Progress {
  readonly target: 'prompt' | 'agent'
  /** The label a script has set for the run; empty without one. */
  readonly title: string
  /** `iteration 1 of 5`; empty without iterations. */
  readonly iteration: string
  /** Tasks of a prompt file; 0 before they are known, and for agents. */
  readonly planned: number
  /** Tasks that have ended, including failed and skipped ones; outputs of an agent. */
  readonly finished: number
  readonly failed: number
  readonly skipped: number
  /** Steps of a workflow, if there is one. */
  readonly steps: Counted | undefined
  /** `5 agents, 3 done`; empty without a team. */
  readonly team: string
  readonly usage: Usage
  readonly costUsd: number | null
  /** How the run ended, once it has. */
  readonly ending: RunStopReason | undefined
  /** What is in progress, oldest first. */
  readonly lanes: ReadonlyMap<string, Lane>
}

export interface ProgressKeeper {
  /** Handles an event in constant time: runs have many tasks, and answers many pieces. */
  readonly add: (event: RunEvent) => void
  readonly now: () => Progress
}

type StepEvent = Extract<RunEvent, { readonly type: 'workflow.started' | `step.${string}` }>

const nothing = {
  target: 'prompt',
  title: '',
  iteration: '',
  planned: 0,
  finished: 0,
  failed: 0,
  skipped: 0,
  steps: undefined,
  team: '',
  usage: noUsage,
  costUsd: 0,
  ending: undefined,
} as const

/** Follows a run by its events. It keeps only work in progress, so memory is bounded by concurrency. */
export function createProgress(clock: () => number): ProgressKeeper {
  const lanes = new Map<string, Lane>()
  /** Labels that scripts have set for inputs of an agent before the inputs have a lane. */
  const labels = new Map<string, string>()
  const members = createTeamMembers()
  /** Lane keys of team agents, by agent id. */
  const agentLanes = new Map<string, string>()
  let counts: Omit<Progress, 'lanes'> = nothing

  function open(place: string, label?: string): Lane {
    const key = laneOf(place)
    const known = lanes.get(key)
    if (known !== undefined) return known
    const lane: Lane = {
      key,
      since: clock(),
      label: label ?? labels.get(key) ?? labelOf(key),
      stage: '',
      agents: new Map(),
      follows: undefined,
      activity: { kind: 'none' },
      tail: '',
      calls: new Map(),
    }
    lanes.set(key, lane)
    return lane
  }

  function within(place: string, change: (lane: Lane) => void): void {
    const lane = lanes.get(laneOf(place))
    if (lane !== undefined) change(lane)
  }

  /** Updates the model call at a place if its lane shows it; undefined: the call has ended. */
  function showCall(place: string, activity: Activity | undefined): void {
    within(place, (lane) => {
      if (lane.follows === place) show(lane, activity && place, activity)
    })
  }

  /** Stages of the run and inputs of an agent have no end event: they end with the last thing in them. */
  function closeIfDone(lane: Lane): void {
    const hasEndEvent = counts.target === 'prompt' && /(?:^|\/)(?:task\/\d+|(?:step|member)\/[^/]+)$/.test(lane.key)
    if (!hasEndEvent && lane.stage === '' && lane.agents.size === 0) lanes.delete(lane.key)
  }

  function endTask(event: RunEvent, counted: Partial<Progress>): void {
    if (isNested(event)) return
    lanes.delete(laneOf(event.agent))
    // for an agent, outputs are counted instead
    if (counts.target === 'prompt') counts = { ...counts, finished: counts.finished + 1, ...counted }
  }

  /** Handles the steps of a task's workflow, not those of a workflow that an agent runs. */
  function addStep(event: StepEvent): void {
    const { agent: place } = event
    if (laneOf(place) !== place) return
    switch (event.type) {
      case 'workflow.started':
        counts = { ...counts, steps: { planned: event.steps.length, finished: 0 } }
        return
      case 'step.started': {
        const lane = open(place, `  ${shortLabel(event.id)}`)
        if (event.items !== undefined) lane.items = { planned: event.items, finished: 0 }
        return
      }
      case 'step.item':
        return within(place, (lane) => {
          if (lane.items === undefined) return
          const { failed = 0, ...counted } = lane.items
          const all = failed + (event.status === 'failed' ? 1 : 0)
          lane.items = { ...counted, finished: counted.finished + 1, ...(all === 0 ? {} : { failed: all }) }
        })
      case 'step.completed':
      case 'step.skipped':
      case 'step.partial':
      case 'step.failed':
      case 'step.suspended':
        lanes.delete(place)
        if (counts.steps !== undefined) {
          counts = { ...counts, steps: { ...counts.steps, finished: counts.steps.finished + 1 } }
        }
    }
  }

  /** Shows which agents are queued, and who waits for whom. */
  function addTeam(event: Extract<RunEvent, { readonly type: `collab.${string}` | `delegate.${string}` }>): void {
    members.add(event)
    counts = { ...counts, team: members.text() }
    switch (event.type) {
      case 'collab.status': {
        const lane = lanes.get(agentLanes.get(event.thread_id) ?? '')
        if (lane !== undefined) lane.isQueued = members.isQueued(event.thread_id)
        return
      }
      case 'collab.waiting_begin': {
        const [first, ...others] = event.thread_ids.map((id) => members.nameOf(id))
        const text = `waiting for ${first ?? 'messages'}${others.length === 0 ? '' : ` (+${others.length})`}`
        return within(event.agent, (lane) => lane.calls.set(event.call_id, { text }))
      }
      case 'collab.waiting_end':
        return within(event.agent, (lane) => lane.calls.delete(event.call_id))
      default:
    }
  }

  function startOver(planned: number): void {
    counts = { ...counts, planned, finished: 0, failed: 0, skipped: 0, steps: undefined }
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
      case 'iteration.started':
        if (!isNested(event)) counts = { ...counts, iteration: iterationText(counts.iteration, event) }
        return
      case 'iteration.completed':
        if (!isNested(event)) counts = { ...counts, iteration: withResult(counts.iteration, event) }
        return
      case 'iterate.completed':
        if (!isNested(event)) counts = { ...counts, iteration: allText(counts.iteration, event) }
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
      case 'workflow.started':
      case 'step.started':
      case 'step.item':
      case 'step.completed':
      case 'step.skipped':
      case 'step.partial':
      case 'step.failed':
      case 'step.suspended':
        return addStep(event)
      case 'member.started':
        if (laneOf(place) === place) open(place, `  ${shortLabel(event.name)}`)
        return
      case 'member.completed':
      case 'member.failed':
      case 'member.timed_out':
      case 'member.stopped':
      case 'member.suspended':
        if (laneOf(place) === place) lanes.delete(place)
        return
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
        const { description, id } = event
        const inTeam = id !== undefined && isOfTeam(place)
        const who = inTeam ? members.nameOf(id, event.name) : event.name
        // the target itself has no other label
        const label = description === undefined ? name : `  ${shortLabel(`${who}: ${description}`)}`
        const lane = open(place, inTeam || place === laneOf(place) ? label : undefined)
        lane.agents.set(place, inTeam ? '' : name)
        if (inTeam) {
          agentLanes.set(id, lane.key)
          lane.isQueued = members.isQueued(id)
          lane.costUsd ??= 0
        }
        return
      }
      case 'agent.suspended':
        // the agent waits for the user, and other work continues
        if (event.id !== undefined) lanes.delete(isOfTeam(place) ? laneOf(place) : place)
        return
      case 'agent.completed':
      case 'agent.failed':
        showCall(place, undefined)
        return within(place, (lane) => {
          lane.agents.delete(place)
          for (const id of lane.calls.keys()) if (id.startsWith(`${place}/`)) lane.calls.delete(id)
          closeIfDone(lane)
        })
      case 'tool.started':
        return within(place, (lane) => lane.calls.set(event.id, { text: callText(event.name, event.input) }))
      case 'tool.progress':
        return within(place, (lane) => showProgress(lane, event))
      case 'tool.output':
        return within(place, (lane) => {
          const call = lane.calls.get(event.id)
          if (call !== undefined) lane.calls.set(event.id, { ...call, output: event.text.split('\n') })
        })
      case 'tool.completed':
        return within(place, (lane) => lane.calls.delete(event.id))
      case 'item.started':
        if (event.item.type === 'summary') return showCall(place, { kind: 'summarizing' })
        return within(place, (lane) => follow(lane, place))
      case 'item.delta':
        return within(place, (lane) => addPiece(lane, place, event))
      case 'item.completed':
        return showCall(place, undefined)
      case 'retry': {
        const message = oneLine(event.error.message.slice(0, textLimits.message))
        return showCall(place, { kind: 'retry', until: clock() + event.delay_ms, message })
      }
      case 'fallback':
        return showCall(place, { kind: 'asking', model: oneLine(event.to.slice(0, textLimits.message)) })
      case 'usage':
        counts = { ...counts, usage: event.total, costUsd: event.total_cost_usd }
        return within(place, (lane) => {
          if (lane.costUsd !== undefined) lane.costUsd += event.cost_usd ?? 0
        })
      case 'output':
        counts = { ...counts, finished: counts.finished + 1 }
        return
      case 'label':
        return setLabel(event)
      case 'collab.status':
      case 'collab.waiting_begin':
      case 'collab.waiting_end':
      case 'delegate.item':
        return addTeam(event)
      case 'run.completed':
      case 'run.failed':
        counts = { ...counts, usage: event.usage, costUsd: event.cost_usd, ending: event.stop_reason }
        return
      default:
    }
  }

  return { add, now: () => ({ ...counts, lanes }) }
}

/** A call made by a script is known only from its progress events, so they also start and end it. */
function showProgress(lane: Lane, event: Extract<RunEvent, { readonly type: 'tool.progress' }>): void {
  if (event.ended === true) return void lane.calls.delete(event.id)
  const { text = callText(event.name, null) } = lane.calls.get(event.id) ?? {}
  lane.calls.set(event.id, { text, progress: progressText(event) })
}

/** Numbered like the step lines on stderr. The results of the previous iteration stay until the next ones arrive. */
function iterationText(
  before: string,
  { iteration, count }: { readonly iteration: number; readonly count?: number },
): string {
  const [, ...results] = before.split(' · ')
  return [`iteration ${iteration}${count === undefined ? '' : ` of ${count}`}`, ...results].join(' · ')
}

/** After the last iteration: `3 iterations`, with the results of the last one. */
function allText(before: string, { result }: Extract<RunEvent, { readonly type: 'iterate.completed' }>): string {
  const { iterations_attempted: all } = result as { readonly iterations_attempted: number }
  return [all === 1 ? '1 iteration' : `${all} iterations`, ...before.split(' · ').slice(1)].join(' · ')
}

type IterationEnd = Extract<RunEvent, { readonly type: 'iteration.completed' }>

/** Adds the results of an iteration, which stay until the next one has ended. */
function withResult(iteration: string, { changed_files: files, score }: IterationEnd): string {
  const [position = ''] = iteration.split(' · ')
  const changed = files.length === 1 ? '1 file' : `${files.length} files`
  return [position, ...(score === undefined ? [] : [`score ${score}`]), changed].join(' · ')
}
