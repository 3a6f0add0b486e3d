import type { Json, JsonObject } from '../base/json.ts'
import { exitCodesText } from './exit-code.ts'
import type { Usage } from './message.ts'
import type { AgentStatus } from './collab.ts'

/*
 * Building blocks for the fields of events: each is a JSON Schema that carries the TypeScript type of its values.
 */

declare const described: unique symbol

/** A JSON Schema and the type of the values that match it. */
export interface Schema<T> extends JsonObject {
  readonly [described]?: T
}

export interface Optional<T> {
  readonly optional: Schema<T>
}

export interface Fields {
  readonly [name: string]: Schema<unknown> | Optional<unknown>
}

/** The type of an object with these fields. */
export type Described<F extends Fields> = Flat<
  {
    readonly [N in keyof F as F[N] extends Optional<unknown> ? never : N]: F[N] extends Schema<infer T> ? T : never
  } & {
    readonly [N in keyof F as F[N] extends Optional<unknown> ? N : never]?: F[N] extends Optional<infer T> ? T : never
  }
>

export type Flat<T> = { [N in keyof T]: T[N] }

export const text: Schema<string> = { type: 'string' }
export const truth: Schema<boolean> = { type: 'boolean' }
export const number: Schema<number> = { type: 'number' }
export const ordinal: Schema<number> = { type: 'integer', minimum: 1 }
export const numberOrNull: Schema<number | null> = { type: ['number', 'null'] }
export const count: Schema<number> = { type: 'integer', minimum: 0 }
export const amount: Schema<number | null> = { type: ['number', 'null'], minimum: 0 }
export const textOrNull: Schema<string | null> = { type: ['string', 'null'] }
export const anything: Schema<Json> = {}

export function always<const T extends Json>(value: T): Schema<T> {
  return { const: value }
}

export function oneOf<const T extends string>(...values: readonly T[]): Schema<T> {
  return { enum: values }
}

export function list<T>(items: Schema<T>): Schema<readonly T[]> {
  return { type: 'array', items }
}

export function optional<T>(schema: Schema<T>): Optional<T> {
  return { optional: schema }
}

export function object<F extends Fields>(fields: F): Schema<Described<F>> {
  const entries = Object.entries(fields)
  return {
    type: 'object',
    required: entries.filter(([, field]) => !isOptional(field)).map(([name]) => name),
    properties: Object.fromEntries(entries.map(([name, field]) => [name, isOptional(field) ? field.optional : field])),
  }
}

function isOptional(field: Fields[string]): field is Optional<unknown> {
  return 'optional' in field
}

// Events of a team (a leader and the agents that it started with the tools of `[collab]`), and of work items and
// messages of `[delegate]`.

const status: Schema<AgentStatus> = {
  anyOf: [
    oneOf('pending_init', 'running', 'interrupted', 'shutdown', 'not_found'),
    object({ completed: textOrNull }),
    object({ errored: text }),
  ],
}

const statuses: Schema<{ readonly [threadId: string]: AgentStatus }> = { type: 'object', additionalProperties: status }

/** `call_id`: id of the tool call, as in `tool.started`. `sender_id`: the leader or agent whose model made it. */
const call = { call_id: text, sender_id: text }

export const teamEvents = {
  /** A model is about to start an agent. */
  'collab.spawn_begin': { ...call, prompt: text, role: text },
  /** The agent was started or, if `thread_id` is null (status `not_found`), `refused`. */
  'collab.spawn_end': { ...call, thread_id: textOrNull, status, refused: optional(text) },
  /** A model sends a message to an agent. `interrupt`: the agent stops its current work. */
  'collab.interaction_begin': { ...call, thread_id: text, prompt: text, interrupt: truth },
  /** `submission_id`: id of the message, as in `collab.message` when it is delivered; omitted if it was `refused`. */
  'collab.interaction_end': {
    ...call,
    thread_id: text,
    status,
    submission_id: optional(text),
    refused: optional(text),
  },
  /** A model waits until all or any of these agents have ended their work. `timeout_seconds`: the effective timeout. */
  'collab.waiting_begin': {
    ...call,
    thread_ids: list(text),
    return_when: oneOf('all', 'any'),
    timeout_seconds: number,
  },
  /** `statuses`: status of each agent, by id. `stalled`: why the wait could never have ended, and was ended. */
  'collab.waiting_end': { ...call, statuses, timed_out: truth, stalled: optional(text) },
  /** A model closes an agent, which had this status before. */
  'collab.close_begin': { ...call, thread_id: text, status },
  'collab.close_end': { ...call, thread_id: text, status },
  /** The status of an agent has changed. */
  'collab.status': { thread_id: text, name: text, role: text, status },
  /** A message is delivered to its model. */
  'collab.message': { id: text, from: text, to: text, text },
  /** A team, or a part of it, is stalled: which agents, and why. */
  'collab.stalled': { kind: text, agents: list(text), message: text },
  /** A team starts to work on a list of work items. */
  'delegate.entered': { team_name: text, task_list_path: text },
  /** The leader has finished with the list. */
  'delegate.exited': { completed_tasks: count, total_tasks: count },
  /** A member of the team got a message. */
  'delegate.message': { from: text, to: text, message: text },
  /** A work item was added or changed. */
  'delegate.item': {
    id: text,
    subject: text,
    status: oneOf('pending', 'in_progress', 'completed'),
    owner: optional(text),
  },
}

const exitCode: Schema<number> = { ...count, description: exitCodesText('all') }

const errorFields = {
  code: text,
  /** What happened, more exactly than `code`: one of `errorReasons`. */
  reason: optional(text),
  message: text,
  hint: optional(text),
  file: optional(text),
  line: optional(count),
  column: optional(count),
  /** The call chain, innermost first: lines of the calling scripts, up to the prompt file. */
  chain: optional(list(object({ file: text, line: optional(count), column: optional(count) }))),
  /** The difference from the record, as a unified diff. */
  diff: optional(text),
}

export type ErrorInfo = Described<typeof errorFields>

const changeFields = {
  file_path: text,
  kind: oneOf('New', 'Patch', 'Append', 'Copy', 'Rename', 'Delete', 'Fail'),
  success: truth,
  /** Source path of a copy or rename. */
  from_path: optional(text),
  /** An existing file was overwritten as a whole. */
  replaced: optional(always(true)),
  declined: optional(always(true)),
  /** The user rejected these hunks; the others were made. */
  declined_hunks: optional(list(ordinal)),
  error_msg: optional(text),
  /** `nearest`: the lines of the file most similar to what the hunk looks for. */
  error_hunks: optional(
    list(object({ hunk_body: text, cause: text, nearest: optional(object({ line: ordinal, text })) })),
  ),
}

/** The outcome of one change of an answer (as reported by `aip.udiffx`). */
export type FileChange = Described<typeof changeFields>

const usageFields = {
  calls: count,
  input: count,
  output: count,
  cached: count,
  reasoning: count,
  cache_write: optional(count),
  /** `input` and `output` are partly or wholly estimated: a server did not report them. */
  estimated: optional(always(true)),
} satisfies Record<keyof Usage, unknown>

const error: Schema<ErrorInfo> = { $ref: '#/definitions/error' }
const usage: Schema<Usage> = { $ref: '#/definitions/usage' }
const change: Schema<FileChange> = { $ref: '#/definitions/file_change' }
const stage = oneOf('pre', 'pre_task', 'post_task', 'post')
const scope = oneOf('run', 'task')
const message = { id: text, type: oneOf('agent_message', 'program_output', 'summary') }
const task = { index: count, label: text }

const ending = {
  stop_reason: oneOf(
    'done',
    'skipped',
    'limit',
    'budget',
    'error',
    'cancelled',
    'suspended',
    'waiting_for_approval',
    'until_not_met',
    'partial',
  ),
  exit_code: exitCode,
  result: textOrNull,
  outputs: list(anything),
  usage,
  cost_usd: amount,
  unpriced: list(text),
  permission_denials: list(anything),
  repeated: list(anything),
  /** What a suspended run is waiting for: `place` and `kind` of each pending effect. */
  suspended: optional(list(anything)),
  /** The pending questions of a run, each with the fields of `approval.requested`, `place`, `asked` and `until`. */
  approvals: optional(list(anything)),
  /** Milliseconds in which the process was stopped or the machine slept, if that was noticed. */
  asleep_ms: optional(count),
  /** Why nothing was done, if `stop_reason` is `skipped`. */
  reason: optional(text),
  error: optional(error),
}

export type RunStopReason = Described<typeof ending>['stop_reason']

/**
 * The vocabulary of run events, each with its fields. It is also the `--json` output, so fields are snake_case.
 * Additive changes keep `schema`; readers ignore unknown types.
 */
const events = {
  'run.started': {
    schema: always(1),
    file: text,
    /** A prompt file answers; an agent prints. */
    target: oneOf('prompt', 'agent'),
    file_hash: textOrNull,
    version: text,
    config_warnings: list(text),
    /** The workspace, unless it is the folder that the run was started in. Absolute. */
    workspace: optional(text),
    /** The run resumes an interrupted run. */
    resumed: optional(always(true)),
  },
  'stage.started': { stage, agents: list(text) },
  'stage.completed': { stage },
  'stage.failed': { stage, error },
  'tasks.planned': { count, concurrency: count },
  'task.started': { ...task, count },
  'task.completed': { ...task, output: text },
  'task.skipped': { ...task, reason: optional(text) },
  'task.failed': { ...task, error },
  /** The task waits for the user or for a later time; a resumed run continues it. */
  'task.suspended': { ...task, error },
  /** A workflow starts. Each step is listed after the steps it needs. */
  'workflow.started': {
    steps: list(object({ id: text, needs: list(text), agent: optional(text) })),
    concurrency: count,
  },
  /** `name`: its agent; omitted: the main agent. `items`: number of items from `for_each`. */
  'step.started': { id: text, name: optional(text), items: optional(count) },
  'step.completed': { id: text, output: anything },
  'step.skipped': { id: text, reason: text },
  'step.failed': { id: text, error },
  'step.suspended': { id: text, error },
  /** Some items of the step failed, which it allows: `output` has null for each, `failed` which and why. */
  'step.partial': {
    id: text,
    output: anything,
    failed: list(object({ index: count, label: text, error: text })),
    error,
  },
  /** An item of a step has ended; the place is that of the step. `label`: what it is called, unless it is just done. */
  'step.item': {
    id: text,
    index: count,
    label: optional(text),
    status: oneOf('done', 'skipped', 'failed', 'suspended'),
    error: optional(error),
  },
  /** Several agents get the same prompt at the same time. `id`: `FILE-ensemble-NAME`. `quorum`: required answers. */
  'ensemble.started': {
    members: list(object({ id: text, name: text, kind: oneOf('model', 'agent', 'command') })),
    quorum: count,
  },
  /** The place is that of the member. */
  'member.started': { id: text, name: text },
  'member.completed': { id: text, name: text, output: anything },
  'member.failed': { id: text, name: text, error },
  /** It was stopped because it did not answer within its time limit, or that of the ensemble. */
  'member.timed_out': { id: text, name: text, error },
  /** It was stopped because the answer of another member was accepted first. */
  'member.stopped': { id: text, name: text },
  'member.suspended': { id: text, name: text, error },
  /**
   * The answers were combined. `ids`: of all members, in their order; `answered`, `missing`: names of members.
   * `degraded`: an answer is missing. `winner`: whose answer was taken verbatim; `reason`: why, in the words
   * of the model that chose it. `votes`: each distinct answer with its members.
   */
  'ensemble.completed': {
    ids: optional(list(text)),
    answered: list(text),
    missing: list(text),
    degraded: truth,
    winner: optional(text),
    reason: optional(text),
    votes: optional(list(object({ value: anything, members: list(text) }))),
  },
  /** `id`, `description`, `background`: only for an agent that a model started with the tool `task`. */
  'agent.started': {
    name: text,
    kind: oneOf('aip', 'lua', 'prompt', 'llm', 'command'),
    input: optional(anything),
    id: optional(text),
    description: optional(text),
    background: optional(always(true)),
  },
  /**
   * `usage`, `cost_usd`: only for an agent with an `id`: total of its model calls, also included in all outer totals.
   */
  'agent.completed': {
    name: text,
    stop_reason: text,
    output: optional(anything),
    id: optional(text),
    usage: optional(usage),
    cost_usd: optional(amount),
  },
  'agent.failed': { name: text, error, id: optional(text), usage: optional(usage), cost_usd: optional(amount) },
  'agent.suspended': { name: text, error, id: optional(text) },
  ...teamEvents,
  /**
   * Model calls were sent as a batch, which costs half. `id`: its id at the host. `earlier`: by an earlier process of
   * this run.
   */
  'batch.sent': { id: text, model: text, calls: count, earlier: optional(always(true)) },
  /**
   * A batch is asked for again after `delay_ms`; sent when `done`, the number of its calls that have ended, has changed.
   * With `error` the host could not be reached; without `id`, the batch is not sent yet.
   */
  'batch.waiting': {
    id: optional(text),
    model: text,
    calls: optional(count),
    done: optional(count),
    delay_ms: number,
    error: optional(error),
  },
  /** A batch has ended. `answered`: how many of its calls have an answer; the others are made at once. */
  'batch.completed': { id: text, model: text, calls: count, answered: count },
  'item.started': { item: object(message) },
  'item.delta': { item_id: text, text, reasoning: optional(always(true)) },
  'item.completed': { item: object({ ...message, text }) },
  /**
   * A model calls a tool. `id`: id of the call in this conversation; `input`: its arguments, as text if they are not
   * JSON. `server`: the MCP server that the tool belongs to.
   */
  'tool.started': { id: text, name: text, input: anything, server: optional(text) },
  /**
   * The server of a tool reports progress: `done` of `total`, and a message of the server. `id`: id of the call; for a
   * call of a script its place, and the last event has `ended`.
   */
  'tool.progress': {
    id: text,
    name: text,
    done: number,
    total: optional(number),
    message: optional(text),
    ended: optional(always(true)),
    server: optional(text),
  },
  /** The last lines that a running command has printed, without control sequences; not recorded. */
  'tool.output': { id: text, name: text, text },
  /**
   * `output`: the result for the model, truncated to 2,000 characters. `reason`: `TOOL_NOT_FOUND` if the model has no
   * such tool. `denied`: denied by the permissions.
   */
  'tool.completed': {
    id: text,
    name: text,
    output: text,
    is_error: truth,
    reason: optional(text),
    denied: optional(always(true)),
    server: optional(text),
  },
  /**
   * A program of a model is about to run, the first with these rights. `mode`: what it may access. `program`: the
   * sandbox program; omitted: no sandbox. `network`: hosts that it may connect to.
   */
  'sandbox.used': {
    mode: oneOf('read-only', 'workspace-write', 'danger-full-access'),
    program: optional(text),
    network: list(text),
  },
  /** A message of a conversation is about to be executed, in a mode. */
  'prompt.created': { prompt_id: text, user_id: text, mode: text },
  /**
   * A prompt has a new output entry. A `text` from a model is the completed item `item_id`; any other has its
   * `text`. A `tool` has the `id` of the call, whose events follow. `index` counts from 0.
   */
  'prompt.output': {
    prompt_id: text,
    index: count,
    output: object({
      type: oneOf('text', 'tool', 'file'),
      text: optional(text),
      item_id: optional(text),
      id: optional(text),
      function: optional(text),
      name: optional(text),
      media_type: optional(text),
    }),
  },
  /** A prompt is complete. `usage`: of its model calls. */
  'prompt.completed': { prompt_id: text, usage, stop_reason: optional(oneOf('limit')) },
  /** A prompt failed or was interrupted; `agent.failed` follows. */
  'prompt.error': { prompt_id: text, state: oneOf('failed', 'cancelled'), error },
  /**
   * Approval is requested for a tool call, or a file change of an answer (`tool`: `write` or `delete`). `id`: as used
   * by `baton approve`. `diff`: what would change. `until`: when the question expires.
   */
  'approval.requested': {
    id: text,
    tool: text,
    input: anything,
    diff: optional(text),
    runs: optional(list(text)),
    commands: optional(list(text)),
    unread: optional(always(true)),
    target: optional(text),
    folder: optional(text),
    /** How many hunks of the diff can be decided one by one. */
    hunks: optional(count),
    /** Of a change of an answer: which of how many, and what the answer says besides its changes. */
    review: optional(anything),
    until: optional(text),
  },
  /**
   * The decision, and the reason for a denial. `hunks`: only these of the change are made. `edited`: those of them that
   * the user has edited. Until this event, the run waits for an answer.
   */
  'approval.decided': {
    id: text,
    decision: oneOf('allow', 'always', 'deny', 'expired'),
    hunks: optional(list(ordinal)),
    edited: optional(list(ordinal)),
    reason: optional(text),
  },
  /** Tokens and price of one model call and of the run so far; a price is null if unknown. */
  usage: { model: text, call: usage, total: usage, cost_usd: amount, total_cost_usd: amount },
  /**
   * A model call failed and is retried after a delay. Discard what `item.delta` sent for the item so far. `attempt`:
   * number of the failed call, from 1. `left_ms`: how much longer it is tried while the network or the server fails.
   */
  retry: { item_id: text, model: text, attempt: ordinal, delay_ms: number, left_ms: optional(number), error },
  /**
   * A conversation was made shorter, because the next request would nearly fill the context window, or the server refused
   * it as too long. `messages`: how many were summarized, or had results that were cut; `tokens_before`, `tokens_after`:
   * of the request, estimated.
   */
  'conversation.compacted': {
    reason: oneOf('window', 'too_long'),
    messages: count,
    tokens_before: count,
    tokens_after: count,
  },
  /** A model failed permanently, and the next one of `fallback_models` is called. */
  fallback: { item_id: text, from: text, to: text, error },
  /**
   * The outcome of the file changes of an answer. `base_dir`: the base of their paths, relative to the workspace;
   * omitted if it is the workspace. `isolated`: they were made in a work tree.
   */
  'changes.applied': { items: list(change), base_dir: optional(text), isolated: optional(always(true)) },
  /** Dry run: what the file changes of an answer would do. `diff`: unified, with paths relative to the workspace. */
  'changes.planned': { items: list(change), base_dir: optional(text), diff: text },
  /** Some changes of a task's answer were not made, so it is not a success. `paths`: relative to the workspace. */
  'changes.left_out': { paths: list(text) },
  /** Work is done in a separate git work tree, where `folder` takes the place of the workspace. */
  'isolation.started': { folder: text },
  /** The command of `gate` has ended. `output`: the end of its output. */
  'isolation.gate': { command: text, passed: truth, output: text },
  /**
   * The changes in the work tree were applied to the workspace. `merged`: files that were also changed there meanwhile.
   */
  'isolation.applied': { files: list(text), merged: list(text) },
  /** The changes in the work tree, shown in `diff`, were not applied to the workspace. */
  'isolation.left_out': { reason: text, files: list(text), diff: text },
  /** `isolated`: in a work tree; `path` is the corresponding path in the workspace. */
  'file.changed': { op: text, path: text, isolated: optional(always(true)) },
  print: { name: text, text },
  /**
   * Content that a script displays. A later pin with the same scope, agent place and `id` replaces it. Ordered by
   * ascending priority; null is last.
   */
  pin: { scope, id: text, priority: numberOrNull, label: text, content: text },
  label: { scope, label: text },
  /** `urgent`: shown even if only errors are displayed. */
  warning: { message: text, hint: optional(text), urgent: optional(always(true)) },
  redo: { count },
  /** A prompt is executed iteratively. `max_iterations`: upper limit. */
  'iterate.started': { condition: text, initial_prompt: text, max_iterations: ordinal },
  /** `iteration` counts from 0; `count`: total number, if known. */
  'iteration.started': { iteration: count, count: optional(ordinal) },
  /** Sent after its commit was created. `changed_files`: relative to the workspace. */
  'iteration.completed': {
    iteration: count,
    success: truth,
    error: optional(text),
    summary: text,
    commit_id: optional(text),
    tokens_used: count,
    cost_usd: amount,
    changed_files: list(text),
    score: optional(number),
  },
  /** After each iteration: `iteration` (how many have ended), `succeeded`, `failed`, `elapsed_seconds`. */
  'iterate.progress': {
    progress: object({ iteration: count, succeeded: count, failed: count, elapsed_seconds: count }),
  },
  /** The last iteration did not have the best score, so the files of the best one were restored; -1: initial files. */
  'iterate.restored': { iteration: number, score: number, changed_files: list(text), commit_id: optional(text) },
  /** All iterations have ended, with the fields of docs/iterate.md. */
  'iterate.completed': { result: anything },
  /** Watch session: a `pre` step or task would do the same as in an earlier run, so its result is reused. */
  read_back: { label: text },
  /** Watch session: a `pre` step or task that an earlier run finished is rerun. */
  again: { label: text, reason: text },
  /** The final answer of a task, in input order; sent once, when no later round can replace it. */
  answer: { index: count, count, label: text, text },
  /** An output of an agent that is the target of the run, in input order. */
  output: { output: anything },
  'run.completed': ending,
  'run.failed': ending,
}

/** Added by the bus: `seq` counts from 0 without gaps, `agent` is the place, for example `task/0/pre_task/0:lint`. */
const envelope = { seq: count, ts: text, run_id: text, agent: text }

/** Something that happens in a run. */
export type EventBody = {
  [T in keyof typeof events]: Flat<{ readonly type: T } & Described<(typeof events)[T]>>
}[keyof typeof events]

/** An event as received by listeners and readers of `--json`. */
export type RunEvent = EventBody & Described<typeof envelope>

/**
 * The JSON Schema (draft-07) of one line of `--json` (docs/events.md). New versions add events and fields, and readers
 * ignore unknown ones, so additional fields are allowed.
 */
export function eventJsonSchema(): JsonObject {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'One line of baton run --json',
    oneOf: Object.entries(events).map(([type, fields]) => ({
      title: type,
      ...object({ type: always(type), ...envelope, ...fields }),
    })),
    definitions: { error: object(errorFields), usage: object(usageFields), file_change: object(changeFields) },
  }
}
