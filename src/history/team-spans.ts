import type { ModelCall, Piece, TeamCall, TeamRecords } from './team-records.ts'

/** A time in which a member did one thing. `to`: null where no record says how long. Milliseconds since 1970. */
export interface Span {
  /** `queued`: it waited for its turn to work. `waiting`: for other members, or for messages where `on` is empty. */
  readonly kind: 'queued' | 'working' | 'waiting'
  readonly from: number
  readonly to: number | null
  /** Ids of the members that it waited for. */
  readonly on: readonly string[]
  /** How the piece of work ended that ends with it; null: it goes on behind it, or is no piece of work. */
  readonly ended: NonNullable<Piece['end']>['status'] | null
}

interface Asked {
  /** What is known of the member itself. */
  readonly place: string
  /** When it was started; undefined for a leader. */
  readonly spawned: number | undefined
  /** Calls of it that waited for the end of an agent that they had started: the agents by the place of the call. */
  readonly foreground: ReadonlyMap<string, Piece & { readonly id: string }>
}

/** When a member of a team worked, waited for others, and waited for its turn; in order, without overlaps of work and waits. */
export function spansOf({ place, spawned, foreground }: Asked, records: TeamRecords): readonly Span[] {
  const models = records.models.filter(({ owner }) => owner === place)
  const pieces = records.pieces.filter(({ agent }) => agent === place)
  const waits = waitsOf(place, models, records)
  for (const [call, { begin, end, id }] of foreground) {
    if (records.calls.some((one) => one.place === call && one.owner === place)) {
      waits.push({ kind: 'waiting', from: begin.t, to: end?.t ?? null, on: [id], ended: null })
    }
  }
  const work = pieces.length > 0 || spawned !== undefined ? pieces.map(workOf) : turnsOf(models)
  const first = pieces[0]?.begin.t ?? null
  const queued: readonly Span[] =
    spawned === undefined || (first !== null && first <= spawned)
      ? []
      : [{ kind: 'queued', from: spawned, to: first, on: [], ended: null }]
  return [...queued, ...work.flatMap((span) => without(span, waits)), ...waits].toSorted(
    (one, other) => one.from - other.from,
  )
}

function workOf({ begin, end }: Piece): Span {
  return { kind: 'working', from: begin.t, to: end?.t ?? null, on: [], ended: end?.status ?? null }
}

/** A leader works from request to request, but not when its model had nothing more to do and waited for messages. */
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
  // one that has no end yet is in no record but the answer that asked for it
  const last = models.at(-1)
  const open = last?.end === undefined ? [] : last.calls.filter(({ name }) => name === 'wait')
  if (last?.end === undefined || own.some((call) => turnOf(call) === last.turn)) return ended
  const from = last.end.t
  return [
    ...ended,
    ...open.map(({ input }): Span => ({
      kind: 'waiting',
      from,
      to: null,
      on: idsIn(jsonOf(input)['ids']),
      ended: null,
    })),
  ]
}

/** The request whose answer made a call. */
export function turnOf({ place }: Pick<TeamCall, 'place'>): string {
  return place.replace(/\/tool\/\d+:[^/]*$/, '')
}

/** When a call began: calls of an answer begin when it is there. */
export function sinceOf(call: TeamCall, models: readonly ModelCall[]): number {
  const asked = models.findLast(({ turn, end }) => turn === turnOf(call) && end !== undefined)
  return Math.min(call.t, asked?.end?.t ?? call.t)
}

export function idsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

function jsonOf(text: string): { readonly [name: string]: unknown } {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as { readonly [name: string]: unknown }) : {}
  } catch {
    return {}
  }
}

/** What is left of a span when others are taken out of it. */
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
