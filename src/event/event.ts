import type { JsonObject } from '../base/json.ts'
import {
  always,
  amount,
  anything,
  count,
  type Described,
  type Flat,
  list,
  number,
  numberOrNull,
  object,
  oneOf,
  optional,
  ordinal,
  type Schema,
  text,
  textOrNull,
  truth,
} from './event-schema.ts'
import { teamEvents } from './event-team.ts'
import { exitCodesText } from './exit-code.ts'
import type { Usage } from './message.ts'

const exitCode: Schema<number> = { ...count, description: exitCodesText('all') }

const errorFields = {
  code: text,
  message: text,
  hint: optional(text),
  file: optional(text),
  line: optional(count),
  column: optional(count),
  /** The lines that led there, innermost first: of the scripts that called it, up to the prompt file. */
  chain: optional(list(object({ file: text, line: optional(count), column: optional(count) }))),
  /** What differs from what was recorded, as a unified diff. */
  diff: optional(text),
}

export type ErrorInfo = Described<typeof errorFields>

const changeFields = {
  file_path: text,
  kind: oneOf('New', 'Patch', 'Append', 'Copy', 'Rename', 'Delete', 'Fail'),
  success: truth,
  /** Of a copy or rename: where the file came from. */
  from_path: optional(text),
  /** There was a file, whose whole content is another now. */
  replaced: optional(always(true)),
  /** A person did not want it. */
  declined: optional(always(true)),
  error_msg: optional(text),
  /** `nearest`: the lines of the file that are most like what the hunk looks for. */
  error_hunks: optional(
    list(object({ hunk_body: text, cause: text, nearest: optional(object({ line: ordinal, text })) })),
  ),
}

/** What became of one change of an answer (as `aip.udiffx` reports it). */
export type FileChange = Described<typeof changeFields>

const usageFields = {
  calls: count,
  input: count,
  output: count,
  cached: count,
  reasoning: count,
  cache_write: optional(count),
} satisfies Record<keyof Usage, unknown>

const error: Schema<ErrorInfo> = { $ref: '#/definitions/error' }
const usage: Schema<Usage> = { $ref: '#/definitions/usage' }
const change: Schema<FileChange> = { $ref: '#/definitions/file_change' }
const stage = oneOf('pre', 'pre_task', 'post_task', 'post')
const scope = oneOf('run', 'task')
const message = { id: text, type: oneOf('agent_message', 'program_output') }
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
  ),
  exit_code: exitCode,
  result: textOrNull,
  outputs: list(anything),
  usage,
  cost_usd: amount,
  unpriced: list(text),
  permission_denials: list(anything),
  repeated: list(anything),
  /** What a suspended run waits for: `place` and `kind` of each open effect. */
  suspended: optional(list(anything)),
  /** The questions that a run waits for, each with what `approval.requested` says, `place`, `asked` and `until`. */
  approvals: optional(list(anything)),
  /** Why nothing was done, when `stop_reason` is `skipped`. */
  reason: optional(text),
  error: optional(error),
}

export type RunStopReason = Described<typeof ending>['stop_reason']

/**
 * The one vocabulary of what happens in a run, each event with its fields. It is the `--json` output as well, so the
 * fields are snake_case. Additive changes keep `schema`; readers ignore unknown types.
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
    /** The run is resumed where it was interrupted. */
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
  /** The task waits for a person or another day; a resumed run continues it. */
  'task.suspended': { ...task, error },
  /** A workflow begins: its steps, each after those it needs. */
  'workflow.started': {
    steps: list(object({ id: text, needs: list(text), agent: optional(text) })),
    concurrency: count,
  },
  /** `name`: its agent; left out: the main agent. `items`: how many `for_each` gives. */
  'step.started': { id: text, name: optional(text), items: optional(count) },
  'step.completed': { id: text, output: anything },
  'step.skipped': { id: text, reason: text },
  'step.failed': { id: text, error },
  'step.suspended': { id: text, error },
  /** One item of a step has ended; the place is that of the step. */
  'step.item': { id: text, index: count, status: oneOf('done', 'skipped', 'failed', 'suspended') },
  /** Several agents are asked the same at once. `id`: `FILE-ensemble-NAME`. `quorum`: how many have to answer. */
  'ensemble.started': {
    members: list(object({ id: text, name: text, kind: oneOf('model', 'agent', 'command') })),
    quorum: count,
  },
  /** The place is that of the member. */
  'member.started': { id: text, name: text },
  'member.completed': { id: text, name: text, output: anything },
  'member.failed': { id: text, name: text, error },
  /** It had not answered within its time, or that of all, and was stopped. */
  'member.timed_out': { id: text, name: text, error },
  /** The answer of another member was taken before it had answered. */
  'member.stopped': { id: text, name: text },
  'member.suspended': { id: text, name: text, error },
  /**
   * The answers have become one. `answered`, `missing`: names of members. `degraded`: one is missing (R316, R318). `winner`: whose
   * answer was taken as it is; `reason`: why, in the words of the model that chose it. `votes`: each different answer, with those who gave it.
   */
  'ensemble.completed': {
    answered: list(text),
    missing: list(text),
    degraded: truth,
    winner: optional(text),
    reason: optional(text),
    votes: optional(list(object({ value: anything, members: list(text) }))),
  },
  /** `id`, `description`, `background`: of one that a model has given work to, by the tool `task`. */
  'agent.started': {
    name: text,
    kind: oneOf('aip', 'lua', 'prompt', 'llm', 'command'),
    input: optional(anything),
    id: optional(text),
    description: optional(text),
    background: optional(always(true)),
  },
  /** `usage`, `cost_usd`: of an agent with an `id`, what its model calls came to; they are part of all sums around it. */
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
  'item.started': { item: object(message) },
  'item.delta': { item_id: text, text, reasoning: optional(always(true)) },
  'item.completed': { item: object({ ...message, text }) },
  /**
   * A model calls a tool. `id`: of the call, in this conversation; `input`: its arguments, a text where they are no JSON.
   * `server`: the MCP server that the tool is of.
   */
  'tool.started': { id: text, name: text, input: anything, server: optional(text) },
  /**
   * The server of a tool says how far it is: `done` of `total`, and what it does, in its words. `id`: of the call; of a call that a
   * script makes its place, and the last event says that it has `ended`.
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
  /** `output`: what the model is told; what is longer than 2,000 characters is cut. `denied`: the permission did not allow it. */
  'tool.completed': {
    id: text,
    name: text,
    output: text,
    is_error: truth,
    denied: optional(always(true)),
    server: optional(text),
  },
  /**
   * A program of a model is going to run, the first with these rights: what it may touch. `program`: what makes the sandbox; left out: there
   * is none. `network`: hosts that it may reach.
   */
  'sandbox.used': {
    mode: oneOf('read-only', 'workspace-write', 'danger-full-access'),
    program: optional(text),
    network: list(text),
  },
  /** A message of a conversation is going to be executed, in a mode (R196). */
  'prompt.created': { prompt_id: text, user_id: text, mode: text },
  /**
   * What comes of a prompt has one entry more (R197). A `text` of a model is that of the item `item_id`, which is complete;
   * another one has its `text`. A `tool` has the `id` of the call, whose events come next. `index` counts from 0.
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
  /** A prompt has come to its end (R199). `usage`: of its model calls. */
  'prompt.completed': { prompt_id: text, usage },
  /** A prompt has failed or was interrupted (R200); `agent.failed` follows. */
  'prompt.error': { prompt_id: text, state: oneOf('failed', 'cancelled'), error },
  /**
   * A person is asked whether something may be done: a call of a tool, or a file change of an answer (`tool`: `write` or
   * `delete`). `id`: what `baton approve` takes. `diff`: what would change. `until`: an answer counts until then.
   */
  'approval.requested': { id: text, tool: text, input: anything, diff: optional(text), until: optional(text) },
  /** What was decided, and why not. Without it the question is open, and the run waits for the answer. */
  'approval.decided': { id: text, decision: oneOf('allow', 'always', 'deny', 'expired'), reason: optional(text) },
  /** Tokens and price of one model call and of the run so far; a price is null when it is not known. */
  usage: { model: text, call: usage, total: usage, cost_usd: amount, total_cost_usd: amount },
  /**
   * A model call failed and is made again after a wait. What `item.delta` sent for the item so far does not count.
   * `attempt`: the call that failed, from 1.
   */
  retry: { item_id: text, model: text, attempt: ordinal, delay_ms: number, error },
  /** A model failed for good and the next one of `fallback_models` is asked. */
  fallback: { item_id: text, from: text, to: text, error },
  /**
   * What became of the file changes of an answer. `base_dir`: what their paths are relative to, from the workspace; left
   * out when it is the workspace. `isolated`: that is a work tree.
   */
  'changes.applied': { items: list(change), base_dir: optional(text), isolated: optional(always(true)) },
  /** In a dry run: what the file changes of an answer would do, also as a unified diff with paths from the workspace. */
  'changes.planned': { items: list(change), base_dir: optional(text), diff: text },
  /** Some changes of a task's answer were not carried out, and it is no success. `paths`: from the workspace. */
  'changes.left_out': { paths: list(text) },
  /** Work is done in a git work tree of its own: `folder` stands for the workspace in it. */
  'isolation.started': { folder: text },
  /** The command of `gate` has ended. `output`: what it printed, the end of it. */
  'isolation.gate': { command: text, passed: truth, output: text },
  /** What was changed in the work tree is in the workspace. `merged`: files that somebody else has changed meanwhile as well. */
  'isolation.applied': { files: list(text), merged: list(text) },
  /** The workspace gets nothing of what was changed in the work tree, which `diff` shows. */
  'isolation.left_out': { reason: text, files: list(text), diff: text },
  /** `isolated`: in a work tree, in which `path` is as it would be in the workspace. */
  'file.changed': { op: text, path: text, isolated: optional(always(true)) },
  print: { name: text, text },
  /**
   * Something a script wants to be seen. A later one with the same scope, place of the agent and `id` replaces it.
   * Smaller priorities come first; null comes last.
   */
  pin: { scope, id: text, priority: numberOrNull, label: text, content: text },
  label: { scope, label: text },
  /** `urgent`: shown to those as well who only want to see errors. */
  warning: { message: text, hint: optional(text), urgent: optional(always(true)) },
  redo: { count },
  /** A prompt is worked on again and again (R79). `max_iterations`: no more than so many. */
  'iterate.started': { condition: text, initial_prompt: text, max_iterations: ordinal },
  /** `iteration` counts from 0; `count`: how many there will be, where that is known (R80). */
  'iteration.started': { iteration: count, count: optional(ordinal) },
  /** Its commit is there when this is sent (R81). `changed_files`: from the workspace. */
  'iteration.completed': {
    iteration: count,
    success: truth,
    summary: text,
    commit_id: optional(text),
    tokens_used: count,
    cost_usd: amount,
    changed_files: list(text),
    score: optional(number),
  },
  /** After each iteration: `iteration` (how many have ended), `succeeded`, `failed`, `elapsed_seconds` (R83). */
  'iterate.progress': {
    progress: object({ iteration: count, succeeded: count, failed: count, elapsed_seconds: count }),
  },
  /** The last iteration was not the best by score, so the files of that one were brought back; -1: those of the start. */
  'iterate.restored': { iteration: number, score: number, changed_files: list(text), commit_id: optional(text) },
  /** All iterations have ended, with the fields of docs/iterate.md (R82, R84). */
  'iterate.completed': { result: anything },
  /** In a watch session: a `pre` step or task would do what it did in an earlier run, and gives what it gave then. */
  read_back: { label: text },
  /** In a watch session: a `pre` step or task that an earlier run has finished is done again. */
  again: { label: text, reason: text },
  /** The final answer of one task, in input order; comes once, when no later round can replace it. */
  answer: { index: count, count, label: text, text },
  /** An output of an agent that is the target of the run, in input order. */
  output: { output: anything },
  'run.completed': ending,
  'run.failed': ending,
}

/** What the bus adds: `seq` counts from 0 without gaps, `agent` is the place, for example `task/0/pre_task/0:lint`. */
const envelope = { seq: count, ts: text, run_id: text, agent: text }

/** Something that happens in a run. */
export type EventBody = {
  [T in keyof typeof events]: Flat<{ readonly type: T } & Described<(typeof events)[T]>>
}[keyof typeof events]

/** An event as listeners and readers of `--json` get it. */
export type RunEvent = EventBody & Described<typeof envelope>

/**
 * The JSON Schema (draft-07) of one line of `--json` (docs/events.md). New versions add events and fields: a reader
 * passes over what it does not know, so fields that are not named are allowed.
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
