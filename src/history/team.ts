import { isObject } from '../base/json.ts'
import { leaderId } from '../event/collab.ts'
import { isWithin, parsePlace, placeText } from '../event/place.ts'
import { agentIdAt, callOfAgent } from '../event/sub-agents.ts'
import { timeOf } from './recorded.ts'
import { addPaid, noPaid, type Paid } from './paid.ts'
import type { RunNode, RunView } from './run-view.ts'
import { type Exchange, exchangesOf } from './team-exchanges.ts'
import { type Piece, readTeamRecords, type Spawn, spawnTool, type TeamCall, type TeamRecords } from './team-records.ts'
import { type Span, spansOf } from './team-spans.ts'

/** The state of a member's work. `shutdown`: it was closed before its work ended. */
export type MemberStatus =
  | 'pending_init'
  | 'running'
  | 'interrupted'
  | 'completed'
  | 'errored'
  | 'suspended'
  | 'shutdown'

/** A leader, or an agent that a model started. */
export interface Member {
  /** The id of an agent; `root` for a leader. */
  readonly id: string
  /** Display name such as `leader` or `worker 1`, unique in the team. */
  readonly name: string
  /** Empty for a leader. */
  readonly role: string
  /** What it is about. */
  readonly label: string
  /** Where it works, in origin form. */
  readonly place: string
  /** The id of the member whose model started it; null for a leader. */
  readonly from: string | null
  /** 0 for a leader. */
  readonly depth: number
  readonly status: MemberStatus
  /** Its last answer, or its error. */
  readonly text: string
  /** Whether a model closed it. */
  readonly closed: boolean
  readonly spans: readonly Span[]
  /** Cost of its own model calls, without those of agents that it started. */
  readonly paid: Paid
}

/** A leader and its agents, in the order in which they were started. */
export interface Team {
  readonly members: readonly Member[]
  readonly exchanges: readonly Exchange[]
}

/** The teams of a run. No process worked on the run from `last` to `next`, in milliseconds since 1970. */
export interface Teams {
  readonly teams: readonly Team[]
  readonly pauses: readonly { readonly last: number; readonly next: number }[]
}

/**
 * The teams of a run from its records: who started whom, who worked and waited when, and what was said. An agent
 * started by `task` is a team member as well. The view has to keep everything.
 */
export function readTeams(view: RunView): Teams {
  const { breaks, source } = view
  const records = readTeamRecords(view)
  const spawns = records.calls.flatMap((call) => spawnOf(call, records))
  const byPlace = new Map(spawns.map((spawn) => [spawn.place, spawn]))
  const leaderOf = (place: string): string => {
    const spawn = byPlace.get(place)
    return spawn === undefined ? place : leaderOf(spawn.call.owner)
  }
  const teams = new Map<string, Spawn[]>()
  for (const spawn of spawns) {
    const leader = leaderOf(spawn.call.owner)
    teams.set(leader, [...(teams.get(leader) ?? []), spawn])
  }
  return {
    teams: [...teams].map(([leader, agents]) => teamOf({ leader, spawns: agents, records, view })),
    pauses: breaks.map(({ last, next }) => ({ last: timeOf(last, source), next: timeOf(next, source) })),
  }
}

function spawnOf(call: TeamCall, { pieces }: TeamRecords): readonly Spawn[] {
  const { name, value, place, args } = call
  if (!isObject(value) || 'refused' in value) return []
  const role = args[name === spawnTool ? 'role' : 'agent']
  if ((name !== spawnTool && name !== 'task') || typeof role !== 'string') return []
  const { handle, id: ofWorker } = value
  if (typeof handle === 'string') {
    // a worker of a team with a task list: its agent may have a different name than its role
    const piece = pieces.find(({ agent }) => agent.startsWith(`${place}/agent/`))
    // records of older versions have no id
    const id = typeof ofWorker === 'string' ? ofWorker : handle
    return [{ call, id, name: handle, role, place: piece?.agent ?? `${place}/agent/${role}` }]
  }
  const at = [...parsePlace(place), { kind: 'agent', name: role } as const]
  const given = callOfAgent(at)
  return [{ call, id: given === undefined ? String(value['id']) : agentIdAt(given.call), role, place: placeText(at) }]
}

interface TeamParts {
  readonly leader: string
  readonly spawns: readonly Spawn[]
  readonly records: TeamRecords
  readonly view: RunView
}

function teamOf({ leader, spawns, records, view }: TeamParts): Team {
  const ids = new Map([[leader, leaderId], ...spawns.map(({ place, id }) => [place, id] as const)])
  const known = new Set(ids.values())
  const idAt = (place: string): string | undefined => ids.get(place)
  const byName = new Map(spawns.flatMap(({ id, name }) => (name === undefined ? [] : [[name, id] as const])))
  const idOf = (named: string): string => byName.get(named) ?? (known.has(named) ? named : leaderId)
  const withIds = (spans: readonly Span[]): readonly Span[] =>
    spans.map((span) => ({ ...span, on: span.on.map((named) => byName.get(named) ?? named) }))
  const exchanges = exchangesOf({ records, spawns, idAt, idOf })
  const closed = closedIn(exchanges, spawns, idAt)
  const names = namesOf(spawns)
  const foreground = foregroundOf(spawns, records)
  const parents = new Map(spawns.map(({ id, call }) => [id, idAt(call.owner) ?? leaderId]))
  const depthOf = (id: string): number => (id === leaderId ? 0 : 1 + depthOf(parents.get(id) ?? leaderId))
  const agents = spawns.map(({ call, id, role, place }): Member => {
    const pieces = records.pieces.filter(({ agent }) => agent === place)
    const message = call.args['message']
    const spans = withIds(spansOf({ place, spawned: call.t, foreground }, records))
    return {
      id,
      name: names.get(id) ?? role,
      role,
      label: typeof message === 'string' ? message : (pieces[0]?.label ?? ''),
      place,
      from: idAt(call.owner) ?? leaderId,
      depth: depthOf(id),
      ...standingOf({ pieces, spans, isClosed: closed.has(id) }),
      closed: closed.has(id),
      spans,
      paid: paidAt(place, records),
    }
  })
  const first: Member = {
    id: leaderId,
    name: 'leader',
    role: '',
    label: '',
    place: leader,
    from: null,
    depth: 0,
    ...leaderStanding(leader, view),
    closed: false,
    spans: withIds(spansOf({ place: leader, spawned: undefined, foreground }, records)),
    paid: paidAt(leader, records),
  }
  return { members: [first, ...agents], exchanges }
}

/** `worker 1`, `worker 2`: numbered within their role. */
function namesOf(spawns: readonly Spawn[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>()
  return new Map(
    spawns.map(({ id, role, name }) => {
      if (name !== undefined) return [id, name]
      const number = (counts.get(role) ?? 0) + 1
      counts.set(role, number)
      return [id, `${role} ${number}`]
    }),
  )
}

/** Closing a member also closes the agents that it started. */
function closedIn(
  exchanges: readonly Exchange[],
  spawns: readonly Spawn[],
  idAt: (place: string) => string | undefined,
): ReadonlySet<string> {
  const closed = new Set(exchanges.flatMap((one) => (one.kind === 'close' ? [one.to] : [])))
  // in start order: each comes after the one that started it
  for (const { id, call } of spawns) if (closed.has(idAt(call.owner) ?? '')) closed.add(id)
  return closed
}

/** Agents that their caller's tool call waits for, by the place of the call. */
function foregroundOf(
  spawns: readonly Spawn[],
  { pieces }: TeamRecords,
): ReadonlyMap<string, Piece & { readonly id: string }> {
  return new Map(
    spawns.flatMap(({ call, id, place }) => {
      const piece = pieces.find(({ agent }) => agent === place)
      const waits = call.name !== spawnTool && call.args['background'] === false
      return waits && piece !== undefined ? [[call.place, { ...piece, id }] as const] : []
    }),
  )
}

interface Life {
  readonly pieces: readonly Piece[]
  readonly spans: readonly Span[]
  readonly isClosed: boolean
}

function standingOf({ pieces, spans, isClosed }: Life): Pick<Member, 'status' | 'text'> {
  const last = pieces.at(-1)
  if (last?.end === undefined) {
    const hasWorked = spans.some(({ kind }) => kind === 'working')
    return { status: isClosed ? 'shutdown' : hasWorked ? 'running' : 'pending_init', text: '' }
  }
  const { status, text } = last.end
  switch (status) {
    case 'done':
      return { status: 'completed', text }
    case 'failed':
      return { status: 'errored', text }
    case 'suspended':
      return { status: 'suspended', text }
    case 'stopped':
      return { status: isClosed ? 'shutdown' : 'interrupted', text }
  }
}

/** The state of the piece of work that its conversation belongs to. */
function leaderStanding(place: string, { root, source }: RunView): Pick<Member, 'status' | 'text'> {
  const { done, failure } = boundaryAround(root, place) ?? {}
  if (done !== undefined) return { status: 'completed', text: '' }
  if (failure === undefined) return { status: 'running', text: '' }
  return { status: source.at(failure.location).k === 'suspended' ? 'suspended' : 'errored', text: '' }
}

function boundaryAround(node: RunNode, place: string): RunNode | undefined {
  for (const below of node.children.values()) {
    if (isWithin(place, below.place))
      return boundaryAround(below, place) ?? (below.begin === undefined ? undefined : below)
  }
  return undefined
}

function paidAt(place: string, { models }: TeamRecords): Paid {
  return models
    .filter(({ owner }) => owner === place)
    .flatMap(({ spent }) => spent)
    .reduce(addPaid, noPaid)
}
