import { isObject } from '../base/json.ts'
import type { Spent } from '../event/meter.ts'
import { isWithin, originOf, originText, parsePlace, type Place, placeAround, placeText } from '../event/place.ts'
import { isBlobReference } from '../journal/blobs.ts'
import { type JournalRecord, recordKey } from '../journal/record.ts'
import { createRunIndex, type RunIndex } from '../journal/run-index.ts'
import type { Damage } from '../journal/segment-reader.ts'
import { noMask } from '../journal/secrets.ts'
import { openFileRecords, type RecordSource } from '../journal/source.ts'
import { type Location, type PlaceNode, type PlaceTree, stepsBelow } from '../journal/tree.ts'
import { isOwnRead } from './boundary-kinds.ts'
import { addPaid, noPaid, type Paid } from './paid.ts'

type SharedField = 'begin' | 'done' | 'started' | 'ended' | 'isOk' | 'choice'

/** What a run recorded at one place, as far as it counts; values stay in the journal. */
export interface RunNode extends Readonly<{ [Field in SharedField]?: PlaceNode[Field] | undefined }> {
  readonly place: string
  /** Prints, pins and labels. */
  readonly shows: readonly Location[]
  /** How often each host function was called here, by name. */
  readonly uses: ReadonlyMap<string, number>
  /** The last host call that failed. */
  readonly failed?: Location | undefined
  /** Why the work of the newest process here did not finish. */
  readonly failure?: Failure | undefined
  /** Host calls by place; only kept on request. */
  readonly calls: ReadonlyMap<string, Location>
  /** The nodes below. Conversations are below the place that opened them. */
  readonly children: Map<string, RunNode>
  /** Number of finished nodes that were not kept. */
  readonly omitted: number
  /** What was paid at and below this place, including repetitions. */
  readonly paid: Paid
}

interface Failure {
  readonly epoch: number
  readonly location: Location
}

export interface ViewOptions {
  /** How many finished nodes are kept below each node; unfinished ones are always kept. */
  readonly most: number
  /** Keeps the location of each host call. */
  readonly keepsCalls?: boolean
  /** Keeps the index that a resume would start from: what it would ask or repeat. */
  readonly keepsOpen?: boolean
  /** Which places are nodes, if not all; the records of others are left out. */
  readonly keeps?: (place: string) => boolean
}

/** Keeps all nodes with their host calls. */
export const everything: ViewOptions = { most: Number.POSITIVE_INFINITY, keepsCalls: true }

/** What happened in a run, from its records. It keeps where values are, not the values. */
export interface RunView {
  /** Where the values are. */
  readonly source: RecordSource
  readonly root: RunNode
  /** The `run.start` record; undefined if the run was interrupted before it. */
  readonly start: Location | undefined
  /** The `source` records, in their order. */
  readonly sources: readonly SourceNote[]
  readonly breaks: readonly Break[]
  readonly gaps: readonly Gap[]
  /** Changes of files whose contents were kept, in their order, including those that were repeated later. */
  readonly changes: readonly ChangeNote[]
  /** The `show` records that may tell what became of changes in work trees, in their order. */
  readonly trees: readonly Location[]
  /** Number of damaged parts of the journal: what they contained is missing from the view. */
  readonly damages: number
  /** Empty unless requested. */
  readonly open: RunIndex
}

interface SourceNote {
  readonly name: string
  readonly path: string
  readonly location: Location
}

/** `ended` is missing if no record says how the change ended. */
interface ChangeNote {
  readonly started: Location
  readonly ended?: Location
}

/** No process worked on the run between the last record of one process and the first record of the next. */
interface Break {
  readonly last: Location
  readonly next: Location
}

/** Before this record its process did not work for a while, or its clock was set: see `gap` of the records. */
interface Gap {
  readonly location: Location
  readonly ms: number
}

/** What is known of a node beyond what the index keeps. A place that starts again gets a new node. */
interface Notes {
  readonly uses: Map<string, number>
  readonly calls: Map<string, Location>
  failed?: Location
  failure?: Failure
  kept: number
  omitted: number
}

/** A view to which records are added one by one, in their order. */
interface GrowingView {
  /** `isLast`: no later process has added to the run. */
  readonly follow: (record: JournalRecord, location: Location, isLast: boolean) => void
  /** What happened so far. `torn`: the damaged parts between the records. */
  readonly view: (torn: readonly Damage[]) => RunView
}

/** Reads the view of a run from all its records. What a later process repeated replaces the old version. */
export async function project(source: RecordSource, options: ViewOptions): Promise<RunView> {
  const { follow, view } = createRunView(source, options)
  return view(await source.scan(follow))
}

/** Reads the view of the run in a folder, in which secrets have their names, and what is shown of it. */
export async function withView<T>(
  folder: string,
  options: ViewOptions,
  show: (view: RunView) => T | Promise<T>,
): Promise<T> {
  const source = openFileRecords(folder, { mask: noMask })
  try {
    return await show(await project(source, options))
  } finally {
    source.close()
  }
}

/** The view of a run without records. `source` reads the few values that the view depends on. */
export function createRunView(source: RecordSource, options: ViewOptions): GrowingView {
  const { keeps, keepsOpen = false } = options
  const sources: SourceNote[] = []
  const breaks: Break[] = []
  const gaps: Gap[] = []
  const changes: ChangeNote[] = []
  const trees: Location[] = []
  const notes = createNotes(options, source)
  let start: Location | undefined
  /** The last change of a file, until it has ended. */
  let changing: number | undefined
  let latest: { readonly epoch: number; readonly location: Location } | undefined
  const index = createRunIndex(source, {
    keeps: 'everything',
    repair: 'skip',
    accepts(record) {
      // an effect that will be repeated is shown in its old state until it starts again
      if (record.k === 'choice' && record.choice === 'redo') return false
      return keeps === undefined || !('p' in record) || keeps(record.p)
    },
    observe(record, location, tree) {
      if (latest !== undefined && latest.epoch !== record.e) breaks.push({ last: latest.location, next: location })
      latest = { epoch: record.e, location }
      if (record.k === 'run.start') start ??= location
      else if (record.k === 'gap') gaps.push({ location, ms: record.ms })
      else if (record.k === 'source') sources.push({ name: record.name, path: record.path, location })
      else if ('p' in record) notes.add(record, location, tree)
    },
  })

  /** Changes are made one after the other. */
  function addChange(record: JournalRecord, location: Location): void {
    if (record.k === 'started' && record.kind === 'file' && record.kept !== undefined) {
      changing = recordKey(record.e, record.n)
      changes.push({ started: location })
    } else if (record.k === 'ended' && changing === recordKey(record.e, record.s)) {
      changing = undefined
      changes.push({ ...(changes.pop() as ChangeNote), ended: location })
    }
  }

  function addTree(record: JournalRecord, location: Location): void {
    if (record.k !== 'show') return
    const { event } = record
    // a large one is read by whoever asks
    const type = isObject(event) && typeof event['type'] === 'string' ? event['type'] : ''
    if (type.startsWith('isolation.') || isBlobReference(event)) trees.push(location)
  }

  const open = createRunIndex(source, { keeps: 'unfinished', repair: 'skip' })
  return {
    follow(record, location, isLast) {
      index.add(record, location, isLast)
      addChange(record, location)
      addTree(record, location)
      if (keepsOpen) open.add(record, location, isLast)
    },
    view: (torn) => ({
      source,
      root: notes.view(index.tree),
      start,
      sources,
      breaks,
      gaps,
      changes,
      trees,
      damages: torn.length,
      open: open.index(torn),
    }),
  }
}

type PlacedRecord = Extract<JournalRecord, { readonly p: string }>

/** The tool call that a place is inside of, as a place. */
function toolAround(place: string): string | undefined {
  return /^(.*\/tool\/\d+:[^/#]+)[/#]/.exec(place)?.[1]
}

function createNotes({ most, keepsCalls = false }: ViewOptions, source: RecordSource) {
  const notes = new WeakMap<PlaceNode, Notes>()
  /** By place in origin form: what was paid stays paid if a place starts again. */
  const paid = new Map<string, Paid>()
  /** The places of all failures. */
  const failed = new Set<string>()
  /** Tool calls, with their names, that have read something and are not recorded themselves yet. */
  const looked = new Set<string>()

  function of(node: PlaceNode): Notes {
    const known = notes.get(node)
    if (known !== undefined) return known
    const made: Notes = { uses: new Map(), calls: new Map(), kept: 0, omitted: 0 }
    notes.set(node, made)
    return made
  }

  /** Of many finished parts, only the first are kept. */
  function finish(tree: PlaceTree, place: string): void {
    const parent = tree.find(placeAround(place)) ?? tree.root
    const counted = of(parent)
    counted.kept += 1
    if (counted.kept <= most) return
    counted.omitted += 1
    tree.drop(place)
    paid.delete(place)
  }

  /** While a later process works on a part again, its outcome is open. */
  function forgetFailures(tree: PlaceTree, { e, p }: PlacedRecord): void {
    if (failed.size === 0) return
    for (let place = p; place !== ''; place = placeAround(place)) {
      const node = failed.has(place) ? tree.find(place) : undefined
      const known = node && notes.get(node)
      if (known?.failure !== undefined && known.failure.epoch < e) delete known.failure
    }
  }

  function pay(place: Place, spent: readonly Spent[]): void {
    for (let length = 0; length <= place.length; length += 1) {
      const key = placeText(place.slice(0, length))
      paid.set(key, spent.reduce(addPaid, paid.get(key) ?? noPaid))
    }
  }

  /** A host call, or another read, counts at the innermost boundary. */
  function use(
    tree: PlaceTree,
    record: Extract<PlacedRecord, { readonly k: 'obs' | 'call' }>,
    location: Location,
  ): void {
    const { p, name, status } = record
    const boundary = boundaryAround(tree, p)
    const known = of((boundary === undefined ? undefined : tree.find(boundary)) ?? tree.root)
    // a tool call is recorded as a whole after its own reads of the same name
    const isCounted = record.k === 'call' && looked.delete(`${p}\n${name}`)
    if (!isOwnRead(name) && !p.endsWith('/plan') && !isCounted) known.uses.set(name, (known.uses.get(name) ?? 0) + 1)
    const tool = record.k === 'obs' ? toolAround(p) : undefined
    if (tool !== undefined) looked.add(`${tool}\n${name}`)
    if (keepsCalls) known.calls.set(p, location)
    if (status !== 'ok') known.failed = location
  }

  function nodeOf(node: PlaceNode, at?: string): RunNode {
    const place = at ?? ''
    const { uses = none, calls = none, omitted = 0, failed, failure } = notes.get(node) ?? {}
    const { begin, done, started, ended, isOk, choice, shows = [] } = node
    const children = new Map<string, RunNode>()
    for (const [step, below] of stepsBelow(node, at)) {
      if (typeof below === 'object') children.set(step.slice(place.length), nodeOf(below, step))
    }
    // in one literal: copies of objects with large numbers are slow
    return {
      place,
      begin,
      done,
      started,
      ended,
      isOk,
      choice,
      failed,
      failure,
      shows,
      uses,
      calls,
      children,
      omitted,
      paid: paid.get(originText(place)) ?? noPaid,
    }
  }

  return {
    add(record: PlacedRecord, location: Location, tree: PlaceTree): void {
      forgetFailures(tree, record)
      switch (record.k) {
        case 'done':
          return finish(tree, record.p)
        case 'failed':
        case 'suspended':
          of(tree.make(record.p)).failure = { epoch: record.e, location }
          failed.add(record.p)
          return
        case 'ended': {
          if (record.spent !== undefined)
            pay(originOf(parsePlace(record.p)), source.value(record.spent) as readonly Spent[])
          if (record.status === 'ok') finish(tree, record.p)
          return
        }
        case 'choice':
          if (record.choice !== 'fail' && record.choice !== 'tell') finish(tree, record.p)
          return
        case 'obs':
        case 'call':
          return use(tree, record, location)
        case 'begin':
        case 'started':
        case 'process':
        case 'show':
        case 'use':
        case 'prompt':
        case 'undo':
        case 'again':
      }
    },
    /** The nodes of a tree; those of its root contain all others. */
    view(tree: PlaceTree): RunNode {
      const root = nodeOf(tree.root)
      moveConversations(root, root)
      return root
    },
  }
}

const none: ReadonlyMap<string, number> = new Map()

function boundaryAround(tree: PlaceTree, place: string): string | undefined {
  for (let at = originText(place); at !== ''; at = placeAround(at)) if (tree.find(at)?.begin !== undefined) return at
  return undefined
}

/** Moves conversations to where they were opened, if that place is in the tree. */
function moveConversations(node: RunNode, root: RunNode): void {
  for (const below of node.children.values()) moveConversations(below, root)
  if (!/(?:^|\/)agent$/.test(node.place)) return
  for (const [name, conversation] of node.children) {
    const origin = originText(conversation.place)
    const opener = origin === conversation.place ? undefined : nearestNode(root, origin)
    if (opener === undefined || isWithin(node.place, opener.place)) continue
    node.children.delete(name)
    opener.children.set(`/agent${name}`, conversation)
  }
}

/** The innermost node that contains a place. */
function nearestNode(node: RunNode, place: string): RunNode {
  const [step = ''] = /^[/#]?[^/#]+/.exec(place.slice(node.place.length)) ?? []
  const below = node.children.get(step)
  return below === undefined ? node : nearestNode(below, place)
}

/** The node of a place at or below a node; undefined if there are no records of it. */
export function findNode(node: RunNode, place: string): RunNode | undefined {
  if (node.place === place) return node
  for (const below of node.children.values()) {
    const found = findNode(below, place)
    if (found !== undefined) return found
  }
  return undefined
}

/** A node and all below it, outer ones first. */
export function* nodesIn(node: RunNode): Generator<RunNode> {
  yield node
  for (const below of node.children.values()) yield* nodesIn(below)
}
