import { sha256 } from '../base/hash.ts'
import { canonicalJson, isObject, type Json } from '../base/json.ts'
import { originOf, parsePlace, placeText } from '../event/place.ts'
import { agentConversation, agentIdAt, callOfAgent, spawnTools, taskTool } from '../event/sub-agents.ts'
import type { RecordSource } from '../journal/source.ts'
import type { Location } from '../journal/tree.ts'
import { endedOf, startedOf } from './node-view.ts'
import { valueOf } from './recorded.ts'
import { everything, nodesIn, type RunNode, type RunView, type ViewOptions } from './run-view.ts'
import { spawnTool } from './team-records.ts'

/** One message of an agent that a model delegated work to. */
export type TranscriptLine = {
  readonly v: 1
  readonly type: 'system' | 'user' | 'assistant' | 'tool'
  /** Id of the message: the same on every read. */
  readonly uuid: string
  readonly parent_uuid: string | null
  readonly is_sidechain: true
  readonly agent_id: string
  readonly agent_name: string
  readonly run_id: string
  /** When its request was sent, or its answer arrived. */
  readonly ts: string
  /** Its role and parts, as recorded. */
  readonly message: Json
}

/** An agent that a model of a run delegated work to. */
export interface DelegatedAgent {
  readonly id: string
  readonly name: string
  /** As recorded. */
  readonly place: string
}

/** A view for `agentsIn` and `readTranscript`: other nodes are not needed. */
export const agentsOnly: ViewOptions = {
  ...everything,
  keeps: (place) => place.includes(`:${taskTool}`) || isOfSpawn(place),
}

function isOfSpawn(place: string): boolean {
  return [...spawnTools].some((tool) => place.includes(`:${tool}`))
}

/** The agents that models of a run delegated work to, in the order in which they started. */
export function agentsIn({ root, source }: RunView): readonly DelegatedAgent[] {
  const found = [...nodesIn(root)].flatMap(({ place, begin, calls }) => {
    const agent = begin === undefined ? undefined : agentAt(place)
    const spawned = [...calls].flatMap(([at, location]) => {
      const one = isOfSpawn(at) ? spawnedBy(location, source) : undefined
      return one === undefined ? [] : [{ agent: one, location }]
    })
    return agent === undefined || begin === undefined ? spawned : [...spawned, { agent, location: begin }]
  })
  const inOrder = found.toSorted((one, other) => one.location - other.location)
  return [...new Map(inOrder.map(({ agent }) => [agent.id, agent])).values()]
}

function agentAt(place: string): DelegatedAgent | undefined {
  if (!place.includes(`:${taskTool}/agent/`)) return undefined
  const found = callOfAgent(parsePlace(place))
  return found && { id: agentIdAt(found.call), name: found.name, place }
}

/** An agent of a team; its id is recorded with the call that started it. */
function spawnedBy(location: Location, source: RecordSource): DelegatedAgent | undefined {
  const record = source.at(location)
  if (record.k !== 'obs' || record.name !== spawnTool || record.status !== 'ok') return undefined
  const [value, args] = [valueOf(record.value, source), valueOf(record.args, source)]
  if (!isObject(value) || !isObject(args)) return undefined
  const { id, agent } = value
  // a worker of a team with a task list has the name of its agent, which may differ from its role
  const name = agent ?? args['role']
  if (typeof id !== 'string' || typeof name !== 'string') return undefined
  const call = originOf(parsePlace(record.p))
  const tool = call.findLastIndex(({ kind }) => kind === 'tool')
  return { id, name, place: placeText([...call.slice(0, tool + 1), { kind: 'agent', name }]) }
}

/**
 * Everything an agent received and said, from the record of the run, so it is authoritative even if a process was
 * killed. What a later process repeated replaces the old version. An agent that is a program has only its answer.
 */
export function readTranscript(view: RunView, agent: DelegatedAgent, run: string): readonly TranscriptLine[] {
  const messages = messagesOf(turnsOf(view, agent.place), view.source)
  let parent: string | null = null
  return (messages.length === 0 ? lastAnswer(view, agent.place) : messages).map(({ message, t }, index) => {
    const { id, name, place } = agent
    const uuid = uuidOf(`${run} ${place} ${index}`)
    const line: TranscriptLine = {
      v: 1,
      type: roleOf(message),
      uuid,
      parent_uuid: parent,
      is_sidechain: true,
      agent_id: id,
      agent_name: name,
      run_id: run,
      ts: new Date(t).toISOString(),
      message,
    }
    parent = uuid
    return line
  })
}

/**
 * The model calls of the conversation of an agent, the last one of each turn. Each piece of work of a team agent is a
 * conversation that starts with everything said before, so the last one has it all.
 */
function turnsOf({ root }: RunView, agent: string): readonly RunNode[] {
  const nodes = [...nodesIn(root)]
  const pieces = nodes.filter(({ place }) => pieceOf(place, agent) !== undefined)
  const inOrder = pieces.toSorted((one, other) => (pieceOf(one.place, agent) ?? 0) - (pieceOf(other.place, agent) ?? 0))
  for (const place of [agent, ...inOrder.map((piece) => piece.place)].toReversed()) {
    const turns = `${placeText(agentConversation(parsePlace(place)))}/turn/`
    const calls = nodes.filter((node) => node.started !== undefined && turnIn(node.place, turns) !== undefined)
    const byTurn = new Map(
      calls
        .toSorted((one, other) => (one.started ?? 0) - (other.started ?? 0))
        .map((node) => [turnIn(node.place, turns) ?? 0, node]),
    )
    if (byTurn.size > 0) return [...byTurn].toSorted(([one], [other]) => one - other).map(([, node]) => node)
  }
  return []
}

/** Which piece of an agent's work is recorded at a place; one started by `task` has only one. */
function pieceOf(place: string, agent: string): number | undefined {
  if (place === agent) return 0
  const [, piece] = place.startsWith(`${agent}/input/`) ? (/^(\d+)$/.exec(place.slice(agent.length + 7)) ?? []) : []
  return piece === undefined ? undefined : Number(piece)
}

/** The number of the turn whose model call is at a place; `turns`: the start of such places. */
function turnIn(place: string, turns: string): number | undefined {
  const [, turn] = place.startsWith(turns) ? (/^(\d+)#\d+$/.exec(place.slice(turns.length)) ?? []) : []
  return turn === undefined ? undefined : Number(turn)
}

interface TimedMessage {
  readonly message: Json
  readonly t: number
}

function messagesOf(turns: readonly RunNode[], source: RecordSource): readonly TimedMessage[] {
  const all: TimedMessage[] = []
  for (const turn of turns) all.push(...messagesOfTurn(turn, all, source))
  return all
}

function messagesOfTurn(turn: RunNode, said: readonly TimedMessage[], source: RecordSource): readonly TimedMessage[] {
  const started = startedOf(turn, source)
  if (started === undefined) return []
  const request = valueOf(started.request, source)
  const messages = isObject(request) && Array.isArray(request['messages']) ? (request['messages'] as Json[]) : []
  // after the conversation was made shorter, a request has all of it: what stayed is shown already
  const isWhole = said.length > 0 && isObject(request) && request['before'] === undefined
  const known = new Set(isWhole ? said.map(({ message }) => canonicalJson(message)) : [])
  const fresh = messages.filter((message) => !known.has(canonicalJson(message)))
  const asked = fresh.map((message) => ({ message, t: started.t }))
  const ended = endedOf(turn, source)
  const answer = ended?.status === 'ok' ? valueOf(ended.value, source) : undefined
  if (ended === undefined || !isObject(answer)) return asked
  return [...asked, { message: { role: 'assistant', parts: (answer['parts'] ?? []) as Json }, t: ended.t }]
}

function lastAnswer({ root, source }: RunView, agent: string): readonly TimedMessage[] {
  const pieces = [...nodesIn(root)].filter(({ place }) => pieceOf(place, agent) !== undefined)
  const done = Math.max(...pieces.map((piece) => piece.done ?? 0))
  const record = done > 0 ? source.at(done) : undefined
  if (record?.k !== 'done') return []
  const value = valueOf(record.value, source)
  const text = isObject(value) && typeof value['text'] === 'string' ? value['text'] : ''
  return [{ message: { role: 'assistant', parts: [{ type: 'text', text }] }, t: record.t }]
}

const roles = ['system', 'user', 'assistant', 'tool'] as const

function roleOf(message: Json): TranscriptLine['type'] {
  const role = isObject(message) ? message['role'] : undefined
  return roles.find((one) => one === role) ?? 'user'
}

/** A UUID derived from a text (version 8). */
function uuidOf(text: string): string {
  const hex = sha256(text)
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}
