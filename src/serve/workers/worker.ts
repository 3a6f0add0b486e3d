import { constants, setPriority } from 'node:os'
import { basename } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { defined } from '../../base/json.ts'
import { type Chat, type ChatHost, openChat, reopenChat } from '../../chat/chat.ts'
import type { RunEvent } from '../../event/event.ts'
import { isNested } from '../../event/place.ts'
import type { ApprovalAnswer, Approve } from '../../library/approvals.ts'
import { answersOf } from '../../library/options.ts'
import { begin as beginWork, beginResume, beginRun, type Run } from '../../library/runs.ts'
import type { AnswerServer, ServerAnswer } from '../../library/server-questions.ts'
import type { Calling } from '../../wiring/conduct.ts'
import type { Target } from '../../load/target.ts'
import { Refusal } from '../refusal.ts'
import { createSharedCalling } from './calling.ts'
import { createLiveTexts, createTextSender } from '../../journal/live-texts.ts'
import {
  type ContinueJob,
  type FromWorker,
  type Job,
  type OnAsk,
  type PromptJob,
  sentError,
  suspendMs,
  type ToWorker,
} from './messages.ts'

/** What a job is begun with. */
interface OfJob {
  readonly signal: AbortSignal
  readonly approve: Approve
  /** Answers questions of MCP servers. */
  readonly answer: AnswerServer
  readonly calling: Calling
  /** Called with the id of the run once it is recorded. */
  readonly onRecord: (id: string) => void
}

interface WorkerOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted if this process is asked to end by a signal. */
  readonly signal: AbortSignal
}

/** How long the run of a worker may take to stop when its server has gone, in milliseconds. */
const graceMs = 5_000
/** How long a call waits for an overloaded host by default; same as in `baton run` and `baton chat`. */
const patienceMs = 10 * 60_000

/**
 * The work of a process of a server: one run, or the prompts of one conversation. It ends when it is asked to, or when
 * its server has gone. Returns the exit code.
 */
export async function work({ env, signal }: WorkerOptions): Promise<number> {
  const { send, written } = openChannel()
  const stopped = new AbortController()
  const questions = new Map<string, (answer: ApprovalAnswer) => void>()
  const serverQuestions = new Map<string, (answer: ServerAnswer) => void>()
  let asked = 0
  const calling = createSharedCalling(send)
  const texts = createLiveTexts()
  const sender = createTextSender(texts, (update) => send({ kind: 'texts', update }))
  let conversation: OpenConversation | undefined
  let current: AbortController | undefined
  let jobs: Promise<unknown> = Promise.resolve()
  /** It has done more than to record runs that wait: it is not used for another run. */
  let isUsed = false
  let finish = (): void => {}
  const finished = new Promise<void>((resolve) => (finish = resolve))

  function stopCurrent(): void {
    current?.abort(new BatonError('ABORTED', 'the run was stopped', { hint: 'It can be resumed.' }))
  }

  const approve: Approve = ({ signal: withdrawn, ...request }) =>
    new Promise<ApprovalAnswer>((settle, reject) => {
      questions.set(request.id, settle)
      send({ kind: 'asked', request })
      withdrawn.addEventListener('abort', () => reject(withdrawn.reason as Error), { once: true })
    }).finally(() => {
      questions.delete(request.id)
      send({ kind: 'withdrawn', id: request.id })
    })

  const answer: AnswerServer = ({ signal: withdrawn, ...question }) => {
    const id = String((asked += 1))
    return new Promise<ServerAnswer>((settle, reject) => {
      serverQuestions.set(id, settle)
      send({ kind: 'serverAsked', question: { id, ...question } })
      withdrawn.addEventListener('abort', () => reject(withdrawn.reason as Error), { once: true })
    }).finally(() => {
      serverQuestions.delete(id)
      send({ kind: 'serverWithdrawn', id })
    })
  }

  function begin(job: Job, place: Place, given: OfJob): Run | Promise<Run> {
    if (job.kind === 'start') {
      const { file, options, onAsk } = job
      const { onRecord, ...others } = answeredBy(given, onAsk)
      const onFolder = (folder: string): void => onRecord(basename(folder))
      const asking = onAsk === 'suspend' ? { onAsk } : {}
      const prepare = (target: Target): Target => {
        if (target.settings.plugins !== undefined) isUsed = true
        return target
      }
      return beginRun(file, { ...options, patienceMs, ...others, ...asking, prepare, onRecord: onFolder }, place)
    }
    if (job.kind === 'resume') {
      const { onRecord: _, ...others } = answeredBy(given, job.onAsk)
      return beginResume(job.id, { overrides: job.overrides, uncertain: job.uncertain, ...others }, place)
    }
    conversation ??= createConversation(place)
    return conversation.begin(job, given)
  }

  async function perform(asked: Extract<ToWorker, { kind: 'do' }>, stop: AbortController): Promise<void> {
    const { job, isWaiting, cwd, home, resting } = asked
    if (!isWaiting) isUsed = true
    for (const one of resting) calling.resting(one)
    let hasBegun = false
    const onRecord = (id: string): void => {
      if (hasBegun) return
      hasBegun = true
      if (isWaiting) stop.abort(new BatonError('ABORTED', 'the run waits for its turn', { hint: 'It can be resumed.' }))
      else lowerPriority()
      const of = conversation?.id()
      send({ kind: 'begun', id, ...(of === undefined ? {} : { conversation: of }) })
    }
    try {
      const run = await begin(job, { cwd, home, env }, { signal: stop.signal, approve, answer, calling, onRecord })
      // a resumed run has been recorded before; its first event says that it goes on
      const isRecorded = job.kind === 'resume' || job.kind === 'continue'
      const reading = read(run, (event) => {
        if (isRecorded) onRecord(event.run_id)
        // the end of a text, before it is one of the record
        if (event.type === 'item.completed') sender.flush()
        texts.add(event)
        if (event.type === 'tasks.planned' && !isNested(event)) send({ kind: 'planned', tasks: event.count })
      })
      const { error, notified } = await run.result
      await reading
      sendEnd(job, error)
      await notified
    } catch (error) {
      sendEnd(job, error)
    } finally {
      if (current === stop) current = undefined
      if (isLast(job)) finish()
    }
  }

  /** A conversation is kept, and what only records runs that wait. */
  function isLast({ kind }: Job): boolean {
    return kind === 'prompt' || kind === 'continue' ? conversation?.id() === undefined : isUsed
  }

  function sendEnd(job: Job, error: unknown): void {
    const failed = error === undefined ? {} : { error: sentError(error) }
    sender.listen(false)
    texts.clear()
    send({ kind: 'ended', ...failed, ...(isLast(job) ? { isLast: true } : {}) })
  }

  function onMessage(message: ToWorker): void {
    switch (message.kind) {
      case 'do': {
        // a stop may follow in the same moment, before the job begins
        const stop = new AbortController()
        current = stop
        // a conversation is asked for one prompt after the other
        jobs = jobs.then(() => perform(message, stop))
        break
      }
      case 'stop':
        return stopCurrent()
      case 'answer':
        return questions.get(message.id)?.(message.answer)
      case 'serverAnswer':
        return serverQuestions.get(message.id)?.(message.answer)
      case 'listen':
        return sender.listen(message.isOn)
      case 'granted':
        return calling.granted(message.ticket)
      case 'resting':
        return calling.resting(message)
      case 'end':
        jobs = jobs.then(finish)
    }
  }

  function onLeft(): void {
    // what only waits for approval is left to the next server
    if (questions.size > 0) {
      for (const settle of questions.values()) settle('suspend')
      setTimeout(stopCurrent, suspendMs).unref()
    } else stopCurrent()
    jobs = jobs.then(finish)
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), graceMs).unref()
  }

  process.on('message', onMessage)
  process.once('disconnect', onLeft)
  signal.addEventListener('abort', onLeft, { once: true, signal: stopped.signal })
  if (!process.connected) onLeft()
  await finished
  stopped.abort()
  await conversation?.close()
  // what a busy server has not read yet would be lost
  await written()
  process.off('message', onMessage).off('disconnect', onLeft)
  if (process.connected) process.disconnect()
  return 0
}

interface Place {
  readonly cwd: string
  readonly home: string
  readonly env: WorkerOptions['env']
}

/** Nobody is asked if it is known what becomes of calls that need approval. */
function answeredBy({ answer, ...given }: OfJob, onAsk: OnAsk | undefined): Partial<OfJob> & Omit<OfJob, 'answer'> {
  return onAsk === undefined ? { ...given, answer } : { ...given, approve: () => onAsk }
}

/** Runs that keep all processors busy slow each other, not the answers of the server. */
function lowerPriority(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // it has a lower one already, and may not raise it
  }
}

interface Channel {
  /** To the server, if it is there. */
  readonly send: (message: FromWorker) => void
  /** Resolves when everything sent so far has been written, or cannot be any more. */
  readonly written: () => Promise<void>
}

function openChannel(): Channel {
  let written: Promise<void> = Promise.resolve()
  return {
    send(message) {
      if (!process.connected) return
      // they are written in their order
      written = new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()))
    },
    written: () => written,
  }
}

async function read(run: Run, onEvent: (event: RunEvent) => void): Promise<void> {
  try {
    for await (const event of run) onEvent(event)
  } catch {
    // its result has the error
  }
}

/** The conversation of a worker: it stays open between its prompts. */
interface OpenConversation {
  /** Undefined before its first prompt is recorded. */
  readonly id: () => string | undefined
  readonly begin: (job: PromptJob | ContinueJob, given: OfJob) => Promise<Run>
  /** Ends its servers and background commands, and lets others open it. */
  readonly close: () => Promise<void>
}

function createConversation(place: Omit<ChatHost, 'what' | 'keepsTaken'>): OpenConversation {
  const host = { ...place, what: 'baton serve', keepsTaken: false }
  let chat: Chat | undefined

  async function chatOf(job: PromptJob | ContinueJob): Promise<Chat> {
    const { conversation } = job
    const { model, mode } = job.kind === 'prompt' ? job : {}
    if (!('id' in conversation)) {
      const ownMode = mode === undefined ? [] : [`mode=${JSON.stringify(mode)}`]
      const overrides = [...conversation.overrides, ...ownMode]
      return openChat(host, { overrides, ...defined({ file: conversation.file, model: model ?? conversation.model }) })
    }
    const { id, file } = conversation
    const known = chat ?? (await reopenChat(host, id))
    if (file === undefined || known.isOf(file)) return known
    const own = known.settings().file
    if (known !== chat) await known.close()
    const what = own === undefined ? 'has no prompt file' : `is of ${displayPath(place.cwd, own)}`
    throw new Refusal(409, `conversation ${id} ${what}, so it cannot use ${file}`, {
      hint: 'Leave "file" out, or start another conversation with it by leaving "conversationId" out.',
    })
  }

  /** A conversation keeps the mode and the model that it is started with; those of a later prompt hold for it alone. */
  function ownOf({ conversation, model, mode }: PromptJob): { readonly model?: string; readonly mode?: string } {
    return 'id' in conversation ? defined({ model, mode }) : {}
  }

  return {
    id: () => chat?.id(),
    async begin(job, { signal, calling, onRecord, ...answers }) {
      const opened = await chatOf(job)
      chat = opened
      const watching = { ...answersOf(answers), patienceMs, calling, onBegin: onRecord }
      return beginWork(signal, (listener, either) =>
        job.kind === 'prompt'
          ? opened.send({ text: job.input, ...ownOf(job) }, { ...watching, signal: either }, listener)
          : opened.resume(job.id, { ...watching, signal: either }, listener),
      )
    },
    close: async () => chat?.close(),
  }
}
