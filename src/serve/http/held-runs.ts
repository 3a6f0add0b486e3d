import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BatonError } from '../../base/error.ts'
import type { RunEvent } from '../../event/event.ts'
import type { ApprovalAnswer, ApprovalRequest } from '../../library/approvals.ts'
import { nodeFiles } from '../../journal/file-port.ts'
import { epochsIn } from '../../journal/segment.ts'
import type { RunOptions } from '../../library/options.ts'
import type { Run } from '../../library/runs.ts'
import { Refusal } from './refusal.ts'
import type { Delta, ListenToDeltas } from './run-events.ts'

/** Starts or resumes a run, whose questions are answered by `approve`. */
type Begin = (given: Required<Pick<RunOptions, 'approve' | 'signal'>>) => Run

export interface HeldRunsOptions {
  /** At once. */
  readonly most: number
  /** The folder with the runs of the workspace. */
  readonly runs: string
}

/** The runs that this process works on. A question of theirs is open until somebody answers it here. */
export interface HeldRuns {
  /**
   * Resolves with its id once it is recorded that it goes on.
   * @param resumed a run that goes on, with the processes that have worked on it before
   * @throws Refusal 429 when there are as many as may be, 409 for a run that is held already
   * @throws BatonError for a run that did not begin
   */
  readonly begin: (begin: Begin, resumed?: Resumed) => Promise<string>
  readonly isHeld: (id: string) => boolean
  /** False: it is not held here. */
  readonly cancel: (id: string) => boolean
  /** Answers an open question by its number; false: it is not asked here. */
  readonly answer: (id: string, call: string, answer: ApprovalAnswer) => boolean
  readonly listenToDeltas: (id: string) => ListenToDeltas
  /** Stops all of them as Ctrl-C does. Never rejects. */
  readonly close: () => Promise<void>
}

interface Resumed {
  readonly id: string
  readonly epochs: number
}

interface HeldRun {
  readonly stop: AbortController
  readonly questions: Map<string, (answer: ApprovalAnswer) => void>
  readonly listeners: Set<(delta: Delta) => void>
}

/** Milliseconds between two looks whether a run is recorded. */
const lookMs = 10

export function createHeldRuns({ most, runs: folder }: HeldRunsOptions): HeldRuns {
  const runs = new Map<string, HeldRun>()
  const all = new Set<Promise<unknown>>()
  const stopping = new AbortController()
  const epochsOf = (id: string): number => epochsIn(join(folder, id), nodeFiles).length

  function follow(run: Run, held: HeldRun, begun: (id: string) => void): Promise<void> {
    const reading = async (): Promise<void> => {
      for await (const event of run) {
        runs.set(event.run_id, held)
        begun(event.run_id)
        const delta = held.listeners.size === 0 ? undefined : deltaOf(event)
        if (delta !== undefined) for (const listener of held.listeners) listener(delta)
      }
    }
    // that it cannot begin is told by its result
    return reading().catch(() => undefined)
  }

  return {
    async begin(begin, resumed) {
      if (stopping.signal.aborted) throw new Refusal(503, 'the server is being stopped')
      if (all.size >= most) {
        throw new Refusal(429, `${most} runs are running, which is as many as this server may have`, {
          hint: 'Wait until one has ended, or start the server with a larger --max-runs.',
        })
      }
      if (resumed !== undefined && runs.has(resumed.id)) throw new Refusal(409, `run ${resumed.id} is running`)
      const held: HeldRun = { stop: new AbortController(), questions: new Map(), listeners: new Set() }
      let id = resumed?.id
      if (id !== undefined) runs.set(id, held)
      const run = begin({ signal: held.stop.signal, approve: (request) => ask(request, held) })
      let hasBegun = false
      let isOver = false
      const events = follow(run, held, (known) => {
        id = known
        hasBegun = true
      })
      const ended = Promise.allSettled([run.result, events]).then(() => {
        isOver = true
        all.delete(ended)
        if (id !== undefined && runs.get(id) === held) runs.delete(id)
      })
      all.add(ended)
      const isReady = (): boolean => hasBegun && id !== undefined && epochsOf(id) > (resumed?.epochs ?? 0)
      while (!isOver && !isReady()) await sleep(lookMs)
      if (id !== undefined && isReady()) return id
      const { error } = await run.result
      throw error ?? new BatonError('JOURNAL_FAILED', 'the run was not recorded')
    },
    isHeld: (id) => runs.has(id),
    cancel(id) {
      const held = runs.get(id)
      held?.stop.abort(stopped())
      return held !== undefined
    },
    answer(id, call, answer) {
      const settle = runs.get(id)?.questions.get(call)
      settle?.(answer)
      return settle !== undefined
    },
    listenToDeltas: (id) => (listener) => {
      const held = runs.get(id)
      held?.listeners.add(listener)
      return () => void held?.listeners.delete(listener)
    },
    async close() {
      stopping.abort()
      for (const { stop } of runs.values()) stop.abort(stopped())
      await Promise.allSettled(all)
    },
  }
}

function stopped(): BatonError {
  return new BatonError('ABORTED', 'the run was stopped', { hint: 'It can be resumed.' })
}

function ask({ id, signal }: ApprovalRequest, { questions }: HeldRun): Promise<ApprovalAnswer> {
  return new Promise<ApprovalAnswer>((resolve, reject) => {
    questions.set(id, resolve)
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  }).finally(() => questions.delete(id))
}

function deltaOf(event: RunEvent): Delta | undefined {
  if (event.type !== 'item.delta') return undefined
  return { place: event.agent, kind: event.reasoning === true ? 'reasoning' : 'text', text: event.text }
}
