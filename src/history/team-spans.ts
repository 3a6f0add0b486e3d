import { withCanonicalNames } from '../event/collab.ts'
import { inputOf, type ModelCall, type Piece, type TeamCall, type TeamRecords } from './team-records.ts'

/** A time in which a member did one thing. `to`: null if no record says how long. Milliseconds since 1970. */
export interface Span {
  /** `queued`: it waited for its turn to work. `waiting`: for other members, or for messages if `on` is empty. */
  readonly kind: 'queued' | 'working' | 'waiting'
  readonly from: number
  readonly to: number | null
  /** Ids of the members that it waited for. */
  readonly on: readonly string[]
  /**
   * How the piece of work ended that ends with this span; null: the work continues after it, or it is not a piece of
   * work.
   */
  readonly ended: NonNullable<Piece['end']>['status'] | null
}

interface Asked {
  /** About the member itself. */
  readonly place: string
  /** When it was started; undefined for a leader. */
  readonly spawned: number | undefined
  /** Its calls that waited for the end of an agent they had started: the agents, by the place of the call. */
  readonly foreground: ReadonlyMap<string, Piece & { readonly id: string }>
}

/**
 * When a member of a team worked, waited for others, and waited for its turn; in order, with work and waits not
 * overlapping.
 */
export function spansOf({ place, spawned, foreground }: Asked, records: TeamRecords): readonly Span[] {
  const models = records.models.filter(({ owner }) => owner === place)
  const pieces = records.pieces.filter(({ agent }) => agent === place)
  const waits = waitsOf(place, models, records)
  for (const [call, { begin, end, id }] of foreground) {
    if (records.calls.some((one) => one.place === call && one.owner === place)) {
      waits.push({ kind: 'waiting', from: begin.t, to: end?.t ?? null, on: [id], ended: null })
    }
  }
  if (spawned === undefined)
    return inOrder(
      turnsOf(models).flatMap((span) => without(span, waits)),
      waits,
    )
  const work = pieces.flatMap((piece) => workOf(piece, models))
  const first = pieces[0]?.begin.t ?? null
  const queued = first === null || first > spawned ? [turnTo(spawned, first)] : []
  return inOrder(
    [...queued, ...work.flatMap((span) => (span.kind === 'working' ? without(span, waits) : [span]))],
    waits,
  )
}

function inOrder(...spans: readonly (readonly Span[])[]): readonly Span[] {
  return spans.flat().toSorted((one, other) => one.from - other.from)
}

function turnTo(from: number, to: number | null): Span {
  return { kind: 'queued', from, to, on: [], ended: null }
}

/** A piece of work is queued until it calls its model; one that never does is a program. */
function workOf({ begin, end }: Piece, models: readonly ModelCall[]): readonly Span[] {
  const ended = end?.status ?? null
  const first = models.find((model) => model.begin.order > begin.order && model.begin.order < (end?.order ?? Infinity))
  const from = first?.begin.t ?? (end === undefined || ended === 'stopped' ? null : begin.t)
  const to = end?.t ?? null
  if (from === null) return [{ ...turnTo(begin.t, to), ended }]
  const work: Span = { kind: 'working', from, to, on: [], ended }
  return from > begin.t ? [turnTo(begin.t, from), work] : [work]
}

/** A leader works from request to request, except while its model had nothing left to do and waited for messages. */
function turnsOf(models: readonly ModelCall[]): readonly Span[] {
  const spans: Span[] = []
  const add = (kind: Span['kind'], from: number, to: number | null): void => {
    const last = spans.at(-1)
    if (last?.kind === kind && last.to !== null && last.to >= from) spans.splice(-1, 1, { ...last, to })
    else spans.push({ kind, from, to, on: [], ended: null })
  }
  for (const [index, { begin, end, calls }] of models.entries()) {
    const next = models[index + 1]?.begin.t
    if (end === undefined || calls.length > 0) add('working', begin.t, next ?? null)
    else {
      add('working', begin.t, end.t)
      if (next !== undefined && next > end.t) add('waiting', end.t, next)
    }
  }
  return spans
}

function waitsOf(place: string, models: readonly ModelCall[], { calls }: TeamRecords): Span[] {
  const own = calls.filter((call) => call.owner === place && call.name === 'wait')
  const ended = own.map((call): Span => ({
    kind: 'waiting',
    from: sinceOf(call, models),
    to: call.t,
    on: idsIn(call.args['ids']),
    ended: null,
  }))
  // a wait that has not ended is recorded only in the answer that requested it
  const last = models.at(-1)
  const open = last?.end === undefined ? [] : last.calls.filter(({ name }) => name === 'wait')
  if (last?.end === undefined || own.some((call) => turnOf(call) === last.turn)) return ended
  const from = last.end.t
  return [
    ...ended,
    ...open.map((call): Span => ({
      kind: 'waiting',
      from,
      to: null,
      on: idsIn(withCanonicalNames('wait', inputOf(call))['ids']),
      ended: null,
    })),
  ]
}

/** The request whose answer made a call. */
export function turnOf({ place }: Pick<TeamCall, 'place'>): string {
  return place.replace(/\/tool\/\d+:[^/]*$/, '')
}

/** When a call started: the calls of an answer start when it arrives. */
export function sinceOf(call: TeamCall, models: readonly ModelCall[]): number {
  const asked = models.findLast(({ turn, end }) => turn === turnOf(call) && end !== undefined)
  return Math.min(call.t, asked?.end?.t ?? call.t)
}

export function idsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

/** What is left of a span when others are cut out of it. */
function without(span: Span, others: readonly Span[]): readonly Span[] {
  return others.reduce<readonly Span[]>((left, other) => left.flatMap((one) => minus(one, other)), [span])
}

function minus(span: Span, { from, to }: Span): readonly Span[] {
  const [end, otherEnd] = [span.to ?? Infinity, to ?? Infinity]
  if (otherEnd <= span.from || from >= end) return [span]
  return [
    ...(from > span.from ? [{ ...span, to: from, ended: null }] : []),
    ...(otherEnd < end ? [{ ...span, from: otherEnd }] : []),
  ]
}
