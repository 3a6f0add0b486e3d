import type { AgentStatus } from './collab.ts'
import { count, list, number, object, oneOf, optional, type Schema, text, textOrNull, truth } from './event-schema.ts'

/*
 * Events of a team (a leader and the agents that it started with the tools of `[collab]`, R115-R118), and of work items
 * and messages of `[delegate]` (R142-R144). Part of the vocabulary in event.ts.
 */

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
  /** A team starts to work on a list of work items (R142). */
  'delegate.entered': { team_name: text, task_list_path: text },
  /** The leader has finished with the list (R143). */
  'delegate.exited': { completed_tasks: count, total_tasks: count },
  /** A member of the team got a message (R144). */
  'delegate.message': { from: text, to: text, message: text },
  /** A work item was added or changed. */
  'delegate.item': {
    id: text,
    subject: text,
    status: oneOf('pending', 'in_progress', 'completed'),
    owner: optional(text),
  },
}
