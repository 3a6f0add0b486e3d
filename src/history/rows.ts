import { isObject } from '../base/json.ts'
import type { Spent } from '../event/meter.ts'
import { isWithin, originText, placeAround } from '../event/place.ts'
import { beginning, type Position } from '../journal/follow.ts'
import type { JournalRecord, RecordOf } from '../journal/record.ts'
import type { RecordSource } from '../journal/source.ts'
import { boundaryAt } from './boundary-kinds.ts'
import { describeEffect } from './node-view.ts'
import { isPartial, valueOf } from './recorded.ts'

export const rowStates = [
  'running',
  'done',
  'partial',
  'failed',
  'suspended',
  'skipped',
  'interrupted',
  'rejected',
] as const

/** One started item of a run, for those who follow it: a boundary or an effect. */
export interface Row {
  /** Counts from 0, in order of first start; a place that starts again keeps its number. */
  readonly n: number
  readonly place: string
  /** See `PartView` in node-view.ts. */
  readonly kind: string
  /** What it is about, at most 200 characters. Empty if the place says everything. */
  readonly text: string
  /** `interrupted`: it has not ended, and no process is working on it. `rejected`: an approval that was refused. */
  readonly state: (typeof rowStates)[number]
  /** Milliseconds since 1970. */
  readonly start: number
  readonly end?: number | undefined
  /** For a model call, and a program that is an agent. US dollars; null if a price is unknown. */
  readonly usd?: number | null | undefined
  readonly input?: number | undefined
  readonly output?: number | undefined
  readonly model?: string | undefined
  /** For an iteration. */
  readonly score?: number | undefined
}

/** A row, and the position after the record that last changed it. */
export interface PlacedRow {
  readonly row: Row
  readonly changed: Position
}

/** The rows of a run, built from its records in order: the same records always produce the same rows. */
export interface RowTable {
  readonly add: (record: JournalRecord, position: Position) => void
  /** The rows that changed after a position, in the order of the changes. */
  readonly changedAfter: (position: Position) => readonly PlacedRow[]
  /** The position of the last change. */
  readonly latest: () => Position
  /**
   * The place of the running model call of an agent, by the place of the agent in its events; undefined: none is
   * running that has started at this time or later, in milliseconds since 1970.
   */
  readonly callIn: (agent: string, since: number) => string | undefined
  /**
   * The unfinished rows, in the state a process leaves them in if it exits now. Not stored: a later process may
   * continue.
   */
  readonly left: () => readonly Row[]
}

type PlacedRecord = Extract<JournalRecord, { readonly p: string }>
type RowEnd = Partial<Omit<Row, 'n' | 'place'>> & Pick<Row, 'state'>

/** @param source resolves values that are stored in separate files */
export function createRowTable(source: Pick<RecordSource, 'value'>): RowTable {
  /** In the order of their last changes. */
  const rows = new Map<string, PlacedRow>()
  const running = new Set<string>()
  let count = 0
  let epoch = 0
  let latest = beginning

  function set(row: Row, changed: Position): void {
    rows.delete(row.place)
    rows.set(row.place, { row, changed })
    latest = changed
    if (row.state === 'running') running.add(row.place)
    else running.delete(row.place)
  }

  function begin(
    { place, kind, text, start }: Pick<Row, 'place' | 'kind' | 'text' | 'start'>,
    position: Position,
  ): void {
    const n = rows.get(place)?.row.n ?? count++
    set(rowIn({ n, place, kind, text, start }, { state: 'running' }), position)
  }

  function change(place: string, end: RowEnd, position: Position): void {
    const known = rows.get(place)?.row
    if (known !== undefined) set(rowIn(known, end), position)
  }

  /**
   * Marks rows that will not end any more: their process is gone or ended the run, or a part around them was restarted.
   */
  function leave(places: readonly string[], position: Position, end?: number): void {
    const states = stateOfLeft(rows, places)
    for (const place of places) {
      change(place, { state: states(place), ...(end === undefined ? {} : { end }) }, position)
    }
  }

  /** A later process works on what an older one left. */
  function takeUp({ p }: PlacedRecord, position: Position): void {
    for (let place = placeAround(originText(p)); place !== ''; place = placeAround(place)) {
      const known = rows.get(place)?.row
      if (known === undefined || known.state === 'running' || known.state === 'done' || known.state === 'skipped')
        continue
      set(rowIn({ ...known, end: undefined }, { state: 'running' }), position)
    }
  }

  function end(record: RecordOf<'ended'>, position: Position): void {
    const ended = record.status === 'ok' ? 'done' : record.status === 'error' ? 'failed' : 'interrupted'
    const isDecided = record.status === 'ok' && record.kind === 'approval'
    const state = isDecided ? decisionState(valueOf(record.value, source)) : ended
    const spent = valueOf(record.spent, source)
    change(record.p, { state, end: record.t, ...paidBy(Array.isArray(spent) ? spent : []) }, position)
  }

  function finish({ p, t, value }: RecordOf<'done'>, position: Position): void {
    const { status, score } = boundaryAt(p).endOf?.(valueOf(value, source)) ?? { status: 'done' }
    change(p, { state: status, end: t, ...(score === undefined ? {} : { score }) }, position)
  }

  return {
    add(record, position) {
      if (record.k === 'seg') {
        if (epoch > 0) leave([...running], position)
        epoch = record.e
        return
      }
      if (record.k === 'run.end') return leave([...running], position, record.t)
      if (!('p' in record)) return
      if (epoch > 1) takeUp(record, position)
      const { p: place, t } = record
      switch (record.k) {
        case 'begin': {
          const inside =
            record.below === 'kept' ? [] : [...running].filter((one) => one !== place && isWithin(one, place))
          leave(inside, position)
          const { kind, hasLabel } = boundaryAt(place)
          const label = hasLabel ? valueOf(record.label, source) : undefined
          return begin({ place, kind, text: shortText(label), start: t }, position)
        }
        case 'started': {
          const text = shortText(describeEffect(record.kind, valueOf(record.request, source)))
          return begin({ place, kind: record.kind, text, start: t }, position)
        }
        case 'ended':
          return end(record, position)
        case 'done':
          return finish(record, position)
        case 'failed':
          return change(place, { state: isPartial(record, source) ? 'partial' : 'failed', end: t }, position)
        case 'suspended':
          return change(place, { state: 'suspended', end: t }, position)
        case 'choice':
          if (record.choice === 'redo') return
          return change(
            place,
            { state: record.choice === 'fail' || record.choice === 'tell' ? 'failed' : 'done', end: t },
            position,
          )
        default:
      }
    },
    changedAfter(position) {
      const all = [...rows.values()]
      return all.slice(all.findLastIndex(({ changed }) => changed <= position) + 1)
    },
    latest: () => latest,
    callIn(agent, since) {
      const calls = [...running].filter((place) => {
        const row = rows.get(place)?.row
        return row?.kind === 'model' && row.start >= since
      })
      const inside = calls
        .map((place) => ({ place, origin: originText(place) }))
        .filter(({ origin }) => isWithin(origin, agent))
      // those of nested agents are deeper
      return inside.toSorted((one, other) => one.origin.length - other.origin.length)[0]?.place
    },
    left() {
      const states = stateOfLeft(rows, [...running])
      return [...running].flatMap((place) => {
        const known = rows.get(place)?.row
        return known === undefined ? [] : [rowIn(known, { state: states(place) })]
      })
    },
  }
}

/** A row with what is known of its end. One literal for all: copies of objects with large numbers are slow. */
function rowIn(row: Omit<Row, 'state'>, end: RowEnd): Row {
  return {
    n: row.n,
    state: end.state,
    place: row.place,
    kind: row.kind,
    text: row.text,
    start: row.start,
    end: end.end ?? row.end,
    model: end.model ?? row.model,
    input: end.input ?? row.input,
    output: end.output ?? row.output,
    usd: end.usd === undefined ? row.usd : end.usd,
    score: end.score ?? row.score,
  }
}

/** The states of unfinished parts: that of the parts inside that stopped, else just interrupted. */
function stateOfLeft(rows: ReadonlyMap<string, PlacedRow>, places: readonly string[]): (place: string) => Row['state'] {
  if (places.length === 0) return () => 'interrupted'
  const around = { failed: new Set<string>(), suspended: new Set<string>() }
  for (const { row } of rows.values()) {
    if (row.state !== 'failed' && row.state !== 'suspended') continue
    for (let place = placeAround(originText(row.place)); place !== ''; place = placeAround(place)) {
      // a finished part has handled what failed in it
      if (rows.get(place)?.row.state === 'done') break
      around[row.state].add(place)
    }
  }
  return (place) => {
    if (around.suspended.has(place)) return 'suspended'
    return around.failed.has(place) ? 'failed' : 'interrupted'
  }
}

/** What became of an approval: only some hunks of a change may have been accepted. */
function decisionState(decision: unknown): Row['state'] {
  if (decision === 'deny') return 'rejected'
  if (!isObject(decision)) return 'done'
  if ('remark' in decision) return 'rejected'
  const hunks = decision['hunks']
  return Array.isArray(hunks) ? (hunks.length === 0 ? 'rejected' : 'partial') : 'done'
}

/** The total usage of all tries of one call. */
function paidBy(spent: readonly Spent[]): Partial<Row> {
  const last = spent.at(-1)
  if (last === undefined) return {}
  const sum = (of: (one: Spent) => number): number => spent.reduce((total, one) => total + of(one), 0)
  return {
    model: last.model,
    input: sum(({ usage }) => usage.input),
    output: sum(({ usage }) => usage.output),
    usd: spent.some(({ costUsd }) => costUsd === null) ? null : sum(({ costUsd }) => costUsd ?? 0),
  }
}

const mostCharacters = 200

function shortText(text: unknown): string {
  if (typeof text !== 'string') return ''
  if (text.length <= mostCharacters) return text
  return `${text.slice(0, mostCharacters - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
