import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { clockCells, type WorkerClock } from './clock.ts'

interface Asking {
  /** Where answers arrive, apart from all other messages. */
  readonly answers: MessagePort
  readonly clock: WorkerClock
}

/**
 * Asks the main thread from a worker: `post` sends the question, and the worker sleeps until the answer is there. How long it
 * has slept is in the clock. @throws Error when it was woken without an answer
 */
export function askAndWait<Answer>(post: () => void, { answers, clock: { cells, waitedMs } }: Asking): Answer {
  const seen = Atomics.load(cells, clockCells.answers)
  const startedAt = performance.now()
  Atomics.store(cells, clockCells.isWaiting, 1)
  post()
  // the wake-up of the answer before may come only now: its number was seen without it
  while (Atomics.load(cells, clockCells.answers) === seen) Atomics.wait(cells, clockCells.answers, seen)
  waitedMs[0] = (waitedMs[0] ?? 0) + performance.now() - startedAt
  Atomics.store(cells, clockCells.isWaiting, 0)
  const received = receiveMessageOnPort(answers) as { readonly message: Answer } | undefined
  if (received === undefined) throw new Error('a question of a thread was not answered')
  return received.message
}
