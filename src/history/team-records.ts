import { isObject } from '../base/json.ts'
import { withCanonicalNames } from '../event/collab.ts'
import type { Spent } from '../event/meter.ts'
import { openerOf, originText, parsePlace, placeText } from '../event/place.ts'
import { startedAgentAround, startedAgentAt } from '../event/sub-agents.ts'
import type { RecordSource } from '../journal/source.ts'
import type { Location } from '../journal/tree.ts'
import { endedOf, labelOf, startedOf } from './node-view.ts'
import { failureOf, valueOf } from './recorded.ts'
import { nodesIn, type RunNode, type RunView } from './run-view.ts'

/*
 * What a journal records about agents that models started: their tool calls, their pieces of work, and the model calls
 * in them. Places are in origin form, so an agent's actions are at and below its own place.
 */

/** Something recorded at a time. `order` follows the order of writing, `t` is only for display. */
interface Stamp {
  readonly order: Location
  readonly t: number
}

/** A call of one of the tools that models use to manage agents, or something that was delivered to an agent. */
export interface TeamCall extends Stamp {
  readonly place: string
  /**
   * The agent whose model made the call or received the message: the place of an agent, or of a leader's conversation.
   */
  readonly owner: string
  readonly name: string
  readonly args: { readonly [name: string]: unknown }
  /** Undefined if it failed. */
  readonly value: unknown
}

/** An agent that a model started: its call was not refused. */
export interface Spawn {
  readonly call: TeamCall
  readonly id: string
  /** Set if it was given a name; otherwise it is numbered within its role. */
  readonly name?: string
  readonly role: string
  readonly place: string
}

/** A piece of an agent's work, from a message to its end; for an agent of `task`, its entire work. */
export interface Piece {
  readonly agent: string
  readonly index: number
  /** What it is about. */
  readonly label: string
  readonly begin: Stamp
  readonly end?: Stamp & { readonly status: 'done' | 'failed' | 'stopped' | 'suspended'; readonly text: string }
}

/** A call of a model. */
export interface ModelCall {
  /** Of the request, without the number of the model that was called. */
  readonly turn: string
  readonly owner: string
  readonly begin: Stamp
  readonly end?: Stamp
  /** Tool calls in its answer. */
  readonly calls: readonly { readonly name: string; readonly input: string }[]
  readonly spent: readonly Spent[]
}

export interface TeamRecords {
  readonly calls: readonly TeamCall[]
  readonly pieces: readonly Piece[]
  readonly models: readonly ModelCall[]
}

/** The tool that starts an agent of a team. */
export const spawnTool = 'spawn_agent'

const observed: ReadonlySet<string> = new Set([
  spawnTool,
  'task',
  'send_input',
  'wait',
  'send_message',
  'mail',
  'inbox',
])
const performed: ReadonlySet<string> = new Set(['close_agent', 'task_stop'])

/** What the view of a run knows about its agents, in recorded order. The view must keep host calls. */
export function readTeamRecords({ root, source }: RunView): TeamRecords {
  const calls: TeamCall[] = []
  const pieces: Piece[] = []
  const models: ModelCall[] = []
  for (const node of nodesIn(root)) {
    for (const [place, location] of node.calls) {
      const call = callAt(place, location, source)
      if (call !== undefined) calls.push(call)
    }
    const piece = pieceOf(node, source)
    if (piece !== undefined) pieces.push(piece)
    const model = modelCallOf(node, source)
    if (model !== undefined) models.push(model)
    const act = actOf(node, source)
    if (act !== undefined) calls.push(act)
  }
  return {
    calls: calls.map((call) => withInput(call, models)).toSorted((left, right) => left.order - right.order),
    pieces: pieces.toSorted((left, right) => left.begin.order - right.begin.order),
    models: models.toSorted((left, right) => left.begin.order - right.begin.order),
  }
}

/** A call with the arguments its model wrote, unless they are recorded with the call. */
function withInput(call: TeamCall, models: readonly ModelCall[]): TeamCall {
  const [, turn, index] = /^(.*)\/tool\/(\d+):[^/]*$/.exec(call.place) ?? []
  const answer = models.find((model) => model.turn === turn && model.calls.length > 0)
  const asked = answer?.calls[Number(index)]
  return asked?.name === call.name
    ? { ...call, args: { ...withCanonicalNames(call.name, inputOf(asked)), ...call.args } }
    : call
}

/** The arguments of a call; empty if they are not a JSON object. */
export function inputOf({ input }: ModelCall['calls'][number]): { readonly [name: string]: unknown } {
  try {
    const value: unknown = JSON.parse(input)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** The tool call that a record belongs to. It is made several times if an approval is needed. */
function toolCallIn(origin: string): string {
  return /^.*\/tool\/\d+:[^/#]+/.exec(origin)?.[0] ?? origin
}

function ownerOf(place: string, origin: string): string {
  return startedAgentAround(origin) ?? placeText(openerOf(parsePlace(place)))
}

function stampOf(location: Location, source: RecordSource): Stamp {
  return { order: location, t: source.at(location).t }
}

function callAt(place: string, location: Location, source: RecordSource): TeamCall | undefined {
  const record = source.at(location)
  if ((record.k !== 'obs' && record.k !== 'call') || !observed.has(record.name)) return undefined
  const origin = originText(place)
  const args = valueOf(record.args, source)
  return {
    order: location,
    t: record.t,
    place: toolCallIn(origin),
    owner: ownerOf(place, origin),
    name: record.name,
    args: isObject(args) ? args : {},
    value: record.status === 'ok' ? valueOf(record.value, source) : undefined,
  }
}

/** A call that is an effect, such as closing an agent. */
function actOf(node: RunNode, source: RecordSource): TeamCall | undefined {
  const started = startedOf(node, source)
  if (started?.kind !== 'tool' || node.ended === undefined || node.isOk !== true) return undefined
  const request = valueOf(started.request, source)
  const ended = endedOf(node, source)
  if (!isObject(request) || ended?.status !== 'ok') return undefined
  const { tool: name, input } = request
  if (typeof name !== 'string' || !performed.has(name)) return undefined
  const origin = originText(node.place)
  return {
    order: node.ended,
    t: ended.t,
    place: toolCallIn(origin),
    owner: ownerOf(node.place, origin),
    name,
    args: isObject(input) ? input : {},
    value: valueOf(ended.value, source),
  }
}

function pieceOf(node: RunNode, source: RecordSource): Piece | undefined {
  const { place, begin, done, failure } = node
  const piece = startedAgentAt(place)
  if (piece === undefined || begin === undefined) return undefined
  const label = labelOf(node, source) ?? ''
  const known = { agent: piece.agent, index: piece.input, label, begin: stampOf(begin, source) }
  if (done !== undefined) {
    const end = source.at(done)
    const value = end.k === 'done' ? valueOf(end.value, source) : undefined
    return { ...known, end: { ...stampOf(done, source), ...endOf(value) } }
  }
  if (failure === undefined) return known
  const at = source.at(failure.location)
  const text = failureOf(at, source)?.message ?? ''
  // one that failed without its own end is continued when the run is resumed
  return {
    ...known,
    end: { ...stampOf(failure.location, source), status: at.k === 'suspended' ? 'suspended' : 'failed', text },
  }
}

function endOf(value: unknown): { readonly status: 'done' | 'failed' | 'stopped'; readonly text: string } {
  if (!isObject(value)) return { status: 'done', text: '' }
  const { status, text, error } = value
  const said = typeof text === 'string' ? text : ''
  if (status === 'failed') {
    return { status, text: isObject(error) && typeof error['message'] === 'string' ? error['message'] : said }
  }
  return { status: status === 'stopped' ? status : 'done', text: said }
}

function modelCallOf(node: RunNode, source: RecordSource): ModelCall | undefined {
  const { place, started, ended } = node
  if (started === undefined || startedOf(node, source)?.kind !== 'model') return undefined
  const origin = originText(place)
  const known = { turn: origin.replace(/#\d+$/, ''), owner: ownerOf(place, origin), begin: stampOf(started, source) }
  const end = endedOf(node, source)
  if (ended === undefined || end === undefined) return { ...known, calls: [], spent: [] }
  const value = end.status === 'ok' ? valueOf(end.value, source) : undefined
  const spent = valueOf(end.spent, source)
  return {
    ...known,
    end: stampOf(ended, source),
    calls: callsIn(value),
    spent: Array.isArray(spent) ? (spent as readonly Spent[]) : [],
  }
}

function callsIn(answer: unknown): ModelCall['calls'] {
  const parts = isObject(answer) ? answer['parts'] : undefined
  return Array.isArray(parts)
    ? parts.flatMap((part: unknown) =>
        isObject(part) && part['type'] === 'tool_call'
          ? [{ name: String(part['name']), input: String(part['input']) }]
          : [],
      )
    : []
}
