import { BatonError, isBatonError } from '../base/error.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { ModelResult } from '../event/agent.ts'
import type { ErrorInfo } from '../event/event.ts'
import type { Spent } from '../event/meter.ts'

/** The answer of one task, before its `post_task` agents. Plain JSON. */
export interface TaskAnswer {
  /** Without the change blocks that were applied. */
  readonly text: string
  /** `ai_response` of `post_task` agents. */
  readonly response: JsonObject
  /** The changes that were applied or refused: `file_changes` of `post_task` agents. */
  readonly fileChanges: readonly JsonObject[]
  /** The parsed answer of a file with `[output]`. */
  readonly value?: Json
  readonly spent: Spent
  /** What failed, if it was made from a part of what it should be made from. */
  readonly partial?: ErrorInfo
}

/** The answer, and the reasoning before it; empty if the model does not show it. */
export type AnswerText = Pick<ModelResult, 'text' | 'reasoning'> & Partial<Pick<ModelResult, 'calls'>>

/** `ai_response` of `post_task` agents. */
export function responseOf(
  { text, reasoning: thoughts, calls = [] }: AnswerText,
  { model, usage, costUsd }: Spent,
): JsonObject {
  const { input, output, cached, reasoning } = usage
  return {
    content: text,
    ...(thoughts === '' ? {} : { reasoning_content: thoughts }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => ({ ...call })) }),
    ...(model === '' ? {} : { model_name: model }),
    usage: { prompt_tokens: input, completion_tokens: output, cached_tokens: cached, reasoning_tokens: reasoning },
    ...(costUsd === null ? {} : { price_usd: costUsd }),
  }
}

/** The answer of a model to a task that failed nevertheless. */
export interface FailedAnswer {
  readonly text: string
  readonly spent: Spent
  /** The answer is the (possibly partial) result: it is printed although the task failed. */
  readonly isResult?: true
}

/** Wraps an error between the answer and the end of its task; it never leaves the task. `reason` is the error. */
class AnsweredFailure extends Error {
  readonly reason: unknown
  readonly answer: FailedAnswer

  constructor(reason: unknown, answer: FailedAnswer) {
    super('a task failed after it was answered')
    this.reason = reason
    this.answer = answer
  }
}

/** The cause of errors that the same answer would always lead to again. */
const unusable = new Error('the answer cannot be used')

/** An answer that does not have the form that it needs. Marks the error so that a resumed run calls the model again. */
export function unusableAnswer(error: BatonError): BatonError {
  return notUsedAgain(error, error.reason ?? 'INVALID_ANSWER')
}

/** Marks the error so that a resumed run does not use what was answered before it, but asks again. */
export function notUsedAgain(
  { code, message, hint, place, diff, reason: own }: BatonError,
  reason: BatonError['reason'] = own,
): BatonError {
  return new BatonError(code, message, { reason, hint, place, diff, cause: unusable })
}

/** Whether a task or its run failed because of an answer that a resumed run must not reuse. */
export function isUnusable(error: unknown): boolean {
  if (error instanceof AnsweredFailure) return isUnusable(error.reason)
  return error === unusable || (isBatonError(error) && (error.reason === 'EMPTY_ANSWER' || isUnusable(error.cause)))
}

/** Attaches an answer, which was paid for, to the error if processing it fails. */
export async function keepAnswer<T>(answer: () => FailedAnswer, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof AnsweredFailure ? error : new AnsweredFailure(error, answer())
  }
}

/** The error of a task, and the answer before it, if there was one. */
export function failureOf(error: unknown): { readonly error: unknown; readonly answer?: FailedAnswer } {
  return error instanceof AnsweredFailure ? { error: error.reason, answer: error.answer } : { error }
}
