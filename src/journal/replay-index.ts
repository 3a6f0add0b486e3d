import { BatonError } from '../base/error.ts'
import type { Head } from './head.ts'
import type { Location } from './place-tree.ts'
import type { JournalRecord, UncertainChoice } from './record.ts'
import type { RecordSource } from './run-index.ts'

/** What was recorded at one place. */
export interface ReplayEntry {
  observed?: Location
  called?: Location
  /** The effect whose end is `ended`, or one that has none. */
  started?: Location
  ended?: Location
  status?: 'ok' | 'error' | 'cancelled'
  /** Why an effect without an end counts as done. */
  choice?: UncertainChoice | 'found'
}

type StartRecord = Extract<JournalRecord, { readonly k: 'run.start' }>
type EndRecord = Extract<JournalRecord, { readonly k: 'run.end' }>

/** Everything a run has recorded, by place. Boundaries only void what was there before they were begun again. */
export interface ReplayIndex {
  readonly source: RecordSource
  readonly entries: ReadonlyMap<string, ReplayEntry>
  readonly start: StartRecord | undefined
  /** What resumes have set: `key=value` each. */
  readonly overrides: readonly string[]
  /** Of the newest epoch that was ended. */
  readonly end: EndRecord | undefined
}

/** @throws BatonError JOURNAL_FAILED for damaged records */
export async function indexReplay(source: RecordSource): Promise<ReplayIndex> {
  const entries = new Map<string, ReplayEntry>()
  const begun = new Set<string>()
  const marks: { start?: Location; end?: Location } = {}
  const resumes: Location[] = []

  function entryOf(place: string): ReplayEntry {
    const known = entries.get(place)
    if (known !== undefined) return known
    const entry = {}
    entries.set(place, entry)
    return entry
  }

  function begin(place: string): void {
    if (begun.has(place)) for (const other of entries.keys()) if (isBelow(place, other)) entries.delete(other)
    begun.add(place)
  }

  function note({ k, p, rest }: Head, location: Location): void {
    switch (k) {
      case 'begin':
        return begin(p)
      case 'obs':
        entryOf(p).observed = location
        return
      case 'call':
        entryOf(p).called = location
        return
      case 'started':
        return start(entryOf(p), location)
      case 'ended':
        return end(entryOf(p), location, rest)
      case 'choice':
        entryOf(p).choice = /"choice":"(redo|done|fail|found)"/.exec(rest)?.[1] as UncertainChoice | 'found'
        return
      case 'run.start':
        marks.start ??= location
        return
      case 'run.resume':
        resumes.push(location)
        return
      case 'run.end':
        marks.end = location
    }
  }

  const [damage] = await source.scan(note)
  if (damage !== undefined) {
    const { file, offset, reason } = damage
    throw new BatonError('JOURNAL_FAILED', `${file} is damaged from byte ${offset} on: records are ${reason}`, {
      place: { file },
    })
  }
  const started = marks.start === undefined ? undefined : source.at(marks.start)
  const ended = marks.end === undefined ? undefined : source.at(marks.end)
  return {
    source,
    entries,
    start: started?.k === 'run.start' ? started : undefined,
    overrides: resumes.flatMap((location) => {
      const record = source.at(location)
      return record.k === 'run.resume' ? (source.value(record.overrides) as readonly string[]) : []
    }),
    end: ended?.k === 'run.end' ? ended : undefined,
  }
}

/** What is paid for counts until something newer is: a later process may have begun it again without an end. */
function start(entry: ReplayEntry, location: Location): void {
  if (entry.status === 'ok') return
  entry.started = location
  delete entry.ended
  delete entry.status
  delete entry.choice
}

function end(entry: ReplayEntry, location: Location, rest: string): void {
  if (entry.status === 'ok') return
  const status = /,"status":"(ok|error|cancelled)"/.exec(rest)?.[1] as ReplayEntry['status']
  entry.ended = location
  if (status !== undefined) entry.status = status
}

function isBelow(place: string, other: string): boolean {
  return other.startsWith(place) && ['', '/', '#'].includes(other.charAt(place.length))
}
