import { resolve as absolute } from 'node:path'
import { homeFolder } from './base/home.ts'
import { answerCalls, type ApproveOptions, type RejectOptions } from './library/approvals.ts'
import { type Conversations, conversationsAt, promptsAt } from './library/conversations.ts'
import {
  checkedOptions,
  type ConversationOptions,
  type PlaceOptions,
  type ResumeOptions,
  type RunOptions,
  type WatchOptions,
} from './library/options.ts'
import type { Decided } from './wiring/decide.ts'
import { beginResume, beginRun, beginWatch, type Run, type WatchSession } from './library/runs.ts'

export { BatonError, isBatonError, type ErrorCode, type ErrorReason } from './base/error.ts'
export type { ExecutionMode } from './agent/modes/mode.ts'
export type { Plugin, PluginFunction, PluginTool } from './agent/plugins/plugin.ts'
export type { ApprovalView } from './event/action-view.ts'
export type { RunEvent } from './event/event.ts'
export type { Prompt } from './event/prompt.ts'
export type { ApprovalAnswer, ApprovalRequest, Approve, ApproveOptions, RejectOptions } from './library/approvals.ts'
export type { Conversation, ConversationEvent, Conversations, Operation } from './library/conversations.ts'
export type { ConversationOptions, RecordOptions, ResumeOptions, RunOptions, WatchOptions } from './library/options.ts'
export type { AnswerServer, ServerAnswer, ServerQuestion } from './library/server-questions.ts'
export type { Run, WatchedRun, WatchSession } from './library/runs.ts'
export type { RunReport } from './wiring/conduct.ts'
export type { Decided } from './wiring/decide.ts'

/**
 * Runs a prompt file (`.md`), an agent (`.aip`, `.lua`) or `namespace@pack`. It starts immediately.
 *
 * @throws BatonError USAGE for options that do not exist or are of a wrong type
 * @example
 * const ask = run('ask.md', { model: 'offline::extractive' })
 * for await (const event of ask) if (event.type === 'answer') console.log(event.text)
 * const { exitCode } = await ask.result
 */
export function run(file: string, options: RunOptions = {}): Run {
  const given = checkedOptions('run', { file }, options)
  return beginRun(file, given, placeOf(given))
}

/**
 * Resumes a run that was interrupted, failed or waits: by its id, the start of its id, or `last` for the newest that
 * has not succeeded. Finished work is not repeated.
 *
 * @throws BatonError USAGE for options that do not exist or are of a wrong type
 */
export function resume(run: string, options: ResumeOptions = {}): Run {
  const given = checkedOptions('resume', { run }, options)
  return beginResume(run, given, placeOf(given))
}

/**
 * Runs, and reruns whenever something that the last run has read changes. The runs share a budget, and unaffected parts
 * are reused.
 *
 * @throws BatonError USAGE for options that do not exist or are of a wrong type
 */
export function watch(file: string, options: WatchOptions = {}): WatchSession {
  const given = checkedOptions('watch', { file }, options)
  return beginWatch(file, given, placeOf(given))
}

/**
 * Approves a pending call of a recorded run: by the id of the run, the start of its id, or `last` for the newest. The
 * decision is on disk when the promise resolves; `resume` continues the run.
 *
 * @throws BatonError USAGE for options that do not exist, a run in progress, and a call that does not exist or is
 * already decided
 */
export async function approve(run: string, options: ApproveOptions = {}): Promise<Decided> {
  const { always, hunks, remarks, edits, reason, ...given } = checkedOptions('approve', { run }, options)
  return answerCalls(run, { kind: 'approve', always, hunks, remarks, edits, reason }, { ...given, ...placeOf(given) })
}

/**
 * Rejects a pending call of a recorded run; otherwise like `approve`. The model gets the reason.
 *
 * @throws BatonError USAGE as `approve` does
 */
export async function reject(run: string, options: RejectOptions = {}): Promise<Decided> {
  const { reason, hunks, ...given } = checkedOptions('reject', { run }, options)
  return answerCalls(run, { kind: 'reject', reason, hunks }, { ...given, ...placeOf(given) })
}

/**
 * Conversations that a program drives: `open()` returns one, which accepts operations (`prompt`, `interrupt`,
 * `approve`, `reject`, `shutdown`) and emits events until it ends. `options` apply to all of them.
 */
export function createConversations(options: ConversationOptions = {}): Conversations {
  return conversationsAt(options, placeOf)
}

/**
 * The prompts of a recorded conversation or chat, oldest first, by its id, the start of it, or `last`. Secrets are shown
 * by name. @throws BatonError USAGE for options that do not exist, and if there is no such conversation, or several
 */
export const conversationPrompts = promptsAt(placeOf)

function placeOf({
  cwd = process.cwd(),
  env = process.env,
  home = homeFolder(),
}: PlaceOptions): Required<PlaceOptions> {
  return { cwd: absolute(cwd), env, home }
}
