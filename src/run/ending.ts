import { defined, type Json } from '../base/json.ts'
import type { ApprovalView } from '../event/action-view.ts'
import { BatonError, isBatonError, isSuspension, isWaitingForApproval, StopSignal } from '../base/error.ts'
import type { RunTotal } from '../event/meter.ts'
import type { Repeated } from '../journal/resumed-effects.ts'
import type { EventBody, RunEvent, RunStopReason } from '../event/event.ts'
import { errorInfo } from '../event/error-info.ts'
import { exitCodeOf } from '../event/exit-code.ts'
import { LuaError } from '../script/engine.ts'
import type { PromptDocument } from '../prompt/document.ts'
import type { TaskOutcome } from './strategy.ts'

/** How a run ended. A failure is not thrown: it is in `error`. */
export interface Ending {
  readonly stopReason: RunStopReason
  readonly tasks: readonly TaskOutcome[]
  readonly outputs: readonly Json[]
  readonly error?: unknown
  /** Everything is done, so a resume would end in the same way. */
  readonly isFinal?: true
  readonly skipped?: { readonly reason: string; readonly hint: string }
}

/** The ending of a run that threw; `tasks` are those that finished before. */
export function failedEnding(
  error: unknown,
  signal: AbortSignal | undefined,
  tasks: readonly TaskOutcome[] = [],
): Ending {
  if (signal?.aborted === true) return { stopReason: 'cancelled', tasks, outputs: [], error: signal.reason as unknown }
  const stopReason = isSuspension(error) ? suspensionReason(error) : stopReasonOf(error)
  return { stopReason, tasks, outputs: [], error }
}

/** What a suspended run waits for: the user, or something else. */
export function suspensionReason(error: unknown): 'waiting_for_approval' | 'suspended' {
  return isWaitingForApproval(error) ? 'waiting_for_approval' : 'suspended'
}

function stopReasonOf(error: unknown): RunStopReason {
  if (exitCodeOf(error) !== 4) return 'error'
  return isBudget(error) ? 'budget' : 'limit'
}

/** What failed, if no task did but an answer is made from a part of what it should be made from. */
export function partialAnswer(
  tasks: readonly TaskOutcome[],
  { file: own, text }: Pick<PromptDocument, 'file' | 'text'>,
): BatonError | undefined {
  if (tasks.some(({ status }) => status === 'failed')) return undefined
  const [partial] = tasks.flatMap((task) => (task.status === 'done' ? (task.partial ?? []) : []))
  if (partial === undefined) return undefined
  const { message, hint, file, line, column } = partial
  const place =
    file === undefined ? undefined : { file, ...defined({ line, column, text: file === own ? text : undefined }) }
  return new BatonError('AGENT_FAILED', message, { reason: 'PARTIAL_RESULT', hint, place })
}

/** Whether a budget is exhausted, also inside an agent. */
export function isBudget(error: unknown): boolean {
  return isBatonError(error) && (error.code === 'BUDGET' || isBudget(error.cause))
}

/** Whether the error of one iteration would fail all others: an exhausted budget, a missing or refused key. */
export function endsAll(error: unknown): boolean {
  return isBudget(error) || exitCodeOf(error) === 3
}

/** A run with failed tasks exits with 1 if the file allows them. */
export function exitCodeFor({ stopReason, error }: Ending): number {
  switch (stopReason) {
    case 'done':
    case 'skipped':
      return 0
    case 'until_not_met':
      return 7
    case 'cancelled':
      return error instanceof StopSignal ? error.exitCode : 130
    case 'limit':
    case 'budget':
    case 'partial':
    case 'error':
    case 'suspended':
    case 'waiting_for_approval':
      return error === undefined ? 1 : exitCodeOf(error)
  }
}

/** The script that failed on its own, so that it fails again until edited; not one that a host function failed. */
export function faultyScript(error: unknown): string | undefined {
  let root = error
  while (isBatonError(root) && root.cause !== undefined) root = root.cause
  const isOwn = root instanceof LuaError && root.limit === undefined && root.cause === undefined
  return isOwn && isBatonError(error) ? error.place?.file : undefined
}

/** Further fields of the last event. */
export interface EndFacts extends RunTotal {
  readonly repeated: readonly Repeated[]
  readonly suspended: readonly Waiting[]
  readonly denials: readonly Denial[]
  readonly approvals: readonly ApprovalView[]
  readonly asleepMs: number
}

/** A denied tool call. */
interface Denial {
  readonly tool: string
  /** The id of the call, as in its events. */
  readonly id: string
  readonly input: Json
  /** The reason given to the model. */
  readonly reason: string
}

/** An effect that waits for the user or for a later time. */
export interface Waiting {
  readonly place: string
  readonly kind: string
}

/** The last event of a run. */
export function endingEvent(
  ending: Ending,
  { usage, costUsd, unpriced, repeated, suspended, denials, approvals, asleepMs }: EndFacts,
): EventBody {
  const { stopReason, tasks, outputs, error, skipped } = ending
  const exitCode = exitCodeFor(ending)
  const answers = tasks.map((task) => (task.status === 'done' ? task.content : null))
  return {
    type: exitCode === 0 ? 'run.completed' : 'run.failed',
    stop_reason: stopReason,
    exit_code: exitCode,
    result: answers.length === 1 ? (answers[0] ?? null) : null,
    outputs: tasks.length > 0 ? answers : outputs,
    usage,
    cost_usd: costUsd,
    unpriced,
    permission_denials: denials.map((denial) => ({ ...denial })),
    repeated: repeated.map(({ id, place, kind }) => ({ id, place, kind })),
    ...(suspended.length === 0 ? {} : { suspended: suspended.map(({ place, kind }) => ({ place, kind })) }),
    ...(approvals.length === 0 ? {} : { approvals: approvals.map((one) => ({ ...one })) }),
    ...(asleepMs === 0 ? {} : { asleep_ms: Math.round(asleepMs) }),
    ...(skipped === undefined ? {} : { reason: skipped.reason }),
    ...(error === undefined ? {} : { error: errorInfo(error) }),
  }
}

interface Denials {
  readonly add: (event: RunEvent) => void
  readonly all: () => readonly Denial[]
}

/** Collects denied tool calls for the last event of a run. */
export function createDenials(): Denials {
  const inputs = new Map<string, Json>()
  const denials: Denial[] = []
  return {
    add(event: RunEvent) {
      if (event.type === 'tool.started') inputs.set(event.id, event.input)
      if (event.type !== 'tool.completed') return
      const { id, name: tool, output: reason, denied } = event
      if (denied === true) denials.push({ tool, id, input: inputs.get(id) ?? null, reason })
      inputs.delete(id)
    },
    all: () => denials,
  }
}

/** Tracks the file changes that a run and its agents left out. */
export interface SkippedChanges {
  /** To be called with every event of the run; replaced rounds do not count. */
  readonly add: (event: RunEvent) => void
  /** Turns an ending without an error into one with an error if something was left out. */
  readonly judge: (ending: Ending) => Ending
}

export function createSkippedChanges(): SkippedChanges {
  let found: { readonly agent: string; readonly paths: readonly string[] }[] = []

  return {
    add(event) {
      // a later iteration supersedes what an earlier one left out
      if (event.type === 'iteration.started') {
        const around = event.agent.replace(/\/?iteration\/\d+$/, '')
        found = found.filter(({ agent }) => !isWithin(agent, around))
      }
      if (event.type === 'redo') found = found.filter(({ agent }) => !isWithin(agent, event.agent))
      if (event.type === 'changes.left_out') found.push({ agent: event.agent, paths: event.paths })
    },
    judge(ending) {
      const paths = found.flatMap((one) => one.paths)
      if (paths.length === 0 || (ending.stopReason !== 'done' && ending.stopReason !== 'skipped')) return ending
      const { tasks, outputs } = ending
      return { stopReason: 'error', tasks, outputs, error: leftOutError(paths), isFinal: true }
    },
  }
}

function isWithin(place: string, around: string): boolean {
  return around === '' || place === around || place.startsWith(`${around}/`)
}

function leftOutError(paths: readonly string[]): BatonError {
  const what = paths.length === 1 ? 'a file change was left out' : `${paths.length} file changes were left out`
  const hint = 'With partial = true the others are applied. Set partial_is_success = true in [changes] to exit with 0.'
  return new BatonError('CHANGES_FAILED', `${what}: ${namesOf(paths)}`, { hint })
}

function namesOf(paths: readonly string[], most = 3): string {
  const names = [...new Set(paths)]
  const rest = names.length - most
  return rest > 0 ? `${names.slice(0, most).join(', ')} and ${rest} more` : names.join(', ')
}
