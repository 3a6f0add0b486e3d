import { isObject } from '../base/json.ts'
import { type Piece, type Spawn, spawnTool, type TeamCall, type TeamRecords } from './team-records.ts'
import { idsIn, sinceOf, turnOf } from './team-spans.ts'

interface Between {
  /** Milliseconds since 1970. */
  readonly t: number
  /** Ids of members. */
  readonly from: string
  readonly to: string
}

/**
 * One interaction of a team member with others. `told`: when it was delivered to the model it is for; null: never, or
 * not yet.
 */
export type Exchange =
  | (Between & { readonly kind: 'spawn'; readonly role: string; readonly text: string })
  | (Omit<Between, 'to'> & { readonly kind: 'refused'; readonly tool: string; readonly text: string })
  | (Between & {
      readonly kind: 'message'
      readonly text: string
      readonly interrupt: boolean
      readonly told: number | null
    })
  /** The end of a piece of its work, for the member that started it. */
  | (Between & {
      readonly kind: 'end'
      readonly status: EndStatus
      readonly text: string
      readonly told: number | null
    })
  | (Omit<Between, 'to'> & { readonly kind: 'wait'; readonly on: readonly string[]; readonly returnWhen: string })
  | (Omit<Between, 'to'> & {
      readonly kind: 'waited'
      readonly on: readonly string[]
      readonly timedOut: boolean
      /** Why the wait could never have ended. */
      readonly stalled: string | null
    })
  | (Between & { readonly kind: 'close' })
  /** A notice from the team itself to a member, for example that nothing is making progress. */
  | (Omit<Between, 'from'> & { readonly kind: 'notice'; readonly text: string })

type EndStatus = NonNullable<Piece['end']>['status']

interface Known {
  readonly records: TeamRecords
  readonly spawns: readonly Spawn[]
  /** The id of the member that works at a place; undefined: it belongs to another team. */
  readonly idAt: (place: string) => string | undefined
  /** The id of a member, by the name a model used for it. */
  readonly idOf: (named: string) => string
}

/** What the members of a team exchanged, in recorded order. */
export function exchangesOf({ records, spawns, idAt, idOf }: Known): readonly Exchange[] {
  const told = deliveryTimes(records.calls)
  const ordered: (readonly [order: number, exchange: Exchange])[] = []
  for (const call of records.calls) {
    const from = idAt(call.owner)
    if (from === undefined) continue
    for (const [order, exchange] of ofCall(call, { from, told, records, spawns, idOf })) ordered.push([order, exchange])
  }
  for (const { agent, index, end } of records.pieces) {
    const spawn = spawns.find(({ place }) => place === agent)
    const to = spawn === undefined ? undefined : idAt(spawn.call.owner)
    if (spawn === undefined || to === undefined || end === undefined) continue
    const { status, text, t, order } = end
    const known = told.get(`end/${spawn.id}/${index + 1}`) ?? null
    ordered.push([order, { t, kind: 'end', from: spawn.id, to, status, text, told: known }])
  }
  return ordered.toSorted(([left], [right]) => left - right).map(([, exchange]) => exchange)
}

interface CallContext extends Pick<Known, 'records' | 'spawns' | 'idOf'> {
  readonly from: string
  readonly told: ReadonlyMap<string, number>
}

function ofCall(call: TeamCall, context: CallContext): readonly (readonly [number, Exchange])[] {
  const { name, args, value, t, order } = call
  const { from, told, spawns, idOf } = context
  const text = textIn(args, 'message') || textIn(args, 'description')
  if (isObject(value) && typeof value['refused'] === 'string') {
    return [[order, { t, kind: 'refused', from, tool: name, text: value['refused'] }]]
  }
  switch (name) {
    case spawnTool:
    case 'task': {
      const spawn = spawns.find((one) => one.call === call)
      if (spawn === undefined) return []
      const piece = context.records.pieces.find(({ agent }) => agent === spawn.place)
      return [[order, { t, kind: 'spawn', from, to: spawn.id, role: spawn.role, text: text || (piece?.label ?? '') }]]
    }
    case 'send_input':
    case 'send_message': {
      const id = isObject(value) ? textIn(value, 'submission_id') : ''
      const to = idOf(textIn(args, 'id') || textIn(args, 'to'))
      const interrupt = args['interrupt'] === true
      return [[order, { t, kind: 'message', from, to, text, interrupt, told: told.get(id) ?? null }]]
    }
    case 'wait':
      return ofWait(call, context)
    case 'close_agent':
    case 'task_stop':
      return [[order, { t, kind: 'close', from, to: idOf(textIn(args, 'id')) }]]
    case 'mail':
    case 'inbox':
      return messagesIn(value)
        .filter(({ id }) => id.startsWith('stall/'))
        .map((one) => [order, { t, kind: 'notice', to: from, text: one.text }])
    default:
      return []
  }
}

/** A wait starts when the model's answer arrives, and is recorded when it ends. */
function ofWait(call: TeamCall, { from, records, idOf }: CallContext): readonly (readonly [number, Exchange])[] {
  const { args, value, t, order } = call
  const on = idsIn(args['ids']).map(idOf)
  const asked = records.models.findLast(({ turn, end }) => turn === turnOf(call) && end !== undefined)
  const returnWhen = textIn(args, 'return_when') || 'all'
  const since = sinceOf(call, records.models)
  const stalled = isObject(value) && typeof value['stalled'] === 'string' ? value['stalled'] : null
  const timedOut = isObject(value) && value['timed_out'] === true
  return [
    [asked?.end?.order ?? order, { t: since, kind: 'wait', from, on, returnWhen }],
    [order, { t, kind: 'waited', from, on, timedOut, stalled }],
  ]
}

/** When each message was delivered, by its id. */
function deliveryTimes(calls: readonly TeamCall[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const { name, value, t } of calls) {
    if (name !== 'mail' && name !== 'inbox') continue
    for (const { id } of messagesIn(value)) if (!found.has(id)) found.set(id, t)
  }
  return found
}

function messagesIn(value: unknown): readonly { readonly id: string; readonly text: string }[] {
  return Array.isArray(value)
    ? value.flatMap((one: unknown) => (isObject(one) ? [{ id: textIn(one, 'id'), text: textIn(one, 'text') }] : []))
    : []
}

function textIn(value: { readonly [name: string]: unknown }, name: string): string {
  return typeof value[name] === 'string' ? value[name] : ''
}
