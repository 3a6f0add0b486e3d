import { modelText } from '../../base/model-text.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import type { AgentDefinition } from '../../event/agent.ts'
import { type RunContext, withScope, withServices } from '../../event/context.ts'
import { type AgentStatus, parameterAliases } from '../../event/collab.ts'
import type { Inbox } from '../../event/inbox.ts'
import { callPlace, type Place, placeText } from '../../event/place.ts'
import { agentIdAt } from '../../event/sub-agents.ts'
import { defineTool, type Toolbox, type ToolCall, type ToolKind, type ToolOutput } from '../../tool/toolbox/kind.ts'
import { recordedInbox } from '../inboxes.ts'
import type { Order } from '../task/order.ts'
import {
  callsBehind,
  type Child,
  type Children,
  createChildren,
  limitTools,
  inheritedBy,
  placeOfWork,
  stopByCall,
} from '../task/children.ts'
import { toolLayers } from '../task/filter.ts'
import { failureText } from '../task/texts.ts'
import { type TeamStore, withMember } from './store.ts'
import { atMost, unlessAborted } from '../../base/concurrency.ts'
import { isSuspension } from '../../base/error.ts'

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
  /** The same context, watched as the work of a worker. */
  readonly watch: (handle: string, context: RunContext) => RunContext
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
  /** The handles of the working workers. */
  readonly atWork: () => readonly string[]
  readonly isAtWork: (handle: string) => boolean
  readonly stopAll: () => Promise<void>
}

/** Runs agents for the leader in the background, each for as long as its own conversation lasts. */
export function createWorkers(options: WorkersOptions): Workers {
  const children = createChildren(options.context)
  const handles = new Map<string, string>()
  const team: Team = { options, children, handles, starting: new Set() }
  const running = (): readonly Child[] => children.all().filter(({ state }) => state().kind === 'running')
  return {
    children,
    kinds: [
      spawnKind(team),
      sendKind(team),
      waitKind({ waits: options.waits, find: (id) => find(id, team), inbox: children.inbox }),
      closeKind(team),
    ],
    lines: () =>
      children.all().map((child) => {
        const status = statusOf(child)
        const state = typeof status === 'string' ? status : Object.keys(status)[0]
        return modelText`${handles.get(child.order.id) ?? ''}, id ${child.order.id}: ${state ?? ''}`
      }),
    areAtWork: () => running().length > 0,
    atWork: () => running().map(({ order }) => handles.get(order.id) ?? order.id),
    isAtWork: (handle) => running().some(({ order }) => handles.get(order.id) === handle),
    async stopAll() {
      await Promise.all(running().map(({ stop }) => stop()))
      children.inbox.know(children.all().map(({ order }) => order.id))
    },
  }
}

interface Team {
  readonly options: WorkersOptions
  readonly children: Children
  /** By agent id. */
  readonly handles: Map<string, string>
  /** Ids of agents that are about to start: the calls of one answer run at the same time. */
  readonly starting: Set<string>
}

interface SpawnInput {
  readonly message: string
  readonly role: string
  readonly description?: string
}

type Decision = { readonly handle: string } | { readonly refused: string }

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
  const { effects } = call.context.services
  const place = placeOfWork(call)
  const id = agentIdAt(place)
  const decidedAt = callPlace(call.at, 0)
  const asked = { name: 'spawn_agent', args: { role: input.role } }
  const decision = await effects.observeAsync<Decision>(decidedAt, asked, async () => {
    const refused = whyNot(input, team)
    if (refused !== undefined) return { refused }
    team.starting.add(id)
    return options.store.act({ place: placeText(decidedAt), ...asked }, (state) => {
      const { state: joined, handle } = withMember(state, { id, role: input.role })
      return { state: joined, result: { handle } }
    })
  })
  if ('refused' in decision) return { text: decision.refused, isError: true }
  const { handle } = decision
  const offered = options.workers.get(input.role)
  if (offered === undefined) return { text: modelText`there is no worker ${input.role}`, isError: true }
  team.handles.set(id, handle)
  const at: Place = [...place, { kind: 'agent', name: offered.name }]
  const placed = withScope(call.context, { at })
  const { tools, inbox } = options.seatOf(handle, options.box)
  const end = await earlier?.ended
  const order: Order = {
    id,
    offered,
    description: input.description ?? handle,
    prompt: input.message,
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
  const child = team.children.start(order, options.watch(handle, limitTools(layers, seated)))
  team.starting.delete(id)
  void child.ended.then(
    () => options.onEnd(handle),
    () => undefined,
  )
  return { text: JSON.stringify({ agent_id: id, name: handle }) }
}

function whyNot({ role }: SpawnInput, { options, children, starting }: Team): string | undefined {
  const { workers, maxWorkers, hasLeft } = options
  if (hasLeft()) return modelText`you have left delegate mode: no worker can be started`
  if (!workers.has(role)) return modelText`there is no worker ${role}: ${[...workers.keys()].join(', ')}`
  const all = children.all()
  if (all.length + starting.size >= mostStarted)
    return modelText`limit reached: this team has started ${mostStarted} workers`
  const running = all.filter(({ state }) => state().kind !== 'ended')
  if (running.length + starting.size < maxWorkers) return undefined
  return modelText`worker limit reached (max ${maxWorkers}): wait until one has ended, or close one`
}

/** The worker with an id or name, or the latest one that continues it. */
function find(id: string, { children, handles }: Team): Child | undefined {
  const all = children.all()
  let found = children.find(id) ?? all.find(({ order }) => handles.get(order.id) === id)
  for (;;) {
    const next = all.find(({ order }) => found !== undefined && order.resumes === found.order.id)
    if (next === undefined) return found
    found = next
  }
}

function unknown(id: string, { handles }: Team): ToolOutput {
  const known = handles.size === 0 ? ': none was started' : `; known workers: ${[...handles.values()].join(', ')}`
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
      if (child === undefined) return unknown(id, team)
      const place = callPlace(call.at, 1)
      const asked = { name: 'send_input', args: { id } }
      const hasEnded = call.context.services.effects.observe(place, asked, () => child.state().kind === 'ended')
      if (!hasEnded)
        return { text: modelText`${id} is still running: send it a message with send_message`, isError: true }
      const role = [...team.options.workers].find(([, one]) => one === child.order.offered)?.[0] ?? ''
      return spawn({ message, role }, call, team, child)
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
      if (child === undefined) return unknown(id, team)
      const stop = async (): Promise<string> => {
        const before = statusOf(child)
        await child.stop()
        const state = child.state()
        const isStopped = state.kind === 'ended' && state.end.status === 'stopped'
        return [JSON.stringify({ status: before }), ...(isStopped ? [failureText(child.order, state.end)] : [])].join(
          '\n',
        )
      }
      return stopByCall(child, { tool: 'close_agent', id, inbox: team.children.inbox, stop }, call)
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

interface Waiting {
  readonly waits: Waits
  readonly find: (id: string) => Child | undefined
  /** Of the leader: ends reported by a call are not delivered again. */
  readonly inbox: Inbox
}

/** The status of a worker as the leader sees it. */
function statusOf({ state }: Child): AgentStatus {
  const now = state()
  if (now.kind !== 'ended') return 'running'
  const { status, text, error } = now.end
  if (status === 'stopped') return 'shutdown'
  return status === 'failed' ? { errored: error?.message ?? text } : { completed: text }
}

type Waited = {
  readonly status: { readonly [id: string]: AgentStatus }
  readonly timed_out: boolean
  /** Ids of the agents whose end this reports. */
  readonly seen: readonly string[]
}

/** The leader's tool `wait`. Its result is an observation. */
function waitKind({ waits: { minMs, maxMs, defaultMs }, find, inbox }: Waiting): ToolKind {
  return defineTool<{
    readonly ids: readonly string[]
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
    callsOthers: true,
    turn: 'after',
    async run({ ids, timeout_seconds: seconds, return_when: when = 'all' }, { context, at }) {
      const ms = Math.min(maxMs, Math.max(minMs, seconds === undefined ? defaultMs : seconds * 1000))
      const found = ids.map(find)
      const asked = { name: 'wait', args: { ids: [...ids], return_when: when } }
      const { effects, signal } = context.services
      const waited = await effects.observeAsync<Waited>(callPlace(at, 0), asked, async () => {
        const known = found.filter((child) => child !== undefined)
        const ends = known.map(({ ended }) => ended.catch(() => undefined))
        const all = known.length < ids.length && when === 'any' ? Promise.resolve() : undefined
        await unlessAborted(atMost(ms, all ?? (when === 'all' ? Promise.all(ends) : Promise.race(ends))), signal)
        refuseHeld(known)
        const status = Object.fromEntries(
          ids.map((id, index) => [id, found[index] === undefined ? ('not_found' as const) : statusOf(found[index])]),
        )
        const ended = known.filter(({ state }) => state().kind === 'ended')
        const isMet = when === 'all' ? ended.length === known.length : ended.length > 0 || known.length < ids.length
        return { status, timed_out: !isMet, seen: ended.map(({ order }) => order.id) }
      })
      const { seen, ...result } = waited
      inbox.know(seen)
      return { text: JSON.stringify(result) }
    },
  })
}

/** Throws the suspension of the workers if none of them is working. */
function refuseHeld(children: readonly Child[]): void {
  const states = children.map(({ state }) => state())
  for (const state of states) if (state.kind === 'broken' && !isSuspension(state.error)) throw state.error
  if (states.some(({ kind }) => kind === 'running' || kind === 'ended')) return
  for (const state of states) if (state.kind === 'broken') throw state.error
}
