import { parsePlace, placeText } from '../event/place.ts'
import type { Grant } from '../event/permission.ts'
import { valueAt } from './blobs.ts'
import { damagedRun, damagedValue } from './damage.ts'
import { choose, endEffect, startEffect, suspendEffect } from './effect-node.ts'
import { grantIn, type PastApprovals } from './grants.ts'
import { createPaidCalls, isPaid, type PaidCall } from './paid-calls.ts'
import { createProcessList, type LeftoverProcess } from './process-list.ts'
import type { JournalRecord, RecordOf } from './record.ts'
import type { Damage } from './segment-reader.ts'
import type { RecordSource } from './source.ts'
import {
  belongsTo,
  createPlaceTree,
  isFinished,
  lastReturned,
  type Location,
  type PlaceNode,
  type PlaceTree,
  showsBelow,
} from './tree.ts'
import { BatonError } from '../base/error.ts'
import { isObject } from '../base/json.ts'
import { type FileChangeRecord, makesFile } from '../event/effects.ts'

export interface IndexOptions {
  /** `unfinished`: the contents of a finished boundary are dropped, because it will not be entered again. */
  readonly keeps: 'everything' | 'unfinished'
  /** With `unfinished`: except for the boundaries around this place, which is to be rerun. */
  readonly from?: string
  /**
   * What happens with damage, which is an error otherwise. `skip`: damaged records are ignored. `redo`: records with
   * damaged large values are ignored as well, and the unfinished parts that these values belong to are to be repeated.
   */
  readonly repair?: 'skip' | 'redo'
  readonly accepts?: (record: JournalRecord) => boolean
  /** Called with each record after it was added. If set, records of host calls are only passed to it, not added. */
  readonly observe?: (record: JournalRecord, location: Location, tree: PlaceTree) => void
}

export interface RunIndex {
  readonly tree: PlaceTree
  readonly source: RecordSource
  /** Records about the run as a whole, and of choices, in order. */
  readonly records: <K extends RunRecord['k']>(kind: K) => readonly Extract<RunRecord, { readonly k: K }>[]
  /** Every model call that was ever started, ended ones first; read lazily. */
  readonly modelCalls: () => Iterable<PaidCall>
  /** The places of finished ensembles that lack a member; read lazily. */
  readonly degraded: () => Iterable<string>
  /** The records with the requests of these; read lazily. */
  readonly modelStarts: () => Iterable<RecordOf<'started'>>
  /** The events that were shown at and below a place. */
  readonly shows: (node: PlaceNode) => readonly JournalRecord[]
  /** Files that the run itself started to change, with the paths that records use. */
  readonly changedFiles: ReadonlySet<string>
  /** The files among them that the run created. */
  readonly madeFiles: ReadonlySet<string>
  /** Number of runs of script agents that have a number. */
  readonly agentRuns: number
  readonly damages: readonly Damage[]
  /** Boundaries that are to be repeated because of damage. */
  readonly redone: readonly string[]
  readonly approvals: PastApprovals
  /** Process groups that may still be running, with the writer that started them: their end is not recorded. */
  readonly processes: () => readonly LeftoverProcess[]
}

type RunRecord = RecordOf<'run.start' | 'run.resume' | 'source' | 'run.end' | 'use' | 'choice' | 'gap'>

/**
 * Reads the records of a run into a tree of places, without keeping values; see docs/design/matching.md.
 * @throws BatonError JOURNAL_FAILED for damage within a file, unless it is to be repaired
 */
export async function indexRun(source: RecordSource, options: IndexOptions): Promise<RunIndex> {
  const growing = createRunIndex(source, options)
  return growing.index(await source.scan(growing.add))
}

/** An index to which the records of a run are added one by one, in their order. */
export interface GrowingIndex {
  readonly tree: PlaceTree
  /** `isLast`: no later process has added to the run. */
  readonly add: (record: JournalRecord, location: Location, isLast: boolean) => void
  /**
   * The index of what was added. `torn`: the damaged parts between these records.
   * @throws BatonError JOURNAL_FAILED for damage, unless it is to be repaired
   */
  readonly index: (torn: readonly Damage[]) => RunIndex
}

/** Makes an index without records. `source` reads the values of those that are added. */
export function createRunIndex(source: RecordSource, options: IndexOptions): GrowingIndex {
  const { keeps, from, repair, accepts = () => true, observe } = options
  const tree = createPlaceTree()
  const marks = new Map<string, Location[]>()
  const calls = createPaidCalls()
  const shownBy = new WeakMap<PlaceNode, number>()
  const files = createChangedFiles()
  const questions = new Set<string>()
  const members = createMemberEnds()
  const grants: Grant[] = []
  const processes = createProcessList()
  let agentRuns = 0

  /** Shows of a call that was lost with its process are shown again by the next process. */
  function addShow(node: PlaceNode, epoch: number, location: Location): void {
    if ((shownBy.get(node) ?? epoch) < epoch) {
      const end = lastReturned(node)
      node.shows = node.shows?.filter((one) => one < end) ?? []
    }
    node.shows ??= []
    node.shows.push(location)
    shownBy.set(node, epoch)
  }

  function finish(place: string, location: Location, isLast: boolean): void {
    tree.make(place).done = location
    if (keeps === 'everything' || !isLast) return
    if (from !== undefined && belongsTo(from, place)) return
    tree.prune(place)
  }

  function mark(kind: RunRecord['k'], location: Location): void {
    const known = marks.get(kind)
    if (known === undefined) marks.set(kind, [location])
    else known.push(location)
  }

  function apply(record: JournalRecord, location: Location, isLast: boolean): void {
    switch (record.k) {
      case 'begin':
        if (record.below === 'kept') tree.unfinish(record.p)
        else tree.reopen(record.p)
        tree.make(record.p).begin = location
        return
      case 'done':
        if (record.below === 'kept') {
          tree.make(record.p).doneAgain = location
          if (keeps === 'unfinished') return
        }
        return finish(record.p, location, isLast)
      case 'undo':
        return tree.setUndone(record.p)
      case 'again':
        return tree.reopen(record.p)
      case 'obs':
        if (record.name === 'run.number') agentRuns += 1
        members.add(record, location)
        return observe === undefined ? tree.setAnswer(record.p, location) : undefined
      case 'call':
        return observe === undefined ? tree.setReturned(record.p, location) : undefined
      case 'started':
        if (isPaid(record)) calls.start(record, location)
        if (record.kind === 'approval') questions.add(record.p)
        if (record.kind === 'file')
          files.add(
            record.p,
            valueAt(record.p, () => source.value(record.request)),
          )
        return startEffect(tree.make(record.p), location)
      case 'process':
        return processes.start(record, location)
      case 'ended':
        processes.end(record)
        if (isPaid({ kind: record.kind, estimate: record.spent })) calls.end(record, location)
        if (record.kind === 'approval' && record.status === 'ok') grants.push(...grantIn(source.value(record.value)))
        return endEffect(tree.make(record.p), location, record.status === 'ok')
      case 'choice':
        mark(record.k, location)
        return choose(tree.make(record.p), record.by === 'disk' && record.choice === 'redo' ? 'missing' : record.choice)
      case 'show':
        return addShow(tree.make(record.p), record.e, location)
      case 'run.end':
        processes.endAll()
        return mark(record.k, location)
      case 'run.start':
      case 'run.resume':
      case 'source':
      case 'use':
      case 'gap':
        return mark(record.k, location)
      case 'suspended':
        if (record.s === undefined) return
        calls.withdraw(record)
        return suspendEffect(tree.make(record.p))
      case 'seg':
        return processes.write(record)
      case 'failed':
      case 'prompt':
    }
  }

  const lost: { readonly damage: Damage; readonly place: string | undefined }[] = []

  function add(record: JournalRecord, location: Location, isLast: boolean): void {
    if (!accepts(record)) return
    const damage = repair === 'redo' ? damagedValue(record, source) : undefined
    if (damage !== undefined) return void lost.push({ damage, place: 'p' in record ? record.p : undefined })
    apply(record, location, isLast)
    observe?.(record, location, tree)
  }

  /** Reopens the unfinished parts to which lost values belong. */
  function redoLost(): readonly string[] {
    const redone = new Set<string>()
    for (const { place } of lost) {
      const isDone = (at: string): boolean => isFinished(tree, at) || [...redone].some((part) => belongsTo(at, part))
      if (place === undefined || isDone(place)) continue
      const part = tree.boundaryAround(place) ?? place
      tree.reopen(part)
      redone.add(part)
    }
    return [...redone]
  }

  return {
    tree,
    add,
    index(torn) {
      const [damage] = torn
      if (damage !== undefined && repair === undefined) throw damagedRun(damage)
      return {
        tree,
        source,
        agentRuns,
        changedFiles: files.changed,
        madeFiles: files.made,
        redone: redoLost(),
        damages: [...torn, ...lost.map((one) => one.damage)],
        approvals: { places: [...questions], grants },
        records: (kind) => (marks.get(kind) ?? []).map((location) => source.at(location) as RecordOf<typeof kind>),
        modelCalls: () => calls.read(source),
        degraded: () => members.missing(tree, source),
        modelStarts: () => calls.starts(source),
        shows: (node) => showsBelow(node).map((location) => source.at(location)),
        processes: () => processes.read(source),
      }
    },
  }
}

/** How the members of ensembles ended. */
interface MemberEnds {
  readonly add: (record: RecordOf<'obs'>, location: Location) => void
  /** The places of finished ensembles of which one has not answered. */
  readonly missing: (tree: PlaceTree, source: RecordSource) => Iterable<string>
}

function createMemberEnds(): MemberEnds {
  /** By the place of the record, `ENSEMBLE/ends/MEMBER`; the last one counts. */
  const ends = new Map<string, Location>()
  return {
    add({ name, p }, location) {
      if (name === 'ensemble.member') ends.set(p, location)
    },
    *missing(tree, source) {
      for (const [place, location] of ends) {
        const record = isFinished(tree, place) ? source.at(location) : undefined
        const end: unknown = record?.k === 'obs' && record.status === 'ok' ? source.value(record.value) : undefined
        const isMissing = isObject(end) && (end['status'] === 'failed' || end['status'] === 'timed_out')
        if (isMissing) yield placeText(parsePlace(place).slice(0, -2))
      }
    },
  }
}

/** The files that a run has started to change, with the paths that its records use. */
interface ChangedFiles {
  readonly changed: ReadonlySet<string>
  /** Those that it created. */
  readonly made: ReadonlySet<string>
  /**
   * `request`: of a file change at `place`.
   * @throws BatonError JOURNAL_FAILED for one without a path
   */
  readonly add: (place: string, request: unknown) => void
}

function createChangedFiles(): ChangedFiles {
  const changed = new Set<string>()
  const made = new Set<string>()
  return {
    changed,
    made,
    add(place, request) {
      const change = fileChangeOf(place, request)
      for (const path of pathsOf(change)) changed.add(path)
      if (makesFile(change, (path) => made.has(path))) made.add(change.path)
    },
  }
}

/**
 * The request of a file change. It is validated because cassettes come from anywhere, and a checksum does not prove who
 * made them.
 */
function fileChangeOf(place: string, request: unknown): FileChangeRecord {
  if (isObject(request) && typeof request['op'] === 'string' && typeof request['path'] === 'string') {
    return request as FileChangeRecord
  }
  throw new BatonError('JOURNAL_FAILED', `the record of ${place} is damaged: its file change has no path`)
}

function pathsOf(request: unknown): readonly string[] {
  if (!isObject(request)) return []
  const { path, from, to } = request
  return [path, from, to].filter((one) => typeof one === 'string')
}
