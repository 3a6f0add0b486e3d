import { manyListeners } from '../../base/concurrency.ts'
import { BatonError } from '../../base/error.ts'
import { isObject } from '../../base/json.ts'
import type { RunEvent } from '../../event/event.ts'
import type { RunOptions } from '../../library/options.ts'
import type { Run } from '../../library/runs.ts'
import type { ServerAnswer, ServerQuestion } from '../../library/server-questions.ts'
import { formFields } from '../../mcp/form.ts'
import type { RunReport } from '../../wiring/conduct.ts'

export interface Calling {
  /** Aborted when the client cancels or disconnects. */
  readonly signal: AbortSignal
  /** True: a question ends the request, and the answer arrives with a new one. False: the request stays open. */
  readonly endsWithQuestion: boolean
  /** What the client can show its user: forms (approvals are forms), and addresses to open. */
  readonly shows: { readonly form: boolean; readonly url: boolean }
  /** Called with short progress messages. */
  readonly onProgress: (message: string) => void
}

/** A question of an MCP server during a run. */
export interface PendingQuestion {
  /** Unique within the run; starts with the name of the server. */
  readonly id: string
  readonly question: ServerQuestion
}

/** A run that has ended, with one line for each denied call and each declined question. */
export interface RunEnd {
  readonly report: RunReport
  readonly denied: readonly string[]
  readonly declined: readonly string[]
}

export type Followed =
  | ({ readonly kind: 'ended' } & RunEnd)
  | { readonly kind: 'asks'; readonly runId: string; readonly questions: readonly PendingQuestion[] }

export type Begin = (given: Pick<RunOptions, 'signal' | 'answer'>) => Run

/**
 * Runs that a client follows until they end or an MCP server asks a question. Such a question cannot be answered in
 * another process, because a call is in flight: the run is held here until the same client sends the answer.
 */
export interface PendingCalls {
  /** `caller`: for the log. Rejects if the run cannot start. */
  follow(begin: Begin, caller: string, calling: Calling): Promise<Followed>
  /**
   * Unanswered questions are asked again. @throws BatonError USAGE if the run does not wait for any of these answers
   */
  answer(runId: string, answers: ReadonlyMap<string, ServerAnswer | undefined>, calling: Calling): Promise<Followed>
  /** Stops all runs. Never rejects. */
  close(): Promise<void>
}

export interface PendingCallsOptions {
  /** How long to wait for the user's answer before the run is stopped. Default: 10 minutes. */
  readonly answerMs?: number
  /** Logs declined questions, with the reason. */
  readonly log: (text: string) => void
}

const defaultAnswerMs = 10 * 60_000

/** Maximum number of runs waiting for answers. */
const mostHeld = 64

export function createPendingCalls({ answerMs = defaultAnswerMs, log }: PendingCallsOptions): PendingCalls {
  const all = new Set<HeldRun>()
  const waiting = new Map<string, { readonly run: HeldRun; readonly timer: NodeJS.Timeout }>()

  async function next(run: HeldRun): Promise<Followed> {
    const followed = await run.next()
    if (followed.kind === 'ended') return followed
    const timer = setTimeout(() => {
      waiting.delete(followed.runId)
      run.stop(new BatonError('ABORTED', 'a question of an MCP server was not answered in time'))
    }, answerMs)
    waiting.set(followed.runId, { run, timer })
    return followed
  }

  return {
    follow(begin, caller, calling) {
      const decline = (server: string, why: string): string => {
        const line = `the MCP server ${server} asked the user a question: ${why}`
        log(`${caller}: ${line}; it was declined`)
        return line
      }
      const whyFull = (): string | undefined =>
        waiting.size < mostHeld ? undefined : `${mostHeld} calls are already waiting for answers`
      const run = holdRun(begin, calling, { decline, whyFull })
      all.add(run)
      void run.ended.catch(() => undefined).then(() => all.delete(run))
      return next(run)
    },
    async answer(runId, answers, calling) {
      const found = waiting.get(runId)
      if (found === undefined || !found.run.isAsking([...answers.keys()])) {
        throw new BatonError('USAGE', `run ${runId} is no longer waiting for these answers`, {
          hint: `Read the resource baton://runs/${runId} for its outcome.`,
        })
      }
      clearTimeout(found.timer)
      waiting.delete(runId)
      found.run.answer(answers, calling)
      return next(found.run)
    },
    async close() {
      for (const { timer } of waiting.values()) clearTimeout(timer)
      waiting.clear()
      const ended = [...all].map((run) => {
        run.stop(new BatonError('ABORTED', 'the server was stopped'))
        return run.ended
      })
      await Promise.allSettled(ended)
    },
  }
}

interface HeldRun {
  readonly ended: Promise<unknown>
  next(): Promise<Followed>
  /** Whether any of these questions is pending. */
  isAsking(ids: readonly string[]): boolean
  answer(answers: ReadonlyMap<string, ServerAnswer | undefined>, calling: Calling): void
  stop(reason: BatonError): void
}

interface Declining {
  /** Logs the question and returns the line. */
  readonly decline: (server: string, why: string) => string
  readonly whyFull: () => string | undefined
}

function holdRun(begin: Begin, first: Calling, { decline, whyFull }: Declining): HeldRun {
  const stopping = new AbortController()
  const open = new Map<string, { readonly question: ServerQuestion; readonly settle: (answer: ServerAnswer) => void }>()
  const asked = new Map<string, number>()
  const denied: string[] = []
  const declined: string[] = []
  let calling = first
  let runId = ''
  let wake = (): void => {}
  let unlink = link(calling.signal)
  const run = begin({ signal: manyListeners(stopping.signal), answer: ask })
  const ended = followed()

  /** A client that disconnects or cancels stops the run, even while its user is answering. */
  function link(signal: AbortSignal): () => void {
    const stop = (): void => stopping.abort(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    return () => signal.removeEventListener('abort', stop)
  }

  function ask(question: ServerQuestion): ServerAnswer | Promise<ServerAnswer> {
    const { server, kind, signal } = question
    const why = calling.shows[kind] ? whyFull() : whyNotShown(kind)
    if (why !== undefined) {
      declined.push(decline(server, why))
      return 'decline'
    }
    // throws for a form that cannot be shown, which is an error for the server
    if (question.kind === 'form') formFields(question.schema)
    return new Promise((resolve) => {
      const count = (asked.get(server) ?? 0) + 1
      asked.set(server, count)
      const id = count === 1 ? server : `${server}.${count}`
      const settle = (answer: ServerAnswer): void => {
        open.delete(id)
        signal.removeEventListener('abort', withdraw)
        resolve(answer)
      }
      const withdraw = (): void => settle('cancel')
      signal.addEventListener('abort', withdraw, { once: true })
      open.set(id, { question, settle })
      wake()
    })
  }

  async function followed(): Promise<Followed> {
    try {
      for await (const event of run) {
        runId = event.run_id
        if (event.type === 'tool.completed' && event.denied === true) denied.push(`${event.name}: ${event.output}`)
        const message = progressOf(event)
        if (message !== undefined) calling.onProgress(message)
      }
      return { kind: 'ended', report: await run.result, denied, declined }
    } finally {
      unlink()
    }
  }

  return {
    ended,
    async next() {
      const isAsked = new Promise<void>((resolve) => (wake = resolve))
      if (open.size > 0) wake()
      const end = await Promise.race([ended, isAsked])
      if (end !== undefined) return end
      if (calling.endsWithQuestion) unlink()
      return { kind: 'asks', runId, questions: questionsOf(open) }
    },
    isAsking: (ids) => ids.some((id) => open.has(id)),
    answer(answers, now) {
      unlink()
      calling = now
      unlink = link(now.signal)
      for (const [id, answer] of answers) if (answer !== undefined) open.get(id)?.settle(answer)
    },
    stop: (reason) => stopping.abort(reason),
  }
}

function questionsOf(open: ReadonlyMap<string, { readonly question: ServerQuestion }>): readonly PendingQuestion[] {
  return [...open].map(([id, { question }]) => ({ id, question }))
}

function whyNotShown(kind: ServerQuestion['kind']): string {
  return kind === 'form'
    ? 'the client cannot show forms (it does not declare the capability elicitation)'
    : 'the client cannot open URLs (it does not declare the capability elicitation.url)'
}

function progressOf(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'agent.started':
    case 'step.started':
      return isObject(event) && typeof event.name === 'string' ? event.name : undefined
    case 'tool.started':
      return `calling ${event.name}`
    case 'tool.progress':
      return event.ended === true ? undefined : toolProgress(event)
    case 'task.completed':
      return 'task done'
    case 'iteration.completed':
      return 'iteration done'
    default:
      return undefined
  }
}

/** The progress reported by the tool's server: `files__index: 3 of 10: reading notes.txt`. */
function toolProgress({ name, done, total, message }: Extract<RunEvent, { readonly type: 'tool.progress' }>): string {
  const amount = total === undefined ? `${done}` : `${done} of ${total}`
  return [name, amount, ...(message === undefined ? [] : [message])].join(': ')
}
