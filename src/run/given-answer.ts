import type { Spent } from './answer.ts'

/** What a model answered to a task that failed all the same. */
export interface GivenAnswer {
  readonly text: string
  readonly spent: Spent
}

/** Thrown from where an answer was given up to the end of its task, and no further: `reason` is the error. */
class AnsweredFailure extends Error {
  readonly reason: unknown
  readonly answer: GivenAnswer

  constructor(reason: unknown, answer: GivenAnswer) {
    super('a task failed after it was answered')
    this.reason = reason
    this.answer = answer
  }
}

/** Keeps an answer that has been paid for when what is done with it fails. */
export async function keepAnswer<T>(answer: () => GivenAnswer, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof AnsweredFailure ? error : new AnsweredFailure(error, answer())
  }
}

/** The error of a task, and what was answered before, when there is anything. */
export function failureOf(error: unknown): { readonly error: unknown; readonly answer?: GivenAnswer } {
  return error instanceof AnsweredFailure ? { error: error.reason, answer: error.answer } : { error }
}
