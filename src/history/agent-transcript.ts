import { sha256 } from '../base/hash.ts'
import { isObject, type Json } from '../base/json.ts'
import { originOf, parsePlace, placeText } from '../event/place.ts'
import { agentConversation, agentIdAt, callOfAgent } from '../event/sub-agents.ts'
import type { JournalRecord, RecordOf } from '../journal/record.ts'
import type { RecordSource } from '../journal/source.ts'
import { valueOf } from './recorded.ts'
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
export interface GivenAgent {
  readonly id: string
  readonly name: string
  /** As recorded. */
  readonly place: string
}

interface Turn {
  asked: { readonly messages: readonly unknown[]; readonly t: number }
  answer?: { readonly parts: unknown; readonly t: number }
}

/** The agents that models of a run delegated work to, in the order in which they started. */
export async function agentsIn(source: RecordSource): Promise<readonly GivenAgent[]> {
  const found = new Map<string, GivenAgent>()
  await source.scan((record) => {
    const agent = record.k === 'begin' ? agentAt(record.p) : record.k === 'obs' ? spawnedBy(record, source) : undefined
    if (agent !== undefined) found.set(agent.id, agent)
  })
  return [...found.values()]
}

function agentAt(place: string): GivenAgent | undefined {
  if (!place.includes(':task/agent/')) return undefined
  const found = callOfAgent(parsePlace(place))
  return found && { id: agentIdAt(found.call), name: found.name, place }
}

/** An agent of a team; its id is recorded with the call that started it. */
function spawnedBy(record: RecordOf<'obs'>, source: RecordSource): GivenAgent | undefined {
  if (record.name !== spawnTool || record.status !== 'ok') return undefined
  const [value, args] = [valueOf(record.value, source), valueOf(record.args, source)]
  if (!isObject(value) || !isObject(args)) return undefined
  const { id } = value
  const { role: name } = args
  if (typeof id !== 'string' || typeof name !== 'string') return undefined
  const call = originOf(parsePlace(record.p))
  const tool = call.findLastIndex(({ kind }) => kind === 'tool')
  return { id, name, place: placeText([...call.slice(0, tool + 1), { kind: 'agent', name }]) }
}

/**
 * Everything an agent received and said, from the record of the run, so it is authoritative even if a process was
 * killed. What a later process repeated replaces the old version. An agent that is a program has only its answer.
 */
export async function readTranscript(
  source: RecordSource,
  agent: GivenAgent,
  run: string,
): Promise<readonly TranscriptLine[]> {
  const turns = new Map<number, Turn>()
  // each piece of work of a team agent is a conversation that starts with everything said before
  const conversations = [conversationOf(agent.place)]
  let latest = 0
  let end: { readonly text: string; readonly t: number } | undefined
  await source.scan((record) => {
    if (!('p' in record)) return
    const piece = pieceOf(record.p, agent.place)
    if (piece !== undefined) {
      conversations[piece] = conversationOf(record.p)
      if (record.k === 'begin' && record.below === undefined && piece === latest) turns.clear()
      if (record.k === 'done') end = { text: textOf(valueOf(record.value, source)), t: record.t }
      return
    }
    const at = conversations.findLastIndex((place) => turnIn(record.p, place) !== undefined)
    const turn = at < latest ? undefined : turnIn(record.p, conversations[at] ?? '')
    if (turn === undefined) return
    if (at > latest) turns.clear()
    latest = at
    addTo(turns, turn, { record, source })
  })
  const messages = [...turns.entries()]
    .toSorted(([left], [right]) => left - right)
    .flatMap(([, turn]) => messagesOf(turn))
  const said = messages.length === 0 && end !== undefined ? [{ message: answerOf(end.text), t: end.t }] : messages
  let parent: string | null = null
  return said.map(({ message, t }, index): TranscriptLine => {
    const { id, name, place } = agent
    const uuid = uuidOf(`${run} ${place} ${index}`)
    const line = {
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
    } as const
    parent = uuid
    return line
  })
}

/** Which piece of an agent's work is recorded at a place; one started by `task` has only one. */
function pieceOf(place: string, agent: string): number | undefined {
  if (place === agent) return 0
  const [, piece] = place.startsWith(`${agent}/input/`)
    ? (/^\/input\/(\d+)$/.exec(place.slice(agent.length)) ?? [])
    : []
  return piece === undefined ? undefined : Number(piece)
}

function conversationOf(place: string): string {
  return placeText(agentConversation(parsePlace(place)))
}

/** The number of the turn of a conversation whose model call is recorded at a place. */
function turnIn(place: string, conversation: string): number | undefined {
  if (!place.startsWith(`${conversation}/turn/`)) return undefined
  const [, turn] = /^(\d+)#\d+$/.exec(place.slice(conversation.length + '/turn/'.length)) ?? []
  return turn === undefined ? undefined : Number(turn)
}

function addTo(
  turns: Map<number, Turn>,
  turn: number,
  { record, source }: { readonly record: JournalRecord; readonly source: RecordSource },
): void {
  if (record.k === 'started') {
    const request = valueOf(record.request, source)
    const messages = isObject(request) && Array.isArray(request['messages']) ? request['messages'] : []
    turns.set(turn, { asked: { messages, t: record.t } })
  } else if (record.k === 'ended' && record.status === 'ok') {
    const value = valueOf(record.value, source)
    const known = turns.get(turn)
    if (known !== undefined && isObject(value)) known.answer = { parts: value['parts'], t: record.t }
  }
}

interface Said {
  readonly message: Json
  readonly t: number
}

function messagesOf({ asked, answer }: Turn): readonly Said[] {
  const before = asked.messages.map((message) => ({ message: message as Json, t: asked.t }))
  return answer === undefined
    ? before
    : [...before, { message: { role: 'assistant', parts: (answer.parts ?? []) as Json }, t: answer.t }]
}

function answerOf(text: string): Json {
  return { role: 'assistant', parts: [{ type: 'text', text }] }
}

function textOf(value: unknown): string {
  return isObject(value) && typeof value['text'] === 'string' ? value['text'] : ''
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
