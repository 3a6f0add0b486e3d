import { canonicalJson, type Json } from '../base/json.ts'
import { type AskedCall, type Place, placeText } from '../event/effects.ts'
import type { Attempt } from './attempt.ts'
import { type ComparedCall, differenceAt } from './difference.ts'
import { createFirstDifference, type FirstDifference } from './first-difference.ts'
import type { Location } from './place-tree.ts'
import type { JournalRecord, RecordedError } from './record.ts'
import type { ReplayEntry, ReplayIndex } from './replay-index.ts'
import { revivedFrom } from './revive.ts'
import { encodeValue } from './value.ts'

/** A record that a run is compared with, call by call. */
export interface ReplayRecord {
  readonly first: FirstDifference
  /** What was recorded at a place. Throws once there was a difference. */
  readonly entryAt: (at: Place) => ReplayEntry | undefined
  /** The call that was recorded. */
  readonly callOf: (record: JournalRecord) => ComparedCall | undefined
  /** How a call ended that is the recorded one. Throws the difference when it is not. */
  readonly answerOf: (at: Place, asked: AskedCall, location: Location | undefined) => Attempt<unknown>
  readonly differ: (at: Place, now: ComparedCall, entry: ReplayEntry | undefined) => never
  /** What was thrown. */
  readonly errorOf: (error: RecordedError) => Error
  /** Notes that an effect was answered. */
  readonly count: (kind: string, location: Location) => void
  readonly wasAnswered: (location: Location) => boolean
  /** How many effects were answered, by kind. */
  readonly counts: Readonly<Record<string, number>>
}

export function createReplayRecord(index: ReplayIndex): ReplayRecord {
  const { source, entries } = index
  const first = createFirstDifference()
  const answered = new Set<Location>()
  const counts: Record<string, number> = {}

  function callOf(record: JournalRecord): ComparedCall | undefined {
    if (record.k === 'started') return plain({ name: record.kind, request: source.value(record.request) as Json })
    if (record.k !== 'obs' && record.k !== 'call') return undefined
    return plain({ name: record.name, request: source.value(record.args) as Json })
  }

  function differ(at: Place, now: ComparedCall, entry: ReplayEntry | undefined): never {
    const location = entry?.started ?? entry?.observed ?? entry?.called
    const recorded = location === undefined ? undefined : callOf(source.at(location))
    return first.stop(placeText(at), differenceAt(placeText(at), { now: plain(now), recorded, why: endHint(index) }))
  }

  function errorOf(error: RecordedError): Error {
    return revivedFrom(source, error)
  }

  return {
    first,
    entryAt(at) {
      first.check()
      return entries.get(placeText(at))
    },
    callOf,
    differ,
    errorOf,
    answerOf(at, { name, args }, location) {
      const now = { name, request: args }
      const record = location === undefined ? undefined : source.at(location)
      if (record?.k !== 'obs' && record?.k !== 'call') return differ(at, now, entries.get(placeText(at)))
      if (record.name !== name || !isSame(args, source.value(record.args))) {
        const recorded = callOf(record)
        return first.stop(placeText(at), differenceAt(placeText(at), { now: plain(now), recorded, why: undefined }))
      }
      if (record.status !== 'ok') return { status: 'failed', error: errorOf(record.error) }
      return { status: 'ok', value: source.value(record.value) }
    },
    count(kind, location) {
      answered.add(location)
      counts[kind] = (counts[kind] ?? 0) + 1
    },
    wasAnswered: (location) => answered.has(location),
    counts,
  }
}

/** Whether two values are the same when they are recorded. */
export function isSame(now: unknown, then: unknown): boolean {
  return canonicalJson(encodeValue(now, asIs)) === canonicalJson(encodeValue(then, asIs))
}

function plain({ name, request }: ComparedCall): ComparedCall {
  return { name, request: encodeValue(request, asIs) }
}

function asIs(text: string): string {
  return text
}

function endHint({ end }: ReplayIndex): string | undefined {
  if (end === undefined) return 'The recorded run broke off before its end.'
  return end.exit === 0 ? undefined : `The recorded run failed with exit code ${end.exit}.`
}
