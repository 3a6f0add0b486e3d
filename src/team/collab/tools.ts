import { modelText } from '../../base/model-text.ts'
import { BatonError } from '../../base/error.ts'
import { defined, type Json, type JsonObject } from '../../base/json.ts'
import { newUuid, uuidText } from '../../base/uuid.ts'
import { sha256 } from '../../base/hash.ts'
import type { AgentDefinition, Tool } from '../../event/agent.ts'
import {
  type AgentStatus,
  type Collab,
  type CollabSettings,
  parameterAliases,
  type WaitEnd,
} from '../../event/collab.ts'
import type { RunContext } from '../../event/context.ts'
import type { ToolFilter } from '../../event/permission.ts'
import { callPlace, type Place, placeText } from '../../event/place.ts'
import { bindTool } from '../../tool/toolbox/bind.ts'
import { defineTool, type Toolbox, type ToolKind, type ToolOutput } from '../../tool/toolbox/kind.ts'
import { operationEvents } from '../core/events.ts'
import { inheritedBy, performEnd, placeOfWork } from '../core/children.ts'
import { isFinal } from '../core/member.ts'
import { endTeam } from './open.ts'
import { spawnAgent } from './work.ts'
import { atMost, unlessAborted } from '../../base/concurrency.ts'

export interface TeamSurroundings {
  readonly collab: Collab
  /** Which tools the caller gets. */
  readonly named: ToolFilter
  readonly box: Toolbox
}

/**
 * The tools `spawn_agent`, `send_input`, `wait` and `close_agent` of a member of a team. Their
 * calls are not recorded as a whole; only their decisions are observed. A resumed run spawns, sends and closes again,
 * which is a no-op if it is done already. For a member that may not spawn agents the tools are hidden from the model,
 * and every call is refused.
 */
export function teamTools(names: readonly string[], surroundings: TeamSurroundings): readonly Tool[] {
  const { self, settings } = surroundings.collab
  const isHidden = self.depth >= settings.maxDepth
  const kinds = [spawnKind, sendKind, waitKind, closeKind].map((kind) => kind(surroundings))
  return kinds
    .filter(({ name }) => names.includes(name))
    .map((kind) => ({ ...bindTool(kind, surroundings.box), ...(isHidden ? { isHidden } : {}) }))
}

function refuseDepth({ self, settings: { maxDepth } }: Collab): void {
  if (self.depth < maxDepth) return
  throw new BatonError('AGENT_FAILED', modelText`agent depth limit reached (max ${maxDepth}): do the work yourself`)
}

interface SpawnInput {
  readonly message: string
  readonly role?: string
  readonly agent_type?: string
  readonly description?: string
}

type SpawnDecision = { readonly id: string; readonly plan: boolean } | { readonly refused: string }

function spawnKind({ collab, named, box }: TeamSurroundings): ToolKind {
  const { team, settings, self } = collab
  return defineTool<SpawnInput>({
    name: 'spawn_agent',
    description: descriptions.spawn(settings.roles),
    ...schemas.spawn,
    spellings: parameterAliases.spawn_agent,
    callsOthers: true,
    turn: 'shared',
    subject: ({ role, agent_type: alias }) => ({ kind: 'name', name: role ?? alias ?? defaultRole }),
    async run({ message, role: given, agent_type: alias, description }, call) {
      refuseDepth(collab)
      const role = given ?? alias ?? defaultRole
      const place = placeOfWork(call)
      const tellEnd = operationEvents(call, self.id).spawn({ prompt: message, role })
      const { effects } = call.context.services
      const offered = settings.roles.get(role)

      function decide(): SpawnDecision {
        const known = [...settings.roles.keys()].join(', ')
        const unknown = offered === undefined ? `Unknown role: ${role}. Roles: ${known}` : undefined
        const refused = team.refusal({ kind: 'spawn', depth: self.depth, message }) ?? unknown
        return refused === undefined ? { id: uuidText(newUuid(4)), plan: box.plan.file() !== undefined } : { refused }
      }

      const asked = { name: 'spawn_agent', args: { role, ...defined({ description }) } }
      const decision = effects.observe<SpawnDecision>(callPlace(call.at, 0), asked, decide)
      if ('refused' in decision || offered === undefined) {
        const refused = 'refused' in decision ? decision.refused : `Unknown role: ${role}`
        tellEnd({ refused })
        return { text: refused, isError: true }
      }
      const { id, plan } = decision
      spawnAgent(
        {
          id,
          role,
          description: description ?? firstWords(message),
          message: { id: messageId(place), from: self.id, text: message, interrupts: false },
          place,
          inherited: inheritedBy(call),
          baseDir: box.baseDir,
          named,
          onlyReads: plan,
        },
        offered,
        { collab, context: call.context },
      )
      tellEnd({ id })
      return result({ agent_id: id })
    },
    ...(self.depth > 0
      ? {}
      : { close: (_box: Toolbox, context: RunContext, failure: unknown) => endTeam(collab, context, failure) }),
  })
}

const defaultRole = 'default'

function firstWords(message: string): string {
  const line = message.trim().split('\n')[0] ?? ''
  return line.length <= 80 ? line : `${line.slice(0, 77)}…`
}

/** The id of a message, which is the same in a resumed run. */
function messageId(place: Place): string {
  return `m${sha256(placeText(place)).slice(0, 12)}`
}

interface SendInput {
  readonly id: string
  readonly message: string
  readonly interrupt?: boolean
}

type SendDecision =
  | { readonly submission_id: string; readonly status: AgentStatus }
  | { readonly refused: string; readonly status: AgentStatus }

function sendKind({ collab }: TeamSurroundings): ToolKind {
  const { team, self } = collab
  return defineTool<SendInput>({
    name: 'send_input',
    description: descriptions.send,
    ...schemas.send,
    spellings: parameterAliases.send_input,
    callsOthers: true,
    turn: 'shared',
    async run({ id, message, interrupt = false }, call) {
      refuseDepth(collab)
      const tellEnd = operationEvents(call, self.id).send({ id, prompt: message, interrupt })
      const { effects } = call.context.services
      const submission_id = messageId(placeOfWork(call))
      const asked = { name: 'send_input', args: { id, interrupt } }
      const decision = await effects.observeAsync<SendDecision>(callPlace(call.at, 0), asked, async () => {
        await team.caughtUp(id)
        const status = team.statusOf(id)
        const refused = team.refusal({ kind: 'send', to: id, text: message })
        return refused === undefined ? { submission_id, status } : { refused, status }
      })
      const { status } = decision
      if ('refused' in decision) {
        tellEnd({ status, refused: decision.refused })
        return { text: decision.refused, isError: true }
      }
      team.send(id, { id: submission_id, from: self.id, text: message, interrupts: interrupt })
      tellEnd({ status, submission_id })
      return result({ submission_id })
    },
  })
}

interface WaitInput {
  readonly ids?: readonly string[]
  readonly timeout_seconds?: number
  readonly timeout_ms?: number
  readonly return_when?: 'all' | 'any'
}

function waitKind({ collab }: TeamSurroundings): ToolKind {
  const { team, settings, self } = collab
  return defineTool<WaitInput>({
    name: 'wait',
    description: descriptions.wait(settings),
    ...schemas.wait,
    spellings: parameterAliases.wait,
    usual: ['ids'],
    callsOthers: true,
    turn: 'after',
    async run({ ids: named, return_when: returnWhen = settings.returnWhen, ...limit }, call) {
      refuseDepth(collab)
      const ms = clampedMs(limit, settings)
      if (ms === undefined) return { text: modelText`the timeout must be greater than zero`, isError: true }
      const seconds = ms / 1000
      const open = { name: 'wait.open', args: null }
      const agents = named ?? call.context.services.effects.observe(callPlace(call.at, 1), open, () => openFor(collab))
      if (named === undefined && agents.length === 0)
        return { text: modelText`none of your agents is working`, isError: true }
      const tellEnd = operationEvents(call, self.id).wait({ ids: agents, returnWhen, seconds })
      const { effects, signal } = call.context.services
      const asked = { name: 'wait', args: { ids: [...agents], return_when: returnWhen, timeout_seconds: seconds } }
      const end = await effects.observeAsync<WaitEnd | { readonly refused: string }>(
        callPlace(call.at, 0),
        asked,
        async () => {
          const refused = team.refusal({ kind: 'wait', ids: agents })
          return refused === undefined ? team.wait(self.id, agents, { ms, returnWhen }, signal) : { refused }
        },
      )
      if ('status' in end) {
        const { status, timed_out, seen } = end
        team.inboxOf(self.id).know(seen)
        tellEnd({ statuses: status, timed_out })
        return result({ status: status as JsonObject, timed_out })
      }
      const why = 'refused' in end ? end.refused : end.stalled
      tellEnd({ statuses: {}, timed_out: false, stalled: why })
      return { text: why, isError: true }
    },
  })
}

/** The agents that the caller has started and that have not ended. */
function openFor({ team, self }: Collab): readonly string[] {
  const own = team.members().filter(({ parent }) => parent === self.id)
  return own.flatMap(({ id }) => (isFinal(team.statusOf(id)) ? [] : [id]))
}

/** The wait time of a call, clamped to the limits of `[collab]`; undefined if it is not positive. */
function clampedMs(
  { timeout_seconds: seconds, timeout_ms: given }: Pick<WaitInput, 'timeout_seconds' | 'timeout_ms'>,
  { defaultWaitMs, minWaitMs, maxWaitMs }: Collab['settings'],
): number | undefined {
  const ms = given ?? (seconds === undefined ? defaultWaitMs : seconds * 1000)
  return ms > 0 ? Math.min(maxWaitMs, Math.max(minWaitMs, ms)) : undefined
}

type CloseResult = ClosedAt | { readonly refused: string }

function closeKind({ collab }: TeamSurroundings): ToolKind {
  const { team, self } = collab
  return defineTool<{ readonly id: string }>({
    name: 'close_agent',
    description: descriptions.close,
    ...schemas.close,
    spellings: parameterAliases.close_agent,
    callsOthers: true,
    turn: 'after',
    async run({ id }, call) {
      refuseDepth(collab)
      const tellEnd = operationEvents(call, self.id).close({ id, status: team.statusOf(id) })
      const closed = await performEnd<CloseResult>({ tool: 'close_agent', id }, call, async () => {
        await team.caughtUp(id)
        const refused = team.refusal({ kind: 'close', id, by: self.id })
        if (refused !== undefined) return { refused }
        const status = await team.close(id, self.id)
        return { status, ...defined({ end: team.endOf(id) }) }
      })
      if ('refused' in closed) {
        tellEnd(team.statusOf(id))
        return { text: closed.refused, isError: true }
      }
      // a resumed agent may be replaying; it reaches the end that was recorded
      await untilEnded(id, closed, { team, signal: call.context.services.signal })
      await team.close(id, self.id)
      tellEnd(closed.status)
      return result({ status: closed.status as Json })
    },
  })
}

function result(value: JsonObject): ToolOutput {
  return { text: JSON.stringify(value), structured: value }
}

/** The descriptions of the team tools, which models read. */
const descriptions = {
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
 * a violation gets the tool's own message.
 */
const schemas = {
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

/**
 * The status of an agent when `close_agent` was called, and the id of its latest end; records of older versions lack
 * the id.
 */
export interface ClosedAt {
  readonly status: AgentStatus
  readonly end?: string
}

/** Far more than a replay takes; it keeps an edited record from blocking the run forever. */
const longestReplayMs = 60_000

/**
 * Waits until an open agent has reached the end that the record says it had: the leader replays its own record without
 * waiting. Pieces may end with the same text, so the end is identified by its id.
 */
export async function untilEnded(
  id: string,
  { status, end }: ClosedAt,
  { team, signal }: Pick<Collab, 'team' | 'signal'>,
): Promise<void> {
  const isThere = (): boolean => {
    const now = team.statusOf(id)
    if (typeof status === 'string' || now === 'shutdown') return true
    return typeof now === 'object' && (end === undefined || team.endOf(id) === end)
  }
  if (isThere()) return
  let unwatch = (): void => {}
  const reached = new Promise<void>((resolve) => {
    unwatch = team.watch(() => void (isThere() && resolve()))
  })
  try {
    await unlessAborted(atMost(longestReplayMs, reached), signal)
  } finally {
    unwatch()
  }
}
