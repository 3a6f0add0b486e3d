import { setTimeout as sleep } from 'node:timers/promises'
import { createPool } from '../../base/concurrency.ts'
import { BatonError, messageOf } from '../../base/error.ts'
import { defined } from '../../base/json.ts'
import type { ApprovalAnswer } from '../../library/approvals.ts'
import type { ServerAnswer } from '../../library/server-questions.ts'
import { Refusal } from '../refusal.ts'
import type { Broker } from '../workers/broker.ts'
import { createReceivedTexts, type LiveTexts, noLiveTexts, type ReceivedTexts } from '../../journal/live-texts.ts'
import { type PendingApproval, errorOf, type OpenServerQuestion, type Job, suspendMs } from '../workers/messages.ts'
import type { RunWorker, WorkerPool } from '../workers/pool.ts'

export interface ActiveRunsOptions {
  /** Maximum number of runs at the same time; further ones wait. */
  readonly most: number
  readonly workers: WorkerPool
  readonly broker: Broker
  readonly place: { readonly cwd: string; readonly home: string }
  /** Told when the process of a run has crashed, or a run that waited cannot start. */
  readonly onProblem: (message: string) => void
}

/** A run that was started. */
interface Begun {
  readonly id: string
  /** The id of the conversation of a prompt. */
  readonly conversation: string | undefined
  /** Resolves when it is no longer held here. Never rejects. */
  readonly ended: Promise<void>
}

/**
 * The runs of this server: each works in a process of its own, or waits until one of the others has ended. Their approval
 * requests stay open until they are answered here.
 */
export interface ActiveRuns {
  /**
   * Resolves once the start or resumption is recorded, also if the run then waits for its turn.
   * @param worker that of the conversation of a prompt; default: a new one
   * @throws Refusal 429 if too many wait, 409 if the run is held already, 503 if the server is stopping
   * @throws BatonError if the run did not start
   */
  readonly begin: (job: Job, worker?: () => RunWorker) => Promise<Begun>
  readonly isHeld: (id: string) => boolean
  /** Those that work or wait for their turn, or have done so a moment ago: who polls sees the end of each. */
  readonly ids: () => ReadonlySet<string>
  /** Whether it waits for its turn. */
  readonly isQueued: (id: string) => boolean
  /** Returns false if the run is not held here. */
  readonly cancel: (id: string) => boolean
  /** Answers an approval request by its number; returns false if it is not pending here. */
  readonly answer: (id: string, call: string, answer: (request: PendingApproval) => ApprovalAnswer) => boolean
  /**
   * Waits for an approval request by its number. It is recorded, and shown, shortly before the process of the run asks.
   * Resolves with false if it was asked and is answered, and if it is not asked.
   */
  readonly untilAsked: (id: string, call: string) => Promise<boolean>
  /** The questions of MCP servers that a run waits for. */
  readonly questions: (id: string) => readonly OpenServerQuestion[]
  /** Answers a question of a server by its number; returns false if it is not pending here. */
  readonly answerServer: (id: string, question: string, answer: ServerAnswer) => boolean
  /** How many tasks the run has; undefined: it has not planned them yet, or is not held here. */
  readonly plannedTasks: (id: string) => number | undefined
  /** What its models are writing; of a run that is not held here, nothing. */
  readonly textsOf: (id: string) => LiveTexts
  /** Stops all runs, like Ctrl-C; one that waits for approval keeps waiting, in its record. Never rejects. */
  readonly close: () => Promise<void>
}

/** A run from its job to its end. */
interface HeldRun {
  /** Undefined while no process works on it. */
  worker: RunWorker | undefined
  /** It has no place, or the process that it gets in its turn has not begun yet. */
  isQueued: boolean
  readonly questions: Map<string, PendingApproval>
  /** The numbers of all approval requests so far. */
  readonly asked: Set<string>
  readonly serverQuestions: Map<string, OpenServerQuestion>
  planned: number | undefined
  readonly texts: ReceivedTexts
  readonly end: () => void
  readonly ended: Promise<void>
}

interface Waiting {
  readonly id: string
  readonly job: Job
  readonly run: HeldRun
  readonly workerOf: () => RunWorker
}

/** Runs that may wait for their turn. */
const mostWaiting = 10_000
/** How long a process may take from recording a request to asking, in milliseconds. */
const askedMs = 5_000
/** How long a run that has ended is among the ids, in milliseconds. */
const endedMs = 5_000
/** How long the process that records runs that wait is kept for the next one, in milliseconds. */
const recorderMs = 5_000

export function createActiveRuns({ most, workers, broker, place, onProblem }: ActiveRunsOptions): ActiveRuns {
  const runs = new Map<string, HeldRun>()
  const queue: Waiting[] = []
  const recorder = createRecorder(workers)
  const stopping = new AbortController()
  const ended = new Set<string>()
  /** Runs that have a place, also before their id is known. */
  const working = new Set<HeldRun>()
  /** Runs that are being recorded before they wait. */
  const arriving = new Set<HeldRun>()

  /**
   * Lets a worker do a job. Resolves when its run is recorded; `done` is called when the job is over, with its error.
   */
  function perform(
    { job, run, worker, isWaiting }: { job: Job; run: HeldRun; worker: RunWorker; isWaiting: boolean },
    done: (id: string | undefined, error?: Error) => void,
  ): Promise<Pick<Begun, 'id' | 'conversation'>> {
    return new Promise((resolve, reject) => {
      let id: string | undefined
      let isOver = false
      const over = (error?: Error): void => {
        if (isOver) return
        isOver = true
        leave()
        run.worker = undefined
        run.questions.clear()
        run.serverQuestions.clear()
        run.texts.clear()
        done(id, error)
        reject(error ?? new BatonError('JOURNAL_FAILED', 'the run was not recorded'))
      }
      const leave = worker.listen((message) => {
        switch (message.kind) {
          case 'begun': {
            const { conversation } = message
            id = message.id
            runs.set(id, run)
            run.isQueued = isWaiting
            return resolve({ id, conversation })
          }
          case 'asked':
            run.asked.add(message.request.id)
            return void run.questions.set(message.request.id, message.request)
          case 'withdrawn':
            return void run.questions.delete(message.id)
          case 'serverAsked':
            return void run.serverQuestions.set(message.question.id, message.question)
          case 'serverWithdrawn':
            return void run.serverQuestions.delete(message.id)
          case 'planned':
            run.planned = message.tasks
            return
          case 'texts':
            return run.texts.add(message.update)
          case 'ended':
            return over(message.error && errorOf(message.error))
          // for the broker
          case 'wanted':
          case 'returned':
          case 'failing':
        }
      })
      void worker.gone.then((how) => {
        if (isOver) return
        const problem = `the process of the run has ended unexpectedly${how === undefined ? '' : `: ${how}`}`
        if (id !== undefined) onProblem(`run ${id}: ${problem}`)
        over(new BatonError('AGENT_FAILED', problem, { hint: 'What it has done is recorded: resume it.' }))
      })
      run.worker = worker
      if (run.texts.isListenedTo()) worker.send({ kind: 'listen', isOn: true })
      worker.send({ kind: 'do', job, isWaiting, ...place, resting: broker.resting() })
    })
  }

  function release(id: string | undefined, run: HeldRun): void {
    working.delete(run)
    if (id !== undefined && runs.get(id) === run) {
      runs.delete(id)
      ended.add(id)
      setTimeout(() => ended.delete(id), endedMs).unref()
    }
    run.end()
    startNext()
  }

  async function start(job: Job, run: HeldRun, worker: RunWorker): Promise<Begun> {
    working.add(run)
    const begun = await perform({ job, run, worker, isWaiting: false }, (id) => release(id, run))
    return { ...begun, ended: run.ended }
  }

  /** Records a run that has to wait. A run to resume is recorded already. */
  async function startLater(job: Job, run: HeldRun, workerOf: () => RunWorker): Promise<Begun> {
    if (job.kind === 'resume' || job.kind === 'continue') {
      wait({ id: job.id, job, run, workerOf })
      return { id: job.id, conversation: undefined, ended: run.ended }
    }
    arriving.add(run)
    try {
      const begun = await recorder.run(async (common) => {
        let isDone = (): void => {}
        const done = new Promise<void>((resolve) => (isDone = resolve))
        const worker = job.kind === 'start' ? common() : workerOf()
        const recorded = await perform({ job, run, worker, isWaiting: true }, () => isDone())
        await done
        return recorded
      }, stopping.signal)
      stopping.signal.throwIfAborted()
      const { id, conversation } = begun
      const later: Job =
        job.kind === 'start'
          ? {
              kind: 'resume',
              id,
              overrides: job.options.overrides ?? [],
              uncertain: [],
              ...defined({ onAsk: job.onAsk }),
            }
          : { kind: 'continue', id, conversation: { id: conversation ?? id } }
      wait({ id, job: later, run, workerOf })
      return { ...begun, ended: run.ended }
    } catch (error) {
      run.end()
      throw stopping.signal.aborted ? isStopping() : error
    } finally {
      arriving.delete(run)
      startNext()
    }
  }

  function wait(one: Waiting): void {
    one.run.isQueued = true
    runs.set(one.id, one.run)
    queue.push(one)
  }

  function startNext(): void {
    while (!stopping.signal.aborted && working.size < most) {
      const next = queue.shift()
      if (next === undefined) return
      const { id, job, run, workerOf } = next
      start(job, run, workerOf()).catch((error: unknown) => {
        onProblem(`run ${id}: it could not start when it was its turn: ${messageOf(error)}`)
        // it may never have been held by its id
        release(id, run)
      })
    }
  }

  return {
    async begin(job, workerOf = workers.take) {
      if (stopping.signal.aborted) throw isStopping()
      const known = job.kind === 'resume' || job.kind === 'continue' ? job.id : undefined
      if (known !== undefined && runs.has(known)) throw new Refusal(409, `run ${known} is running`)
      const run = createHeldRun()
      if (known !== undefined) runs.set(known, run)
      const hasPlace = working.size < most && queue.length === 0 && arriving.size === 0
      try {
        if (hasPlace) return await start(job, run, workerOf())
        if (queue.length + arriving.size >= mostWaiting) {
          throw new Refusal(429, `${mostWaiting} runs already wait for their turn`, { hint: 'Try again later.' })
        }
        return await startLater(job, run, workerOf)
      } catch (error) {
        if (known !== undefined && runs.get(known) === run) runs.delete(known)
        throw error
      }
    },
    isHeld: (id) => runs.has(id),
    ids: () => new Set([...runs.keys(), ...ended]),
    isQueued: (id) => runs.get(id)?.isQueued === true,
    cancel(id) {
      const run = runs.get(id)
      const index = queue.findIndex((one) => one.id === id)
      if (index !== -1) {
        queue.splice(index, 1)
        runs.delete(id)
        run?.end()
      } else run?.worker?.send({ kind: 'stop' })
      return run !== undefined
    },
    answer(id, call, answer) {
      const run = runs.get(id)
      const request = run?.questions.get(call)
      if (run?.worker === undefined || request === undefined) return false
      run.worker.send({ kind: 'answer', id: call, answer: answer(request) })
      run.questions.delete(call)
      return true
    },
    async untilAsked(id, call) {
      const run = runs.get(id)
      const until = performance.now() + askedMs
      while (runs.get(id) === run && run?.asked.has(call) === false && performance.now() < until) await sleep(20)
      return run?.questions.has(call) === true
    },
    questions: (id) => [...(runs.get(id)?.serverQuestions.values() ?? [])],
    answerServer(id, question, answer) {
      const run = runs.get(id)
      if (run?.worker === undefined || !run.serverQuestions.delete(question)) return false
      run.worker.send({ kind: 'serverAnswer', id: question, answer })
      return true
    },
    plannedTasks: (id) => runs.get(id)?.planned,
    textsOf: (id) => runs.get(id)?.texts ?? noLiveTexts,
    async close() {
      stopping.abort(isStopping())
      for (const { run, id } of queue.splice(0)) {
        runs.delete(id)
        run.end()
      }
      const all = [...working, ...arriving]
      const ended = Promise.all(all.map((run) => run.ended))
      // what only waits for approval ends by that
      const waiting = all.filter(({ questions }) => questions.size > 0)
      for (const { worker, questions } of waiting)
        for (const id of questions.keys()) worker?.send({ kind: 'answer', id, answer: 'suspend' })
      for (const run of all) if (!waiting.includes(run)) run.worker?.send({ kind: 'stop' })
      if (waiting.length > 0) await Promise.race([ended, sleep(suspendMs, undefined, { ref: false })])
      for (const { worker } of waiting) worker?.send({ kind: 'stop' })
      await ended
    },
  }
}

/** Does one thing after the other, with a worker for recording runs that wait, which is started when it is needed. */
function createRecorder({ take }: Pick<WorkerPool, 'take'>) {
  const turns = createPool(1)
  let worker: RunWorker | undefined
  let timer: NodeJS.Timeout | undefined

  function common(): RunWorker {
    if (worker !== undefined) return worker
    const taken = take()
    worker = taken
    const forget = (): void => {
      if (worker === taken) worker = undefined
    }
    taken.listen((message) => {
      if (message.kind === 'ended' && message.isLast === true) forget()
    })
    void taken.gone.then(forget)
    return taken
  }

  return {
    run<T>(work: (common: () => RunWorker) => Promise<T>, signal: AbortSignal): Promise<T> {
      return turns.run(async () => {
        clearTimeout(timer)
        try {
          return await work(common)
        } finally {
          timer = setTimeout(() => {
            worker?.end()
            worker = undefined
          }, recorderMs).unref()
        }
      }, signal)
    },
  }
}

function createHeldRun(): HeldRun {
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  const texts = createReceivedTexts((isOn) => run.worker?.send({ kind: 'listen', isOn }))
  const run: HeldRun = {
    worker: undefined,
    isQueued: false,
    questions: new Map(),
    asked: new Set(),
    serverQuestions: new Map(),
    planned: undefined,
    texts,
    end,
    ended,
  }
  return run
}

function isStopping(): Refusal {
  return new Refusal(503, 'the server is stopping')
}
