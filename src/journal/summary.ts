import { isObject, type JsonObject } from '../base/json.ts'
import type { RunStopReason } from '../event/event.ts'

/**
 * The state of a run. `interrupted`: its process is gone and wrote no end; `running`: its process is alive; `waiting`:
 * the same, and it waits for a person's answer.
 */
export type RunStatus = Exclude<RunStopReason, 'error'> | 'failed' | 'interrupted' | 'running' | 'waiting'

export const runStatuses: readonly RunStatus[] = [
  'done',
  'skipped',
  'failed',
  'partial',
  'cancelled',
  'budget',
  'limit',
  'suspended',
  'waiting_for_approval',
  'interrupted',
  'running',
  'waiting',
]

/** `queued`: of a run that waits for its turn in a server. That is not recorded. */
export type ShownStatus = RunStatus | 'queued'

export const shownStatuses: readonly ShownStatus[] = [...runStatuses, 'queued']

/** A run as a server shows it. */
export type ShownSummary = Omit<RunSummary, 'status'> & { readonly status: ShownStatus }

/** Whether a process works on a run in this state or waits in it, or will do so when it is its turn. */
export function isActive(status: ShownStatus): boolean {
  return status === 'running' || status === 'waiting' || status === 'queued'
}

/** Whether a run has stopped before it was done. */
export function isUnfinished(status: ShownStatus): boolean {
  return status !== 'done' && status !== 'skipped' && !isActive(status)
}

/**
 * The contents of `summary.json` and of a line of `index.jsonl`, and the output of `baton runs --json`. Additive
 * changes keep `v`.
 */
export interface RunSummary {
  readonly v: 1
  readonly id: string
  /** Absolute; for a run of `-p` text, its name in messages. */
  readonly file: string
  readonly target: 'prompt' | 'agent' | 'undo' | 'apply' | 'conversation'
  /** ISO 8601, UTC. `ended` is null for a run without an end. */
  readonly started: string
  readonly ended: string | null
  /** Time during which a process worked on it: breaks between processes do not count. */
  readonly duration_ms: number
  /** How long its processes were stopped or the machine slept, as far as it was noticed. Omitted: not at all. */
  readonly asleep_ms?: number
  readonly status: RunStatus
  /** Null for a run without an end. */
  readonly exit: number | null
  readonly tasks: { readonly done: number; readonly failed: number; readonly skipped: number }
  readonly calls: number
  readonly tokens: TokenTotals
  /** US dollars of the calls with a known price; null if there were calls and none has a price. */
  readonly cost_usd: number | null
  readonly models: readonly string[]
  /** How many processes worked on it. */
  readonly epochs: number
  /** Effects that were repeated because their outcome was unknown. */
  readonly repeated: number
  /** The error that ended it, if any; null without an end, and in summaries of older versions. */
  readonly error: string | null
  /** Where the error is, if it is in a file. */
  readonly error_place: ErrorPlace | null
  /** False: everything is done, so a resume would end in the same way, or it is refused. Omitted otherwise. */
  readonly resumable?: false
  /** An ensemble of it went on without the answer of a member. Omitted otherwise. */
  readonly degraded?: true
  /** False: its process was killed before it recorded anything, so nothing was done. Omitted otherwise. */
  readonly begun?: false
  /** How many answers it waits for. Only of a run that is waiting. */
  readonly waits?: number
  /** It planned changes of files, which `baton apply` has not made. Omitted otherwise. */
  readonly not_applied?: true
}

/** `estimated`: partly or wholly, because a server did not report them. */
export interface TokenTotals {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly estimated?: true
}

export function tokenTotals({ input, output, cached, estimated }: TokenTotals): TokenTotals {
  return { input, output, cached, ...(estimated === undefined ? {} : { estimated }) }
}

/** Lines and columns count from 1. */
export interface ErrorPlace {
  readonly file: string
  readonly line?: number
  readonly column?: number
}

/** When a run was worked on, from its records. Milliseconds. */
export interface RunTimes {
  readonly started: number
  readonly ended: number
  readonly worked: number
  /** Omitted: not at all. */
  readonly asleep?: number
  readonly epochs: number
}

/** What only the process that ends a run knows; see `createTally`. */
export type RunResult = Pick<
  RunSummary,
  'id' | 'target' | 'status' | 'tasks' | 'calls' | 'tokens' | 'cost_usd' | 'models' | 'repeated'
> & { readonly exit: number } & Partial<ErrorView> &
  Pick<RunSummary, 'resumable' | 'degraded' | 'not_applied'>

/** What went wrong, for people and programs. */
export type ErrorView = Pick<RunSummary, 'error' | 'error_place'>

export const noError: ErrorView = { error: null, error_place: null }

/** Messages can have any length; a summary is one line of an index. */
const longestError = 2000

export function errorView(message: string, place?: Partial<ErrorPlace>): ErrorView {
  const { file, line, column } = place ?? {}
  return {
    error: message.length > longestError ? `${message.slice(0, longestError)}…` : message,
    error_place: file === undefined ? null : { file, ...(line && { line }), ...(column && { column }) },
  }
}

export function summaryOf(result: RunResult, file: string, times: RunTimes): RunSummary {
  const { id, target, status, exit, tasks, calls, tokens, cost_usd, models, repeated } = result
  return {
    v: 1,
    id,
    file,
    target,
    started: new Date(times.started).toISOString(),
    ended: new Date(times.ended).toISOString(),
    duration_ms: times.worked,
    ...(times.asleep === undefined ? {} : { asleep_ms: times.asleep }),
    status,
    exit,
    tasks,
    calls,
    tokens,
    cost_usd,
    models,
    epochs: times.epochs,
    repeated,
    error: result.error ?? null,
    error_place: result.error_place ?? null,
    ...(result.resumable === false ? { resumable: false } : {}),
    ...(result.degraded === true ? { degraded: true } : {}),
    ...(result.not_applied === true ? { not_applied: true } : {}),
  }
}

/** The name of a stop reason in the history. */
export function statusOf(stop: string): RunStatus {
  return stop === 'error' ? 'failed' : (runStatuses.find((status) => status === stop) ?? 'failed')
}

/** The summary in a text that this or another version wrote; undefined if it is not a summary. */
export function readSummary(text: string): RunSummary | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!isSummary(value)) return undefined
    const { error, error_place } = value as Partial<ErrorView>
    return { ...value, error: error ?? null, error_place: error_place ?? null }
  } catch {
    return undefined
  }
}

function isSummary(value: unknown): value is RunSummary & JsonObject {
  if (!isObject(value)) return false
  const { id, file, started, ended, duration_ms, status, tasks, tokens, calls, models, epochs } = value
  return (
    [id, file, started, ended].every((text) => typeof text === 'string') &&
    [duration_ms, calls, epochs].every((number) => typeof number === 'number') &&
    runStatuses.some((known) => known === status) &&
    isObject(tasks) &&
    isObject(tokens) &&
    Array.isArray(models)
  )
}
