import { BatonError } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import type { Head } from './head.ts'
import { createCallList, type RecordedCall } from './call-list.ts'
import type { JournalRecord, UncertainChoice } from './record.ts'
import { forgetStart, lastReturned, type Location, type PlaceNode, showsBelow } from './place-node.ts'
import { createPlaceTree, isAround, type PlaceTree } from './place-tree.ts'

/** The records of a run as an index needs them: heads in the order of (epoch, number), single ones on demand. */
export interface RecordSource {
  /** Visits each record; `isLast` tells that no later writer has added to the run. Gives the damaged parts. */
  scan(visit: (head: Head, location: Location, isLast: boolean) => void): Promise<readonly Damage[]>
  /** One record, parsed. Synchronous, because observations are. */
  at(location: Location): JournalRecord
  /** The value a field stands for: blobs fetched, secrets put back. */
  value(field: Json | undefined): unknown
  close(): void
}

/** A damaged part with good records behind it. */
export interface Damage {
  readonly file: string
  readonly offset: number
  readonly bytes: number
  readonly reason: string
}

export interface IndexOptions {
  /**
   * `resume`: what a finished boundary holds is forgotten, because nobody will ask for it. `from`: but for those around
   * this place, which is to be done afresh.
   */
  readonly use: { readonly kind: 'resume'; readonly from?: string } | { readonly kind: 'everything' }
  /** Goes on where records are damaged: what they held is done again. Otherwise damage is an error. */
  readonly repair?: boolean
}

export interface RunIndex {
  readonly tree: PlaceTree
  readonly source: RecordSource
  /** Records about the run as a whole, in order. */
  readonly records: (kind: 'run.start' | 'run.resume' | 'source' | 'run.end' | 'use') => readonly JournalRecord[]
  /** Every model call that was ever begun, also where its boundary has begun again: ended ones first. One at a time. */
  readonly modelCalls: () => Iterable<RecordedCall>
  /** The events shown below a boundary that is read back. */
  readonly shows: (node: PlaceNode) => readonly JournalRecord[]
  /** Files that the run itself began to change, as records name them. */
  readonly changedFiles: ReadonlySet<string>
  /** How many runs of script agents have a number. */
  readonly agentRuns: number
  readonly damages: readonly Damage[]
}

/**
 * Reads what a run has recorded into a tree of places, without keeping values (spec/engines.md D3, DESIGN 11).
 * @throws BatonError JOURNAL_FAILED for damage within a file, unless it is to be repaired
 */
export async function indexRun(source: RecordSource, { use, repair = false }: IndexOptions): Promise<RunIndex> {
  const tree = createPlaceTree()
  const marks = new Map<string, Location[]>()
  const calls = createCallList()
  const shownBy = new WeakMap<PlaceNode, number>()
  const changedFiles = new Set<string>()
  let agentRuns = 0

  function mark(kind: string, location: Location): void {
    const list = marks.get(kind)
    if (list === undefined) marks.set(kind, [location])
    else list.push(location)
  }

  /** Shows of which the call was lost with the process are shown again by the next one. */
  function noteShow(
    node: PlaceNode,
    { epoch, location }: { readonly epoch: number; readonly location: Location },
  ): void {
    const isLater = (shownBy.get(node) ?? epoch) < epoch
    if (isLater) {
      const end = lastReturned(node)
      node.shows = node.shows?.filter((one) => one < end) ?? []
    }
    node.shows ??= []
    node.shows.push(location)
    shownBy.set(node, epoch)
  }

  function finish(place: string, location: Location, isLast: boolean): void {
    const node = tree.make(place)
    node.done = location
    if (use.kind === 'everything' || !isLast) return
    if (use.from !== undefined && isAround(place, use.from)) return
    tree.prune(place)
  }

  function noteChanged(rest: string): void {
    if (!rest.startsWith(',"kind":"file"')) return
    for (const [, path] of rest.matchAll(changedPath)) changedFiles.add(JSON.parse(`"${path}"`) as string)
  }

  const damages = await source.scan(({ e, n, k, p, rest }, location, isLast) => {
    switch (k) {
      case 'begin':
        tree.reopen(p)
        tree.make(p).begin = location
        return
      case 'done':
        return finish(p, location, isLast)
      case 'obs':
        if (rest.startsWith(',"name":"run.number"')) agentRuns += 1
        return tree.setAnswer(p, location)
      case 'call':
        return tree.setReturned(p, location)
      case 'started':
        calls.start({ e, n, rest }, location)
        noteChanged(rest)
        return start(tree.make(p), location)
      case 'ended':
        calls.end({ e, rest }, location)
        return end(tree.make(p), { location, rest })
      case 'choice':
        return choose(tree.make(p), /"choice":"(redo|done|fail|found)"/.exec(rest)?.[1] as Choice)
      case 'show':
        return noteShow(tree.make(p), { epoch: e, location })
      case 'run.start':
      case 'run.resume':
      case 'source':
      case 'run.end':
      case 'use':
        return mark(k, location)
    }
  })
  const [damage] = damages
  if (damage !== undefined && !repair) throw damaged(damage)
  return {
    tree,
    source,
    agentRuns,
    changedFiles,
    damages,
    records: (kind) => (marks.get(kind) ?? []).map((location) => source.at(location)),
    modelCalls: () => calls.read(source),
    shows: (node) => showsBelow(node).map((location) => source.at(location)),
  }
}

/** The paths in the request of a file change, as JSON writes them. */
const changedPath = /"(?:path|from|to)":"((?:[^"\\]|\\.)*)"/g

/** A writer that was overtaken may have ended what a later one has begun again: what is paid is paid. */
function start(node: PlaceNode, location: Location): void {
  if (node.isOk === true) {
    node.restarted = location
    return
  }
  node.started = location
  delete node.answer
  delete node.ended
  delete node.choice
}

/** Of two good ends the later one counts: what came behind it followed from it. */
function end(node: PlaceNode, { location, rest }: { readonly location: Location; readonly rest: string }): void {
  const isOk = rest.includes(',"status":"ok"')
  if (node.isOk === true && !isOk) return
  if (node.restarted !== undefined) node.started = node.restarted
  delete node.restarted
  node.ended = location
  node.isOk = isOk
}

type Choice = UncertainChoice | 'found' | undefined

/** Notes what is known of an effect whose end was not; one that is to be done again was never begun. */
export function choose(node: PlaceNode, choice: Choice): void {
  if (choice !== 'redo') {
    if (choice !== undefined) node.choice = choice
    return
  }
  forgetStart(node)
}

function damaged({ file, offset, bytes, reason }: Damage): BatonError {
  return new BatonError('JOURNAL_FAILED', `${file} is damaged: ${bytes} bytes from byte ${offset} on are ${reason}`, {
    hint: 'Resume with --repair to go on without them: what they held is done again, and paid again.',
    place: { file },
  })
}
