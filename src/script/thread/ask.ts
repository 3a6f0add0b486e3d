import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { clockCells, type WorkerClock } from './clock.ts'

interface AnswerChannel {
  /** Where answers arrive, separate from all other messages. */
  readonly answers: MessagePort
  readonly clock: WorkerClock
}

/**
 * Sends a question from a worker to the main thread: `post` sends it, and the worker sleeps until it is answered. The
 * time it slept is added to the clock. @throws Error if it was woken without an answer
 */
export function askAndWait<Answer>(post: () => void, { answers, clock: { cells, waitedMs } }: AnswerChannel): Answer {
  const seen = Atomics.load(cells, clockCells.answers)
  const startedAt = performance.now()
  Atomics.store(cells, clockCells.isWaiting, 1)
  post()
  // the wake-up for the previous answer may arrive only now: its number was already seen
  while (Atomics.load(cells, clockCells.answers) === seen) Atomics.wait(cells, clockCells.answers, seen)
  waitedMs[0] = (waitedMs[0] ?? 0) + performance.now() - startedAt
  Atomics.store(cells, clockCells.isWaiting, 0)
  const received = receiveMessageOnPort(answers) as { readonly message: Answer } | undefined
  if (received === undefined) throw new Error('a question from a thread was not answered')
  return received.message
}
