import { modelText } from '../../base/model-text.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import type { AgentDefinition } from '../../event/agent.ts'
import { type RunContext, withScope, withServices } from '../../event/context.ts'
import { type AgentStatus, leaderId, parameterAliases } from '../../event/collab.ts'
import type { Inbox } from '../../event/inbox.ts'
import { callPlace, type Place, placeText } from '../../event/place.ts'
import { agentIdAt } from '../../event/sub-agents.ts'
import { defineTool, type Toolbox, type ToolCall, type ToolKind, type ToolOutput } from '../../tool/toolbox/kind.ts'
import { recordedInbox } from '../core/inboxes.ts'
import type { Order } from '../core/order.ts'
import {
  callsBehind,
  type Child,
  type Children,
  createChildren,
  limitTools,
  inheritedBy,
  placeOfWork,
  stopByCall,
} from '../core/children.ts'
import { toolLayers } from '../core/tool-filters.ts'
import { failureText } from '../core/texts.ts'
import { type TeamStore, withMember } from './store.ts'
import { announceStall, type OperationEvents, operationEvents, emitStatus } from '../core/events.ts'
import { isFinal, statusName } from '../core/member.ts'
import { watchProgress } from '../core/stalls.ts'
import { leaderHandle } from './tools.ts'
import { newUuid, uuidText } from '../../base/uuid.ts'

/** How many workers one leader may start in total. */
const mostStarted = 200

export interface WorkersOptions {
  readonly store: TeamStore
  /** The workers that may be started, by the names that the leader uses. */
  readonly workers: ReadonlyMap<string, AgentDefinition>
  readonly maxWorkers: number
  readonly waits: Waits
  /** Of the leader's conversation. */
  readonly context: RunContext
  /** Absolute. */
  readonly baseDir: string
  readonly hasLeft: () => boolean
  /** A worker's tools for the list, and its inbox. */
  readonly seatOf: (handle: string, box: Toolbox) => { readonly tools: readonly ToolKind[]; readonly inbox: Inbox }
  /** After this time without progress of any worker the leader is notified, in milliseconds. */
  readonly stallAfterMs: number
  /** Binds tools to a worker's conversation. */
  readonly bind: (kinds: readonly ToolKind[]) => NonNullable<RunContext['services']['seat']>
  readonly box: Toolbox
  /** Called when a worker has ended, for whatever reason. */
  readonly onEnd: (handle: string) => Promise<unknown>
}

/** The agents that a leader has started, and the tools to start them. */
export interface Workers {
  readonly kinds: readonly ToolKind[]
  readonly children: Children
  /** One line per worker. */
  readonly lines: () => readonly string[]
  readonly areAtWork: () => boolean
  readonly stopAll: () => Promise<void>
}

/** Runs agents for the leader in the background, each for as long as its own conversation lasts. */
export function createWorkers(options: WorkersOptions): Workers {
  const seats = new Map<string, Seat>()
  const handleOf = (id: string): string => (id === leaderId ? leaderHandle : (seats.get(id)?.handle ?? id))
  const children = createChildren(options.context, { stallAfterMs: options.stallAfterMs, nameOf: handleOf })
  const team: Team = { options, children, seats, starting: new Set() }
  /** Those that wait for the user are not at work. */
  const running = (): readonly Child[] => openIn(children).filter(({ state }) => state().kind !== 'broken')
  children.team.watch((event) => {
    if (event.kind === 'status') seats.get(event.id)?.become(event.status)
    if (event.kind !== 'stalled') return
    const { stall: kind, agents, message } = event
    announceStall({ kind, agents: agents.map(handleOf), message }, options.context)
  })
  return {
    children,
    kinds: [spawnKind(team), sendKind(team), waitKind(team), closeKind(team)],
    lines: () =>
      children.all().map(({ order: { id } }) => {
        const status = children.team.statusOf(id)
        return modelText`${handleOf(id)}, id ${id}: ${statusName(status === 'pending_init' ? 'running' : status)}`
      }),
    areAtWork: () => running().length > 0,
    async stopAll() {
      await Promise.all(running().map(({ stop }) => stop()))
      children.inbox.know(children.all().map(({ order }) => order.id))
    },
  }
}

/** The workers that have not ended. */
function openIn({ all, team }: Children): readonly Child[] {
  return all().filter(({ order }) => !isFinal(team.statusOf(order.id)))
}

interface Team {
  readonly options: WorkersOptions
  readonly children: Children
  /** By agent id. */
  readonly seats: Map<string, Seat>
  /** Places of agents that are about to start: the calls of one answer run at the same time. */
  readonly starting: Set<string>
}

interface Seat {
  /** Its name in the team. */
  readonly handle: string
  /** False for a worker that was recorded without an id: the version that started it sent no events. */
  readonly sendsEvents: boolean
  /** Called with each of its statuses. */
  readonly become: (status: AgentStatus) => void
}

/** The events of a call that is about these workers; undefined if one of them sends none. */
function eventsOf(
  workers: readonly (Child | undefined)[],
  call: ToolCall,
  { seats }: Team,
): OperationEvents | undefined {
  const isSilent = workers.some((one) => one !== undefined && seats.get(one.order.id)?.sendsEvents === false)
  return isSilent ? undefined : operationEvents(call)
}

interface SpawnInput {
  readonly message: string
  readonly role: string
  readonly description?: string
}

/** Records of versions before the ids of workers were UUIDs have no `id`, and their texts the id of the place. */
type Decision =
  | { readonly handle: string; readonly id?: string; readonly agent?: string }
  | { readonly refused: string }

function spawnKind(team: Team): ToolKind {
  const { workers } = team.options
  const list = [...workers].map(([name, { description }]) => `- ${name}: ${description ?? ''}`).join('\n')
  return defineTool<SpawnInput>({
    name: 'spawn_agent',
    description: modelText`Start a worker. It only sees the message, the task list and the messages of the team; it claims and completes items of the list until none is left. The call returns immediately, and you are notified when the worker has ended.\n\nWorkers:\n${list}`,
    parameters: {
      type: 'object',
      properties: {
        message: { type: 'string', minLength: 1, description: modelText`Its task, and the information it needs.` },
        role: { enum: [...workers.keys()], description: modelText`The kind of worker.` },
        description: { type: 'string', maxLength: 80, description: modelText`A title of 3 to 5 words.` },
      },
      required: ['message', 'role'],
      additionalProperties: false,
    },
    spellings: parameterAliases.spawn_agent,
    subject: ({ role }) => ({ kind: 'name', name: role }),
    callsOthers: true,
    turn: 'shared',
    run: (input, call) => spawn(input, call, team),
    close: (_box, _context, failure) => team.children.close(failure),
  })
}

async function spawn(input: SpawnInput, call: ToolCall, team: Team, earlier?: Child): Promise<ToolOutput> {
  const { options } = team
  const { role, message: prompt } = input
  const place = placeOfWork(call)
  const offered = options.workers.get(role)
  const decision = await decide(input, call, team)
  if ('refused' in decision || offered === undefined) {
    const refused = 'refused' in decision ? decision.refused : modelText`there is no worker ${role}`
    operationEvents(call).spawn({ prompt, role })({ refused })
    return { text: refused, isError: true }
  }
  const { handle, id = agentIdAt(place) } = decision
  const tellEnd = decision.id === undefined ? undefined : operationEvents(call).spawn({ prompt, role })
  const at: Place = [...place, { kind: 'agent', name: offered.name }]
  const placed = withScope(call.context, { at })
  const { tools, inbox } = options.seatOf(handle, options.box)
  const end = await earlier?.end()
  const order: Order = {
    id,
    offered,
    description: input.description ?? handle,
    prompt,
    isBackground: true,
    before: end?.messages ?? [],
    ...defined({ maxTurns: offered.maxTurns, resumes: earlier?.order.id }),
    inherited: inheritedBy(call),
    baseDir: options.baseDir,
    among: 2 + callsBehind('spawn_agent', call),
    inbox: () => recordedInbox(inbox, placed),
  }
  const layers = toolLayers(offered, { isBackground: false })
  const seated = withServices(placed, { seat: options.bind(tools), collab: undefined })
  const sendsEvents = decision.id !== undefined
  let isOver = false
  const become = (status: AgentStatus): void => {
    if (sendsEvents) emitStatus({ id, name: handle, role }, status, placed)
    if (isOver || !isFinal(status)) return
    isOver = true
    void options.onEnd(handle)
  }
  team.seats.set(id, { handle, sendsEvents, become })
  const watched = watchProgress({ team: team.children.team, id }, limitTools(layers, seated))
  team.children.start(order, watched, role)
  team.starting.delete(placeText(place))
  tellEnd?.({ id })
  return { text: JSON.stringify({ agent_id: id, name: handle }) }
}

async function decide(input: SpawnInput, call: ToolCall, team: Team): Promise<Decision> {
  const { options } = team
  const { role } = input
  const at = callPlace(call.at, 0)
  const asked = { name: 'spawn_agent', args: { role } }
  return call.context.services.effects.observeAsync<Decision>(at, asked, async () => {
    const refused = whyNot(input, team)
    if (refused !== undefined) return { refused }
    team.starting.add(placeText(placeOfWork(call)))
    return options.store.act({ place: placeText(at), ...asked }, (state) => {
      const id = uuidText(newUuid(4))
      const { state: joined, handle } = withMember(state, { id, role })
      return { state: joined, result: { handle, id, ...defined({ agent: options.workers.get(role)?.name }) } }
    })
  })
}

function whyNot({ role }: SpawnInput, { options, children, starting }: Team): string | undefined {
  const { workers, maxWorkers, hasLeft } = options
  if (hasLeft()) return modelText`you have left delegate mode: no worker can be started`
  if (!workers.has(role)) return modelText`there is no worker ${role}: ${[...workers.keys()].join(', ')}`
  const all = children.all()
  if (all.length + starting.size >= mostStarted)
    return modelText`limit reached: this team has started ${mostStarted} workers`
  if (openIn(children).length + starting.size < maxWorkers) return undefined
  return modelText`worker limit reached (max ${maxWorkers}): wait until one has ended, or close one`
}

/** The worker with an id or name, or the latest one that continues it. */
function find(id: string, { children, seats }: Team): Child | undefined {
  const all = children.all()
  let found = children.find(id) ?? all.find(({ order }) => seats.get(order.id)?.handle === id)
  for (;;) {
    const next = all.find(({ order }) => found !== undefined && order.resumes === found.order.id)
    if (next === undefined) return found
    found = next
  }
}

function unknown(id: string, { seats }: Team): ToolOutput {
  const handles = [...seats.values()].map(({ handle }) => handle).join(', ')
  const known = seats.size === 0 ? ': none was started' : `; known workers: ${handles}`
  return { text: modelText`there is no worker ${id}${known}`, isError: true }
}

function sendKind(team: Team): ToolKind {
  return defineTool<{ readonly id: string; readonly message: string }>({
    name: 'send_input',
    description: modelText`Give more work to a worker that has ended: a new worker continues from its conversation. To reach a working one, use send_message.`,
    parameters: {
      type: 'object',
      properties: { id: workerParameter, message: { type: 'string', minLength: 1 } },
      required: ['id', 'message'],
      additionalProperties: false,
    },
    spellings: parameterAliases.send_input,
    callsOthers: true,
    turn: 'shared',
    async run({ id, message }, call) {
      const child = find(id, team)
      const tellEnd = eventsOf([child], call, team)?.send({
        id: child?.order.id ?? id,
        prompt: message,
        interrupt: false,
      })
      if (child === undefined) {
        const output = unknown(id, team)
        tellEnd?.({ status: 'not_found', refused: output.text })
        return output
      }
      const place = callPlace(call.at, 1)
      const asked = { name: 'send_input', args: { id } }
      const hasEnded = call.context.services.effects.observe(place, asked, () => child.state().kind === 'ended')
      if (!hasEnded) {
        const refused = modelText`${id} is still running: send it a message with send_message`
        tellEnd?.({ status: 'running', refused })
        return { text: refused, isError: true }
      }
      const role = [...team.options.workers].find(([, one]) => one === child.order.offered)?.[0] ?? ''
      const status = team.children.team.statusOf(child.order.id)
      const output = await spawn({ message, role }, call, team, child)
      tellEnd?.({ status, ...(output.isError === true ? { refused: output.text } : {}) })
      return output
    },
  })
}

function closeKind(team: Team): ToolKind {
  return defineTool<{ readonly id: string }>({
    name: 'close_agent',
    description: modelText`End a worker. Other workers can claim its items again.`,
    parameters: {
      type: 'object',
      properties: { id: workerParameter },
      required: ['id'],
      additionalProperties: false,
    },
    spellings: parameterAliases.close_agent,
    callsOthers: true,
    turn: 'after',
    async run({ id }, call) {
      const child = find(id, team)
      if (child === undefined) {
        operationEvents(call).close({ id, status: 'not_found' })('not_found')
        return unknown(id, team)
      }
      const { inbox, team: agents } = team.children
      const tellEnd = eventsOf([child], call, team)?.close({
        id: child.order.id,
        status: agents.statusOf(child.order.id),
      })
      const stop = async (): Promise<string> => {
        const before = await agents.close(child.order.id, leaderId)
        const state = child.state()
        const isStopped = state.kind === 'ended' && state.end.status === 'stopped'
        return [JSON.stringify({ status: before }), ...(isStopped ? [failureText(child.order, state.end)] : [])].join(
          '\n',
        )
      }
      const output = await stopByCall(child, { tool: 'close_agent', id, inbox, stop }, call)
      tellEnd?.((JSON.parse(output.text.split('\n', 1)[0] ?? '') as { readonly status: AgentStatus }).status)
      return output
    },
  })
}

/** The parameter that names a worker. */
const workerParameter: JsonObject = {
  type: 'string',
  minLength: 1,
  description: modelText`The agent_id or name of a worker.`,
}

/** How long calls wait, in milliseconds. */
export interface Waits {
  readonly defaultMs: number
  readonly minMs: number
  readonly maxMs: number
}

type Waited = {
  readonly status: { readonly [id: string]: AgentStatus }
  readonly timed_out: boolean
  /** Ids of the agents whose end this reports. */
  readonly seen: readonly string[]
}

/** The leader's tool `wait`. Its result is an observation. */
function waitKind(team: Team): ToolKind {
  const { minMs, maxMs, defaultMs } = team.options.waits
  return defineTool<{
    readonly ids?: readonly string[]
    readonly timeout_seconds?: number
    readonly return_when?: 'all' | 'any'
  }>({
    name: 'wait',
    description: modelText`Wait until all or any of these workers have ended, and get their last messages.`,
    parameters: {
      type: 'object',
      properties: {
        ids: { type: 'array', items: workerParameter, minItems: 1 },
        timeout_seconds: { type: 'number', exclusiveMinimum: 0 },
        return_when: { enum: ['all', 'any'] },
      },
      required: ['ids'],
      additionalProperties: false,
    },
    spellings: parameterAliases.wait,
    usual: ['ids'],
    callsOthers: true,
    turn: 'after',
    async run({ ids: named, timeout_seconds: seconds, return_when: returnWhen = 'all' }, call) {
      const ms = Math.min(maxMs, Math.max(minMs, seconds === undefined ? defaultMs : seconds * 1000))
      const open = { name: 'wait.open', args: null }
      const ids =
        named ??
        call.context.services.effects.observe(callPlace(call.at, 1), open, () =>
          openIn(team.children).map(({ order }) => order.id),
        )
      if (ids.length === 0) return { text: modelText`no worker is running`, isError: true }
      const found = ids.map((id) => find(id, team))
      const threads = ids.map((id, index) => found[index]?.order.id ?? id)
      const tellEnd = eventsOf(found, call, team)?.wait({ ids: threads, returnWhen, seconds: ms / 1000 })
      const { inbox, team: agents } = team.children
      const { effects, signal } = call.context.services
      const asked = { name: 'wait', args: { ids: [...ids], return_when: returnWhen } }
      const { seen, status, timed_out } = await effects.observeAsync<Waited>(callPlace(call.at, 0), asked, async () => {
        const end = await agents.wait(leaderId, threads, { ms, returnWhen }, signal)
        // nobody else waits for workers
        if ('stalled' in end) throw new Error(end.stalled)
        const statusOf = ids.map((id, index) => [id, statusIn(end.status, threads[index])] as const)
        return { ...end, status: Object.fromEntries(statusOf) }
      })
      // ends reported by a call are not delivered again
      inbox.know(seen)
      const statuses = ids.map((id, index) => [threads[index] ?? id, statusIn(status, id)] as const)
      tellEnd?.({ statuses: Object.fromEntries(statuses), timed_out })
      return { text: JSON.stringify({ status, timed_out }) }
    },
  })
}

function statusIn(statuses: Waited['status'], id = ''): AgentStatus {
  return statuses[id] ?? 'not_found'
}
