import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/error.ts'
import type { Trigger } from '../../config/triggers.ts'
import { problemText, Refusal } from '../refusal.ts'
import type { TriggerEvent, TriggerMemory } from './memory.ts'

/** What came of an event. */
export type Fired =
  | { readonly kind: 'started'; readonly run: string }
  /** It starts when the run in progress has ended, the server takes another one, or the next server follows the trigger. */
  | { readonly kind: 'queued' }
  | { readonly kind: 'skipped' | 'failed'; readonly message: string }

type Outcome = Exclude<Fired, { kind: 'queued' }>

/**
 * `running`: a process works on it, or will do so when it is its turn. `waiting`: it waits for a person, and goes on after
 * that.
 */
export type RunProgress = 'running' | 'waiting' | 'over'

export interface StartsOptions {
  /** Starts a run and returns its id. @throws Refusal, BatonError */
  readonly begin: (trigger: Trigger, event: TriggerEvent) => Promise<string>
  readonly stateOf: (run: string) => Promise<RunProgress>
  /** Whether a run that waits for a person is in progress until that has answered, or is left behind. */
  readonly staysForAnswers: boolean
  /** A trigger as it is written now; undefined: there is none of this name any more. */
  readonly current: (name: string) => Trigger | undefined
  /** Whether it waits for its turn in this server, and has not begun. */
  readonly isQueued: (run: string) => boolean
  readonly memory: TriggerMemory
  readonly clock: Clock
  /** Aborted when the server ends: what waits is left to the next one. */
  readonly signal: AbortSignal
}

/** Starts the runs of triggers, by default one at a time of each. */
export interface Starts {
  /** Never rejects. */
  readonly fire: (trigger: Trigger, event: TriggerEvent) => Promise<Fired>
  /** Starts what an earlier server has left, or drops what belongs to none of these triggers. */
  readonly takeLeft: (triggers: readonly Trigger[]) => void
  readonly running: (trigger: string) => readonly string[]
  /** Whether something has started it that is not dealt with: its run is about to begin, in progress, or has just ended. */
  readonly isWorking: (trigger: string) => boolean
  readonly waiting: (trigger: string) => number
  /** Resolves when nothing of this trigger runs or waits. */
  readonly over: (trigger: string) => Promise<void>
}

/** Milliseconds between looks at a run, at one that waits for a person, and whether the server takes another one. */
const lookMs = 200
const waitingMs = 1_000
const roomMs = 2_000

const stopping: Fired = { kind: 'failed', message: 'the server is stopping' }

/** A webhook may be sent faster than its runs take. */
const mostWaiting = 100

interface Queued {
  readonly event: TriggerEvent
  readonly taken: () => void
}

interface Line {
  /** Events that are being worked on. */
  working: number
  readonly runs: Set<string>
  readonly queue: Queued[]
  readonly all: Set<Promise<void>>
}

export function createStarts(options: StartsOptions): Starts {
  const { begin, stateOf, staysForAnswers, isQueued, current, memory, clock, signal } = options
  const lines = new Map<string, Line>()

  function lineOf(name: string): Line {
    const line = lines.get(name) ?? { working: 0, runs: new Set(), queue: [], all: new Set() }
    lines.set(name, line)
    return line
  }

  function ended(trigger: Trigger, event: TriggerEvent, fired: Outcome): Outcome {
    const { cause, about } = event
    const at = clock.now()
    if (fired.kind === 'started') {
      const last = { at, cause, about, outcome: fired.kind, run: fired.run }
      memory.remember(trigger.name, { last, run: fired.run })
    } else memory.remember(trigger.name, { last: { at, cause, about, outcome: fired.kind, message: fired.message } })
    return fired
  }

  async function untilOver(run: string): Promise<void> {
    for (;;) {
      const state = await stateOf(run)
      if (state === 'over' || (state === 'waiting' && !staysForAnswers)) return
      await clock.sleep(state === 'waiting' ? waitingMs : lookMs, signal)
    }
  }

  /** Waits while the server has all the runs that may wait for their turn in it. */
  async function beginWithRoom(trigger: Trigger, event: TriggerEvent, tell: (fired: Fired) => void): Promise<string> {
    for (;;) {
      try {
        return await begin(trigger, event)
      } catch (error) {
        if (!(error instanceof Refusal) || error.status !== 429) throw error
        tell({ kind: 'queued' })
        await clock.sleep(roomMs, signal)
      }
    }
  }

  /** From the event to the end of its run. `tell` is called with what came of it before that, `taken` when the run begins. */
  async function work(trigger: Trigger, { event, taken }: Queued, tell: (fired: Fired) => void): Promise<Outcome> {
    const { name, overlap } = trigger
    const { runs } = lineOf(name)
    // of another process: an earlier server, or baton serve --once
    const { run: before } = memory.of(name)
    const state = overlap === 'allow' || before === undefined ? 'over' : await stateOf(before)
    if (before !== undefined && state !== 'over') {
      if (overlap === 'skip') return ended(trigger, event, { kind: 'skipped', message: inProgress(before, state) })
      tell({ kind: 'queued' })
      await untilOver(before)
    }
    let run: string
    try {
      run = await beginWithRoom(trigger, event, tell)
    } catch (error) {
      signal.throwIfAborted()
      return ended(trigger, event, { kind: 'failed', message: problemText(error) })
    }
    runs.add(run)
    const fired = ended(trigger, event, { kind: 'started', run })
    tell(fired)
    try {
      while (isQueued(run)) await clock.sleep(lookMs, signal)
      taken()
      await untilOver(run)
    } finally {
      runs.delete(run)
    }
    return fired
  }

  function start(trigger: Trigger, queued: Queued): Promise<Fired> {
    const line = lineOf(trigger.name)
    line.working += 1
    return new Promise<Fired>((resolve) => {
      // the first call of `resolve` counts
      const whole = work(trigger, queued, resolve)
        .then(
          (fired) => () => {
            queued.taken()
            resolve(fired)
          },
          // only the end of the server interrupts it: what was sent and has not started yet waits for the next one
          () => () => resolve(queued.event.payload === undefined ? stopping : { kind: 'queued' }),
        )
        .then((say) => {
          line.working -= 1
          line.all.delete(whole)
          say()
          startNext(trigger.name)
        })
      line.all.add(whole)
    })
  }

  /** Starts what waits as the trigger is written now; of one that is gone or off, only what somebody asked for. */
  function startNext(name: string): void {
    const { queue, working } = lineOf(name)
    if (signal.aborted) return
    const trigger = current(name)
    for (;;) {
      if (working > 0 && trigger?.overlap !== 'allow') return
      const next = queue.shift()
      if (next === undefined) return
      if (trigger !== undefined && (next.event.cause === 'hand' || mayStart(trigger))) return void start(trigger, next)
      next.taken()
    }
  }

  function kept(trigger: Trigger, event: TriggerEvent): Queued {
    return { event, ...memory.wait({ trigger: trigger.name, event }) }
  }

  async function accept(trigger: Trigger, event: TriggerEvent): Promise<Fired> {
    const { name, overlap } = trigger
    const { working, queue, runs } = lineOf(name)
    if (signal.aborted) return stopping
    if (working === 0 || overlap === 'allow') {
      // what was sent is not lost if the server ends before it has started
      return start(trigger, event.payload === undefined ? { event, taken: () => undefined } : kept(trigger, event))
    }
    const [run] = runs
    if (overlap === 'skip') {
      const state = run === undefined ? 'over' : await stateOf(run)
      const message = run === undefined || state === 'over' ? 'another start is in progress' : inProgress(run, state)
      return ended(trigger, event, { kind: 'skipped', message })
    }
    // a run reads the files when it starts, so that one more run sees all changes
    if (event.cause === 'files' && queue.some((one) => one.event.cause === 'files')) return { kind: 'queued' }
    if (queue.length >= mostWaiting)
      return ended(trigger, event, { kind: 'skipped', message: `${mostWaiting} others are waiting already` })
    queue.push(kept(trigger, event))
    return { kind: 'queued' }
  }

  return {
    fire: (trigger, event) =>
      accept(trigger, event).catch((error: unknown) =>
        ended(trigger, event, { kind: 'failed', message: `it cannot be kept: ${messageOf(error)}` }),
      ),
    takeLeft(triggers) {
      for (const { trigger: name, event, taken } of memory.left()) {
        if (triggers.some((one) => one.name === name)) {
          lineOf(name).queue.push({ event, taken })
          startNext(name)
        } else taken()
      }
    },
    running: (trigger) => [...lineOf(trigger).runs],
    isWorking: (trigger) => lineOf(trigger).working > 0,
    waiting: (trigger) => lineOf(trigger).queue.length,
    async over(trigger) {
      const { all, queue } = lineOf(trigger)
      while (all.size > 0 || (queue.length > 0 && !signal.aborted)) await Promise.allSettled(all)
    },
  }
}

function inProgress(run: string, state: Exclude<RunProgress, 'over'>): string {
  return state === 'waiting' ? `run ${run} waits for an answer` : `run ${run} is in progress`
}

/** Whether something that happens starts it. */
export function mayStart({ enabled, problems }: Trigger): boolean {
  return enabled && problems.length === 0
}
