import { isObject } from '../base/json.ts'
import type { Location } from '../journal/place-tree.ts'
import type { JournalRecord } from '../journal/record.ts'
import type { RecordSource } from '../journal/run-index.ts'
import { errorOf, timeOf, valueOf } from './recorded.ts'
import type { Part } from './run-tree.ts'
import { describeEffect } from './effect-text.ts'

export type PartStatus = 'done' | 'skipped' | 'failed' | 'unfinished'

/** One part of a run for people and programs: a task, an agent, a section of it, or an effect. */
export interface PartView {
  /** What `--place` and `baton resume --from` take. */
  readonly place: string
  readonly kind: string
  /** What it is about: the label of a task, a model, a command, a path. Empty where the place says it all. */
  readonly text: string
  readonly status: PartStatus
  readonly duration_ms: number | null
  /** Of the model calls at and below it. */
  readonly calls: number
  readonly tokens: { readonly input: number; readonly output: number; readonly cached: number }
  readonly cost_usd: number | null
  readonly shows: readonly ShowView[]
  /** How often each host function was called. */
  readonly uses: { readonly [name: string]: number }
  readonly error: string | null
  /** Finished parts that are left out. */
  readonly omitted: number
  readonly parts: readonly PartView[]
}

export interface ShowView {
  readonly type: 'print' | 'pin' | 'label'
  /** Of a pin and a label; the agent of a print. */
  readonly label: string
  readonly text: string
}

/** The parts below a part that something is known of; names in between that hold nothing are passed over. */
export function viewParts(part: Part, source: RecordSource): readonly PartView[] {
  return [...part.parts.values()].flatMap((below) =>
    isShown(below) ? [viewPart(below, source)] : viewParts(below, source),
  )
}

function isShown({ begin, started, shows }: Part): boolean {
  return begin !== undefined || started !== undefined || shows.length > 0
}

/** A part with everything below it. */
export function viewPart(part: Part, source: RecordSource): PartView {
  const { place, paid, uses } = part
  const { calls, input, output, cached, usd } = paid
  return {
    place,
    kind: kindOf(part, source),
    text: textOf(part, source),
    status: statusOfPart(part, source),
    duration_ms: durationOf(part, source),
    calls,
    tokens: { input, output, cached },
    cost_usd: usd,
    shows: viewShows(part.shows, source),
    uses: Object.fromEntries(uses),
    error: errorIn(part, source),
    omitted: omittedIn(part),
    parts: viewParts(part, source),
  }
}

/** Names in between are passed over, so what is left out below them is left out here. */
export function omittedIn(part: Part): number {
  const between = [...part.parts.values()].filter((below) => !isShown(below))
  return between.reduce((sum, below) => sum + omittedIn(below), part.omitted)
}

export function viewShows(shows: readonly Location[], source: RecordSource): readonly ShowView[] {
  return shows.flatMap((location): readonly ShowView[] => {
    const record = source.at(location)
    const event = record.k === 'show' ? valueOf(record.event, source) : undefined
    if (!isObject(event)) return []
    const text = (name: string): string => (typeof event[name] === 'string' ? event[name] : '')
    switch (event['type']) {
      case 'print':
        return [{ type: 'print', label: text('name'), text: text('text') }]
      case 'pin':
        return [{ type: 'pin', label: text('label'), text: text('content') }]
      case 'label':
        return [{ type: 'label', label: text('scope'), text: text('label') }]
      default:
        return []
    }
  })
}

function kindOf({ place, started }: Part, source: RecordSource): string {
  const record = started === undefined ? undefined : source.at(started)
  if (record?.k === 'started') return record.kind
  if (/(?:^|\/)task\/\d+$/.test(place)) return 'task'
  return /(?:^|\/)(?:before_all|data|output|after_all|chunk)$/.test(place) ? 'section' : 'agent'
}

function textOf({ started, done, place }: Part, source: RecordSource): string {
  const record = started === undefined ? undefined : source.at(started)
  if (record?.k === 'started') return describeEffect(record.kind, valueOf(record.request, source))
  const value = taskValue(place, done, source)
  return typeof value?.['label'] === 'string' ? value['label'] : ''
}

function taskValue(
  place: string,
  done: Location | undefined,
  source: RecordSource,
): { readonly [key: string]: unknown } | undefined {
  if (done === undefined || !/(?:^|\/)task\/\d+$/.test(place)) return undefined
  const record = source.at(done)
  const value = record.k === 'done' ? valueOf(record.value, source) : undefined
  return isObject(value) ? value : undefined
}

function statusOfPart(part: Part, source: RecordSource): PartStatus {
  const { begin, done, started, ended, isOk, place } = part
  if (started !== undefined) return isOk === true ? 'done' : ended === undefined ? 'unfinished' : 'failed'
  if (done !== undefined) return taskValue(place, done, source)?.['status'] === 'skipped' ? 'skipped' : 'done'
  if (begin === undefined) return 'done'
  return errorIn(part, source) === null && !hasFailedBelow(part) ? 'unfinished' : 'failed'
}

/** A part that is not finished and holds a part that has failed. */
function hasFailedBelow({ parts }: Part): boolean {
  return [...parts.values()].some((below) => {
    if (below.done !== undefined) return false
    const hasOwn = below.failed !== undefined || (below.ended !== undefined && below.isOk !== true)
    return hasOwn || hasFailedBelow(below)
  })
}

function durationOf({ begin, done, started, ended }: Part, source: RecordSource): number | null {
  const [from, to] = [started ?? begin, ended ?? done]
  return from === undefined || to === undefined ? null : Math.max(0, timeOf(to, source) - timeOf(from, source))
}

/** Errors of finished parts were dealt with by what called them. */
function errorIn({ done, ended, isOk, failed }: Part, source: RecordSource): string | null {
  if (ended !== undefined && isOk !== true) return errorOf(source.at(ended))
  return done === undefined && failed !== undefined ? errorOf(source.at(failed)) : null
}

/** The effect that a record is the start of. */
export function startedOf(
  { started }: Part,
  source: RecordSource,
): Extract<JournalRecord, { k: 'started' }> | undefined {
  const record = started === undefined ? undefined : source.at(started)
  return record?.k === 'started' ? record : undefined
}
