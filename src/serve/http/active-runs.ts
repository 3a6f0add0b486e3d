import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BatonError } from '../../base/error.ts'
import type { RunEvent } from '../../event/event.ts'
import type { ApprovalAnswer, ApprovalRequest } from '../../library/approvals.ts'
import { nodeFiles } from '../../journal/file-port.ts'
import { epochsIn } from '../../journal/segment.ts'
import type { RunOptions } from '../../library/options.ts'
import type { Run } from '../../library/runs.ts'
import type { ServerAnswer, ServerQuestion } from '../../library/server-questions.ts'
import { Refusal } from '../refusal.ts'
import type { Delta, ListenToDeltas } from './run-events.ts'

/** Starts or resumes a run. `approve` answers its approval requests, `answer` the questions of MCP servers. */
type Begin = (given: Required<Pick<RunOptions, 'approve' | 'answer' | 'signal'>>) => Run

export interface ActiveRunsOptions {
  readonly most: number
  /** The folder with the runs of the workspace. */
  readonly runs: string
}

/** A question of an MCP server during a call, with its number among those of its run. It is not recorded. */
export type HeldQuestion = DistributiveOmit<ServerQuestion, 'signal'> & { readonly id: string }

type DistributiveOmit<T, Key extends PropertyKey> = T extends unknown ? Omit<T, Key> : never

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
  /** The questions of MCP servers that a run waits for. */
  readonly questions: (id: string) => readonly HeldQuestion[]
  /** Answers a question of a server by its number; returns false if it is not pending here. */
  readonly answerServer: (id: string, question: string, answer: ServerAnswer) => boolean
  /** How many tasks the run has; undefined: it has not planned them yet, or is not held here. */
  readonly plannedTasks: (id: string) => number | undefined
  readonly listenToDeltas: (id: string) => ListenToDeltas
  /** Stops all runs, like Ctrl-C; one that waits for approval keeps waiting, in its record. Never rejects. */
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
  readonly serverQuestions: Map<
    string,
    { readonly question: HeldQuestion; readonly settle: (answer: ServerAnswer) => void }
  >
  /** Numbers the questions of servers. */
  asked: number
  planned?: number
  readonly listeners: Set<(delta: Delta) => void>
}

/** Milliseconds between checks whether a run is recorded. */
const lookMs = 10
/** How long the other work of a run that waits for approval may take when the server ends. */
const suspendMs = 2_000

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
        if (event.type === 'tasks.planned') held.planned = event.count
        const delta = held.listeners.size === 0 ? undefined : deltaOf(event)
        if (delta !== undefined) for (const listener of held.listeners) listener(delta)
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
      const held: HeldRun = {
        stop: new AbortController(),
        questions: new Map(),
        serverQuestions: new Map(),
        asked: 0,
        listeners: new Set(),
      }
      let id = resumed?.id
      if (id !== undefined) runs.set(id, held)
      const run = begin({
        signal: held.stop.signal,
        approve: (request) => ask(request, held),
        answer: (question) => askForServer(question, held),
      })
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
    questions: (id) => [...(runs.get(id)?.serverQuestions.values() ?? [])].map(({ question }) => question),
    answerServer(id, question, answer) {
      const asked = runs.get(id)?.serverQuestions.get(question)
      asked?.settle(answer)
      return asked !== undefined
    },
    plannedTasks: (id) => runs.get(id)?.planned,
    listenToDeltas: (id) => (listener) => {
      const held = runs.get(id)
      held?.listeners.add(listener)
      return () => void held?.listeners.delete(listener)
    },
    async close() {
      stopping.abort()
      // what only waits for approval ends by that
      const waiting = [...runs.values()].filter(({ questions }) => questions.size > 0)
      for (const { questions } of waiting) for (const { settle } of questions.values()) settle('suspend')
      for (const held of runs.values()) if (!waiting.includes(held)) held.stop.abort(stopped())
      if (waiting.length > 0) await Promise.race([Promise.allSettled(all), sleep(suspendMs, undefined, { ref: false })])
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

function askForServer({ signal, ...asked }: ServerQuestion, held: HeldRun): Promise<ServerAnswer> {
  const id = String((held.asked += 1))
  return new Promise<ServerAnswer>((settle, reject) => {
    held.serverQuestions.set(id, { question: { id, ...asked }, settle })
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  }).finally(() => held.serverQuestions.delete(id))
}

function deltaOf(event: RunEvent): Delta | undefined {
  if (event.type !== 'item.delta') return undefined
  return { place: event.agent, kind: event.reasoning === true ? 'reasoning' : 'text', text: event.text }
}
