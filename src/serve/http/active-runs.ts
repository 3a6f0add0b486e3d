import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BatonError } from '../../base/error.ts'
import type { ApprovalAnswer, ApprovalRequest } from '../../library/approvals.ts'
import { nodeFiles } from '../../journal/file-port.ts'
import { epochsIn } from '../../journal/segment.ts'
import type { RunOptions } from '../../library/options.ts'
import type { Run } from '../../library/runs.ts'
import { Refusal } from '../refusal.ts'
import { createLiveTexts, type LiveTexts, noLiveTexts } from './live-texts.ts'

/** Starts or resumes a run. `approve` answers its approval requests. */
type Begin = (given: Required<Pick<RunOptions, 'approve' | 'signal'>>) => Run

export interface ActiveRunsOptions {
  readonly most: number
  /** The folder with the runs of the workspace. */
  readonly runs: string
}

/** The runs of this process. Their approval requests stay open until they are answered here. */
export interface ActiveRuns {
  /**
   * Resolves with the run id once the start or resumption is recorded.
   * @param resumed the run to resume, with the number of processes that have worked on it before
   * @throws Refusal 429 at the limit, 409 if the run is held already, 503 if the server is stopping
   * @throws BatonError if the run did not start
   */
  readonly begin: (begin: Begin, resumed?: Resumed) => Promise<string>
  readonly isHeld: (id: string) => boolean
  /** Returns false if the run is not held here. */
  readonly cancel: (id: string) => boolean
  /** Answers an approval request by its number; returns false if it is not pending here. */
  readonly answer: (id: string, call: string, answer: (request: ApprovalRequest) => ApprovalAnswer) => boolean
  /** What its models are writing; of a run that is not held here, nothing. */
  readonly textsOf: (id: string) => LiveTexts
  /** Stops all runs, like Ctrl-C. Never rejects. */
  readonly close: () => Promise<void>
}

interface Resumed {
  readonly id: string
  readonly epochs: number
}

interface HeldRun {
  readonly stop: AbortController
  readonly questions: Map<
    string,
    { readonly request: ApprovalRequest; readonly settle: (answer: ApprovalAnswer) => void }
  >
  readonly texts: LiveTexts
}

/** Milliseconds between checks whether a run is recorded. */
const lookMs = 10

export function createActiveRuns({ most, runs: folder }: ActiveRunsOptions): ActiveRuns {
  const runs = new Map<string, HeldRun>()
  const all = new Set<Promise<unknown>>()
  const stopping = new AbortController()
  const epochsOf = (id: string): number => epochsIn(join(folder, id), nodeFiles).length

  function follow(run: Run, held: HeldRun, begun: (id: string) => void): Promise<void> {
    const reading = async (): Promise<void> => {
      for await (const event of run) {
        runs.set(event.run_id, held)
        begun(event.run_id)
        held.texts.add(event)
      }
    }
    // if it cannot start, its result has the error
    return reading().catch(() => undefined)
  }

  return {
    async begin(begin, resumed) {
      if (stopping.signal.aborted) throw new Refusal(503, 'the server is stopping')
      if (all.size >= most) {
        throw new Refusal(429, `this server already has ${most} active runs, its limit`, {
          hint: 'Wait until one has ended, or start the server with a higher --max-runs.',
        })
      }
      if (resumed !== undefined && runs.has(resumed.id)) throw new Refusal(409, `run ${resumed.id} is running`)
      const held: HeldRun = { stop: new AbortController(), questions: new Map(), texts: createLiveTexts() }
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
      const question = runs.get(id)?.questions.get(call)
      question?.settle(answer(question.request))
      return question !== undefined
    },
    textsOf: (id) => runs.get(id)?.texts ?? noLiveTexts,
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

function ask(request: ApprovalRequest, { questions }: HeldRun): Promise<ApprovalAnswer> {
  const { id, signal } = request
  return new Promise<ApprovalAnswer>((settle, reject) => {
    questions.set(id, { request, settle })
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  }).finally(() => questions.delete(id))
}
