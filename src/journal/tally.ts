import type { RunEvent } from '../event/event.ts'
import { errorView, type RunResult, statusOf, tokenTotals } from './summary.ts'

/** Counts the results of a run while it is running. */
export interface Tally {
  readonly add: (event: RunEvent) => void
  /** Adds a model that an earlier process of the run called. */
  readonly addModel: (model: string) => void
  /** Adds an ensemble that lacked a member in an earlier process, by its place. */
  readonly addDegraded: (place: string) => void
  /** An earlier process has planned changes. */
  readonly addPlanned: () => void
  /** Undefined before the last event of the run. */
  readonly result: () => RunResult | undefined
}

/** Tasks of the run itself; those of agents are deeper. */
const taskPlace = /^((?:redo\/\d+\/)?(?:iteration\/\d+\/)?)task\/\d+$/

/** The round or iteration of a task of the run itself, which replaces all earlier ones; undefined for other places. */
export function roundOfTask(place: string): string | undefined {
  return taskPlace.exec(place)?.[1]
}

const taskEnds = { 'task.completed': 'done', 'task.failed': 'failed', 'task.skipped': 'skipped' } as const

/**
 * A listener for the events of one run, from the first to the last. `target`: what is run, if its events do not say. A
 * round that is repeated does not count.
 */
export function createTally({ target: given }: { readonly target?: RunResult['target'] } = {}): Tally {
  const models = new Set<string>()
  const tasks = new Map<number, 'done' | 'failed' | 'skipped'>()
  let target = given ?? 'prompt'
  let round = ''
  /** The places of ensembles that lack a member. */
  const degraded = new Set<string>()
  let hasPlanned = false
  let end: Extract<RunEvent, { readonly type: 'run.completed' | 'run.failed' }> | undefined

  function count(wanted: string): number {
    return [...tasks.values()].filter((status) => status === wanted).length
  }

  function addTask({ agent, index, type }: TaskEnd): void {
    const own = roundOfTask(agent)
    if (own === undefined) return
    if (own !== round) tasks.clear()
    round = own
    tasks.set(index, taskEnds[type])
  }

  return {
    add(event) {
      if (event.type === 'run.started') target = given ?? event.target
      else if (event.type === 'usage') models.add(event.model)
      else if (event.type === 'ensemble.completed') {
        if (event.degraded) degraded.add(event.agent)
        else degraded.delete(event.agent)
      } else if (event.type === 'redo' && event.agent === '') {
        tasks.clear()
        for (const place of degraded) if (!place.startsWith(`redo/${event.count}/`)) degraded.delete(place)
      } else if (event.type === 'changes.planned') hasPlanned ||= event.items.some(({ success }) => success)
      else if (isTaskEnd(event)) addTask(event)
      else if (event.type === 'run.completed' || event.type === 'run.failed') end = event
    },
    addModel: (model) => void models.add(model),
    addDegraded: (place) => void degraded.add(place),
    addPlanned: () => void (hasPlanned = true),
    result() {
      if (end === undefined) return undefined
      const { run_id: id, stop_reason: stop, exit_code: exit, usage, cost_usd, repeated, error } = end
      return {
        id,
        target,
        status: statusOf(stop),
        exit,
        tasks: { done: count('done'), failed: count('failed'), skipped: count('skipped') },
        calls: usage.calls,
        tokens: tokenTotals(usage),
        cost_usd,
        models: [...models],
        repeated: repeated.length,
        ...(degraded.size > 0 ? { degraded: true as const } : {}),
        ...(hasPlanned && { not_applied: true as const }),
        ...(error === undefined ? {} : errorView(error.message, error)),
      }
    },
  }
}

type TaskEnd = Extract<RunEvent, { readonly type: keyof typeof taskEnds }>

function isTaskEnd(event: RunEvent): event is TaskEnd {
  return Object.hasOwn(taskEnds, event.type)
}
