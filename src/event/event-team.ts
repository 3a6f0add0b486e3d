import type { AgentStatus } from './collab.ts'
import { count, list, number, object, oneOf, optional, type Schema, text, textOrNull, truth } from './event-schema.ts'

/*
 * What happens in a team: a leader and the agents that it started, by the tools of `[collab]` (R115-R118), and work items and messages
 * of `[delegate]` (R142-R144). Part of the vocabulary of event.ts.
 */

const status: Schema<AgentStatus> = {
  anyOf: [
    oneOf('pending_init', 'running', 'interrupted', 'shutdown', 'not_found'),
    object({ completed: textOrNull }),
    object({ errored: text }),
  ],
}

const statuses: Schema<{ readonly [threadId: string]: AgentStatus }> = { type: 'object', additionalProperties: status }

/** `call_id`: of the call of the tool, as in `tool.started`. `sender_id`: whose model made it, the leader or an agent. */
const call = { call_id: text, sender_id: text }

export const teamEvents = {
  /** A model begins to start an agent. */
  'collab.spawn_begin': { ...call, prompt: text, role: text },
  /** The agent is there, or (`thread_id` null, status `not_found`) was `refused`. */
  'collab.spawn_end': { ...call, thread_id: textOrNull, status, refused: optional(text) },
  /** A model writes to an agent. `interrupt`: it stops what it does. */
  'collab.interaction_begin': { ...call, thread_id: text, prompt: text, interrupt: truth },
  /** `submission_id`: of the message, which `collab.message` names when it is delivered; left out when it was `refused`. */
  'collab.interaction_end': {
    ...call,
    thread_id: text,
    status,
    submission_id: optional(text),
    refused: optional(text),
  },
  /** A model waits until all or any of these agents have ended their work. `timeout_seconds`: what is in force. */
  'collab.waiting_begin': {
    ...call,
    thread_ids: list(text),
    return_when: oneOf('all', 'any'),
    timeout_seconds: number,
  },
  /** `statuses`: of all of them, by id. `stalled`: why the wait could never end, and was ended. */
  'collab.waiting_end': { ...call, statuses, timed_out: truth, stalled: optional(text) },
  /** A model closes an agent, which had this status. */
  'collab.close_begin': { ...call, thread_id: text, status },
  'collab.close_end': { ...call, thread_id: text, status },
  /** The status of an agent has changed. */
  'collab.status': { thread_id: text, name: text, role: text, status },
  /** A message is delivered: the model that it is for is told of it. */
  'collab.message': { id: text, from: text, to: text, text },
  /** A team, or a part of it, can get no further by itself: who, and what is the matter. */
  'collab.stalled': { kind: text, agents: list(text), message: text },
  /** A team works on a list of work items (R142). */
  'delegate.entered': { team_name: text, task_list_path: text },
  /** The leader has left the list (R143). */
  'delegate.exited': { completed_tasks: count, total_tasks: count },
  /** Somebody of the team got a message (R144). */
  'delegate.message': { from: text, to: text, message: text },
  /** A work item is new, or has changed. */
  'delegate.item': {
    id: text,
    subject: text,
    status: oneOf('pending', 'in_progress', 'completed'),
    owner: optional(text),
  },
}
