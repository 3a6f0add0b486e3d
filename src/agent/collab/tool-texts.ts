import type { JsonObject } from '../../base/json.ts'
import type { AgentDefinition } from '../../event/agent.ts'
import type { CollabSettings } from '../../event/collab.ts'

/** The descriptions of the team tools, which models read. */
export const descriptions = {
  spawn(roles: ReadonlyMap<string, AgentDefinition>): string {
    const known = [...roles.values()].map(({ name, description }) => `- ${name}: ${description ?? ''}`.trimEnd())
    return `Start an agent that works at the same time as you, and get its id at once. It knows nothing of this conversation: say in the message what it is to do, what it has to know, and what it should answer. Use agents for large work with parts that do not depend on each other, for a second opinion, or for long checks; not for what you can do in a call or two. All share one workspace: give each files of its own. Then wait for them, ask again with send_input where an answer is not enough, and close each one that you need no more.

Roles:
${known.join('\n')}`
  },
  send: 'Send a message to an agent. One that works is told before its next request; one that has ended works on with it. With interrupt it stops what it does and goes on with the message.',
  wait({ defaultWaitMs, minWaitMs, maxWaitMs, returnWhen }: CollabSettings): string {
    const [usual, least, most] = [defaultWaitMs, minWaitMs, maxWaitMs].map((ms) => ms / 1000)
    return `Wait until ${returnWhen === 'all' ? 'all' : 'any'} of the agents have ended what they do, and get the status of each: {"completed": text} has its answer, {"errored": text} its failure; pending_init, running and interrupted still go on. Without a timeout it waits ${usual} seconds, at least ${least} and at most ${most}. Wait once for many agents, and long rather than often.`
  },
  close:
    'End an agent and those that it has started, for good, and get the status that it had. Close each agent when you need it no more.',
} as const

const status: JsonObject = {
  description:
    '"pending_init" | "running" | "interrupted" | "shutdown" | "not_found", {completed: text or null} or {errored: text}',
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
        message: { type: 'string', description: 'What the agent is to do.' },
        role: { type: 'string', description: 'The name of a role; default: default.' },
        description: { type: 'string', maxLength: 80, description: 'What it is about, in a few words.' },
        agent_type: { type: 'string', description: 'The same as role.' },
      },
      ['message'],
    ),
    output: object({ agent_id: { type: 'string' } }, ['agent_id']),
  },
  send: {
    parameters: object(
      {
        id: { type: 'string', description: 'The id that spawn_agent gave.' },
        message: { type: 'string', description: 'What it is told.' },
        interrupt: { type: 'boolean', default: false, description: 'It stops what it does.' },
      },
      ['id', 'message'],
    ),
    output: object({ submission_id: { type: 'string' } }, ['submission_id']),
  },
  wait: {
    parameters: object(
      {
        ids: { type: 'array', items: { type: 'string' }, description: 'Ids that spawn_agent gave, at least one.' },
        timeout_seconds: { type: 'number', description: 'How long to wait at most, above 0.' },
        return_when: { enum: ['all', 'any'], description: 'Whether to wait for all of them or for the first.' },
        timeout_ms: { type: 'number', description: 'The same as timeout_seconds, in milliseconds.' },
      },
      ['ids'],
    ),
    output: object({ status: { type: 'object', additionalProperties: status }, timed_out: { type: 'boolean' } }, [
      'status',
      'timed_out',
    ]),
  },
  close: {
    parameters: object({ id: { type: 'string', description: 'The id that spawn_agent gave.' } }, ['id']),
    output: object({ status }, ['status']),
  },
} as const
