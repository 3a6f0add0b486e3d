import { BatonError, isBatonError } from '../base/error.ts'
import { isObject, type Json } from '../base/json.ts'
import type { GroupLeader } from '../base/process-group.ts'
import { type Cost, type Estimate, type FileChangeRecord, makesFile } from '../event/effects.ts'
import { grantIn, type PastApprovals } from './grants.ts'
import type { Spent } from '../event/meter.ts'
import type { Grant } from '../event/permission.ts'
import { attempt } from './attempt.ts'
import { isBlobReference, valueAt } from './blobs.ts'
import { amountOf, usdOf, wantedOf } from './ledger.ts'
import type { Owner } from './owner.ts'
import type { JournalRecord, KnownEnd } from './record.ts'
import type { Damage } from './segment-reader.ts'
import type { RecordSource } from './source.ts'
import {
  belongsTo,
  createPlaceTree,
  forgetStart,
  isFinished,
  lastReturned,
  type Location,
  type PlaceNode,
  type PlaceTree,
  showsBelow,
} from './tree.ts'

export interface IndexOptions {
  /** `unfinished`: what a finished boundary holds is dropped, because it will not be entered again. */
  readonly keeps: 'everything' | 'unfinished'
  /** With `unfinished`: but for the boundaries around this place, which is to be rerun. */
  readonly from?: string
  /**
   * What becomes of damage, which else is an error. `skip`: damaged records are left out. `redo`: those whose large
   * values are damaged as well, and the unfinished parts that these values belong to are to be done again.
   */
  readonly repair?: 'skip' | 'redo'
  /** Leaves out other records. */
  readonly accepts?: (record: JournalRecord) => boolean
  /** Called with each record, after it was added. Those of host calls are added only without it. */
  readonly observe?: (record: JournalRecord, location: Location, tree: PlaceTree) => void
}

/** A model call that began, whatever became of its place since. */
interface PaidCall {
  readonly place: string
  /** What each of its tries used; empty when its end is not known. */
  readonly spent: readonly Spent[]
  /** What counts against a budget: without a known end as much as was estimated, because it may have been paid. */
  readonly cost: Required<Cost>
}

export interface RunIndex {
  readonly tree: PlaceTree
  readonly source: RecordSource
  /** Records about the run as a whole, and of choices, in order. */
  readonly records: <K extends RunRecord['k']>(kind: K) => readonly Extract<RunRecord, { readonly k: K }>[]
  /** Every model call that ever began, ended ones first; read one by one. */
  readonly modelCalls: () => Iterable<PaidCall>
  /** The events that were shown at and below a place. */
  readonly shows: (node: PlaceNode) => readonly JournalRecord[]
  /** Files that the run itself began to change, as records name them. */
  readonly changedFiles: ReadonlySet<string>
  /** Those of them that it made where nothing was. */
  readonly madeFiles: ReadonlySet<string>
  /** How many runs of script agents have a number. */
  readonly agentRuns: number
  readonly damages: readonly Damage[]
  /** Boundaries that are to be done again because of damage. */
  readonly redone: readonly string[]
  readonly approvals: PastApprovals
  /** Groups of processes that may still run, with the writer that has started them: it has not said that they have ended. */
  readonly processes: () => readonly LeftProcess[]
}

/** The leader of a group that a writer has started. */
export interface LeftProcess extends GroupLeader {
  /** Of the effect that has started it. */
  readonly place: string
  readonly writer: Owner
}

type RecordOf<K extends JournalRecord['k']> = Extract<JournalRecord, { readonly k: K }>
type RunRecord = RecordOf<'run.start' | 'run.resume' | 'source' | 'run.end' | 'use' | 'choice'>

/**
 * Reads what a run has recorded into a tree of places, without keeping values; see docs/design/matching.md.
 * @throws BatonError JOURNAL_FAILED for damage within a file, unless it is to be repaired
 */
export async function indexRun(source: RecordSource, options: IndexOptions): Promise<RunIndex> {
  const { keeps, from, repair, accepts = () => true, observe } = options
  const tree = createPlaceTree()
  const marks = new Map<string, Location[]>()
  const calls = createCallList()
  const shownBy = new WeakMap<PlaceNode, number>()
  const changedFiles = new Set<string>()
  const madeFiles = new Set<string>()
  const questions = new Set<string>()
  const grants: Grant[] = []
  const processes = createProcessList()
  let agentRuns = 0

  /** Shows of a call that was lost with its process are shown again by the next one. */
  function addShow(node: PlaceNode, epoch: number, location: Location): void {
    if ((shownBy.get(node) ?? epoch) < epoch) {
      const end = lastReturned(node)
      node.shows = node.shows?.filter((one) => one < end) ?? []
    }
    node.shows ??= []
    node.shows.push(location)
    shownBy.set(node, epoch)
  }

  function addChange(change: FileChangeRecord): void {
    for (const path of pathsOf(change)) changedFiles.add(path)
    if (makesFile(change, (path) => madeFiles.has(path))) madeFiles.add(change.path)
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

  function add(record: JournalRecord, location: Location, isLast: boolean): void {
    switch (record.k) {
      case 'begin':
        if (record.below === 'kept') tree.unfinish(record.p)
        else tree.reopen(record.p)
        tree.make(record.p).begin = location
        return
      case 'done':
        return finish(record.p, location, isLast)
      case 'undo':
        return tree.setUndone(record.p)
      case 'again':
        return tree.reopen(record.p)
      case 'obs':
        if (record.name === 'run.number') agentRuns += 1
        return observe === undefined ? tree.setAnswer(record.p, location) : undefined
      case 'call':
        return observe === undefined ? tree.setReturned(record.p, location) : undefined
      case 'started':
        if (record.kind === 'model') calls.start(record, location)
        if (record.kind === 'approval') questions.add(record.p)
        if (record.kind === 'file')
          addChange(
            fileChangeOf(
              record.p,
              valueAt(record.p, () => source.value(record.request)),
            ),
          )
        return start(tree.make(record.p), location)
      case 'process':
        return processes.start(record, location)
      case 'ended':
        processes.end(record)
        if (record.kind === 'model') calls.end(record, location)
        if (record.kind === 'approval' && record.status === 'ok') grants.push(...grantIn(source.value(record.value)))
        return end(tree.make(record.p), location, record.status === 'ok')
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
        return mark(record.k, location)
      case 'suspended':
        if (record.s === undefined) return
        calls.withdraw(record)
        return wait(tree.make(record.p))
      case 'seg':
        return processes.write(record.e, location)
      case 'failed':
    }
  }

  const lost: { readonly damage: Damage; readonly place: string | undefined }[] = []
  const torn = await source.scan((record, location, isLast) => {
    if (!accepts(record)) return
    const damage = repair === 'redo' ? damagedValue(record, source) : undefined
    if (damage !== undefined) return void lost.push({ damage, place: 'p' in record ? record.p : undefined })
    add(record, location, isLast)
    observe?.(record, location, tree)
  })
  const [damage] = torn
  if (damage !== undefined && repair === undefined) throw damaged(damage)
  const redone = new Set<string>()
  for (const { place } of lost) {
    const isDone = (at: string): boolean => isFinished(tree, at) || [...redone].some((part) => belongsTo(at, part))
    if (place === undefined || isDone(place)) continue
    const part = tree.boundaryAround(place) ?? place
    tree.reopen(part)
    redone.add(part)
  }
  return {
    tree,
    source,
    agentRuns,
    changedFiles,
    madeFiles,
    damages: [...torn, ...lost.map((one) => one.damage)],
    redone: [...redone],
    approvals: { places: [...questions], grants },
    records: (kind) => (marks.get(kind) ?? []).map((location) => source.at(location) as RecordOf<typeof kind>),
    modelCalls: () => calls.read(source),
    shows: (node) => showsBelow(node).map((location) => source.at(location)),
    processes: () => processes.read(source),
  }
}

/** What model calls at and below a place cost; without a place all of them. */
export function costBelow({ modelCalls }: RunIndex, place?: string): Required<Cost> {
  const sum = { calls: 0, tokens: 0, usd: 0 }
  for (const { place: at, cost } of modelCalls()) {
    if (place !== undefined && !belongsTo(at, place)) continue
    sum.calls += cost.calls
    sum.tokens += cost.tokens
    sum.usd += cost.usd
  }
  return sum
}

/** What is wrong with the first large value of a record that cannot be read as it was written. */
function damagedValue(record: JournalRecord, source: RecordSource): Damage | undefined {
  for (const field of Object.values(record as object) as readonly Json[]) {
    if (!isBlobReference(field)) continue
    const read = attempt(() => source.value(field))
    // a secret that is missing is no damage
    if (read.status === 'ok' || !isBatonError(read.error) || read.error.code !== 'JOURNAL_FAILED') continue
    const { place, message } = read.error
    return { file: place?.file ?? '', offset: 0, bytes: 0, reason: message }
  }
  return undefined
}

/** The request of a file change. Cassettes come from anywhere, and their checksums say nothing about who made them. */
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

/** A writer that was overtaken may have ended what a later one has begun again: what is paid is paid. */
function start(node: PlaceNode, location: Location): void {
  if (node.isOk === true) {
    node.restarted = location
    return
  }
  node.started = location
  delete node.answer
  delete node.ended
  delete node.waits
  delete node.choice
}

/** A writer that was overtaken may say so of what a later one has done. */
function wait(node: PlaceNode): void {
  if (node.started !== undefined && node.ended === undefined) node.waits = true
}

/** Of two good ends the later one counts: what came behind it followed from it. */
function end(node: PlaceNode, location: Location, isOk: boolean): void {
  if (node.isOk === true && !isOk) return
  if (node.restarted !== undefined) node.started = node.restarted
  delete node.restarted
  node.ended = location
  node.isOk = isOk
}

/** Adds what is known of an effect whose end is not; one that is to be done again counts as not started. */
export function choose(node: PlaceNode, choice: KnownEnd): void {
  if (choice === 'redo') forgetStart(node)
  else node.choice = choice
}

/** More numbers than an epoch has. */
const numberSpan = 2 ** 40

/** Keeps locations only: a run may have made a million calls. */
function createCallList() {
  /** Calls without an end, by epoch and number. */
  const open = new Map<number, Location>()
  /** Of each ended call its end and its start, which is 0 when that record was damaged. */
  const ended: Location[] = []
  return {
    start({ e, n }: RecordOf<'started'>, location: Location) {
      open.set(e * numberSpan + n, location)
    },
    end({ e, s }: RecordOf<'ended'>, location: Location) {
      const key = e * numberSpan + s
      ended.push(location, open.get(key) ?? 0)
      open.delete(key)
    },
    /** The call was never made. */
    withdraw({ e, s = 0 }: RecordOf<'suspended'>) {
      open.delete(e * numberSpan + s)
    },
    *read(source: RecordSource): Iterable<PaidCall> {
      for (let index = 0; index < ended.length; index += 2) {
        const [at = 0, start = 0] = ended.slice(index, index + 2)
        const record = source.at(at) as RecordOf<'ended'>
        const started = start === 0 ? undefined : (source.at(start) as RecordOf<'started'>)
        const spent = (source.value(record.spent) ?? []) as readonly Spent[]
        yield { place: record.p, spent, cost: costOf(record.cost, started?.estimate) }
      }
      for (const start of open.values()) {
        const started = source.at(start) as RecordOf<'started'>
        yield { place: started.p, spent: [], cost: costOf(undefined, started.estimate) }
      }
    },
  }
}

/** Keeps locations only: a run may have started a million processes. */
function createProcessList() {
  const writers = new Map<number, Location>()
  /** Those of effects without an end, by epoch and number, and those that stay. */
  const open = new Map<number, Location[]>()
  const staying: Location[] = []
  return {
    write: (epoch: number, location: Location) => void writers.set(epoch, location),
    start({ e, s, stays }: RecordOf<'process'>, location: Location) {
      if (stays === true) return void staying.push(location)
      const key = e * numberSpan + s
      open.set(key, [...(open.get(key) ?? []), location])
    },
    end: ({ e, s }: RecordOf<'ended'>) => void open.delete(e * numberSpan + s),
    /** A run that ends has ended what it started. */
    endAll() {
      open.clear()
      staying.length = 0
    },
    read: (source: RecordSource): readonly LeftProcess[] =>
      [...staying, ...[...open.values()].flat()].flatMap((location) => {
        const { e, p: place, pid, start } = source.at(location) as RecordOf<'process'>
        const writer = writers.get(e)
        return writer === undefined ? [] : [{ place, pid, start, writer: source.at(writer) as RecordOf<'seg'> }]
      }),
  }
}

/** As a run settles it: what is left out is not known, and counts as estimated. */
function costOf({ calls, tokens, usd }: Cost = {}, estimate: Estimate | undefined): Required<Cost> {
  if (calls !== undefined && tokens !== undefined && usd !== undefined) return { calls, tokens, usd }
  const wanted = wantedOf(estimate)
  const most = amountOf(wanted, wanted.output?.tokens ?? 0)
  return { calls: calls ?? most.calls, tokens: tokens ?? most.tokens, usd: usd ?? usdOf(most.nanos) }
}

/** What is damaged, in words. */
export function damageText({ file, offset, bytes, reason }: Damage): string {
  if (bytes === 0) return reason === 'missing' ? `${file} is missing` : reason
  return `${file} is damaged: ${bytes} bytes from byte ${offset} on are ${reason}`
}

function damaged(damage: Damage): BatonError {
  const { file } = damage
  return new BatonError('JOURNAL_FAILED', damageText(damage), {
    hint: 'Resume with --repair to continue without them: what they held is done again, and paid again.',
    place: { file },
  })
}
