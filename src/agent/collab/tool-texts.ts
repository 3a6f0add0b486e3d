import { modelText } from '../../base/model-text.ts'
import type { JsonObject } from '../../base/json.ts'
import type { AgentDefinition } from '../../event/agent.ts'
import type { CollabSettings } from '../../event/collab.ts'

/** The descriptions of the team tools, which models read. */
export const descriptions = {
  spawn(roles: ReadonlyMap<string, AgentDefinition>): string {
    const known = [...roles.values()].map(({ name, description }) => `- ${name}: ${description ?? ''}`.trimEnd())
    return modelText`Start an agent that works in parallel with you, and get its id immediately. It knows nothing about this conversation: the message must contain its task, the information it needs, and what it should answer. Use agents for large work with independent parts, for a second opinion, or for long checks; not for work that takes a call or two. All agents share one workspace: give each its own files. Then wait for them, follow up with send_input if an answer is not sufficient, and close each agent that you no longer need.

Roles:
${known.join('\n')}`
  },
  send: modelText`Send a message to an agent. A working agent gets it before its next request; an agent that has ended resumes work with it. With interrupt it stops its current work and continues with the message.`,
  wait({ defaultWaitMs, minWaitMs, maxWaitMs, returnWhen }: CollabSettings): string {
    const [usual, least, most] = [defaultWaitMs, minWaitMs, maxWaitMs].map((ms) => ms / 1000)
    return modelText`Wait until ${returnWhen === 'all' ? 'all' : 'any'} of the agents have finished their current work, and get the status of each: {"completed": text} has its answer, {"errored": text} its error; pending_init, running and interrupted are still in progress. Without a timeout it waits ${usual} seconds; the minimum is ${least}, the maximum ${most}. Wait once for several agents, and prefer long waits to frequent ones.`
  },
  close: modelText`Permanently end an agent and the agents it has started, and get its last status. Close each agent that you no longer need.`,
} as const

const status: JsonObject = {
  description: modelText`"pending_init" | "running" | "interrupted" | "shutdown" | "not_found", {completed: text or null} or {errored: text}`,
}

function object(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false }
}

/**
 * The schemas of the tools. Further rules for texts and numbers are in the descriptions and not in the schemas, so that
 * a violation gets the tool's own message (R108, R109).
 */
export const schemas = {
  spawn: {
    parameters: object(
      {
        message: { type: 'string', description: modelText`The task of the agent.` },
        role: { type: 'string', description: modelText`The name of a role; default: "default".` },
        description: { type: 'string', maxLength: 80, description: modelText`A short title, in a few words.` },
        agent_type: { type: 'string', description: modelText`The same as role.` },
      },
      ['message'],
    ),
    output: object({ agent_id: { type: 'string' } }, ['agent_id']),
  },
  send: {
    parameters: object(
      {
        id: { type: 'string', description: modelText`The id returned by spawn_agent.` },
        message: { type: 'string', description: modelText`The message.` },
        interrupt: { type: 'boolean', default: false, description: modelText`Stop its current work first.` },
      },
      ['id', 'message'],
    ),
    output: object({ submission_id: { type: 'string' } }, ['submission_id']),
  },
  wait: {
    parameters: object(
      {
        ids: {
          type: 'array',
          items: { type: 'string' },
          description: modelText`Ids returned by spawn_agent, at least one.`,
        },
        timeout_seconds: { type: 'number', description: modelText`Maximum time to wait, above 0.` },
        return_when: { enum: ['all', 'any'], description: modelText`Wait for all of them, or for the first.` },
        timeout_ms: { type: 'number', description: modelText`The same as timeout_seconds, in milliseconds.` },
      },
      ['ids'],
    ),
    output: object({ status: { type: 'object', additionalProperties: status }, timed_out: { type: 'boolean' } }, [
      'status',
      'timed_out',
    ]),
  },
  close: {
    parameters: object({ id: { type: 'string', description: modelText`The id returned by spawn_agent.` } }, ['id']),
    output: object({ status }, ['status']),
  },
} as const
