import type { Spent } from '../event/meter.ts'
import { isWithin, originOf, parsePlace, type Place, placeText } from '../event/place.ts'
import type { JournalRecord } from '../journal/record.ts'
import { indexRun } from '../journal/run-index.ts'
import type { RecordSource } from '../journal/source.ts'
import { belongsTo, type Location, type PlaceNode, type PlaceTree, stepsBelow } from '../journal/tree.ts'

/** What a run recorded at one place; values stay in the journal. */
export interface Part extends Pick<PlaceNode, 'begin' | 'done' | 'started' | 'ended' | 'isOk' | 'choice'> {
  readonly place: string
  /** Prints, pins and labels. */
  readonly shows: readonly Location[]
  /** How often each host function was called here, by name. */
  readonly uses: ReadonlyMap<string, number>
  /** The last host call that failed. */
  readonly failed?: Location
  /** Why the work of the newest process here did not finish. */
  readonly failure?: Failure
  /** Host calls by place; only kept on request. */
  readonly answers: ReadonlyMap<string, Location>
  /** The parts below. Conversations are below the place that opened them. */
  readonly parts: Map<string, Part>
  /** Number of finished parts that were not kept. */
  readonly omitted: number
  /** What was paid at and below this place, including repetitions. */
  readonly paid: Paid
}

interface Failure {
  readonly epoch: number
  readonly location: Location
}

export interface TreeOptions {
  /** How many finished parts are kept below each part; unfinished ones are always kept. */
  readonly most: number
  /** Keeps the location of each host call. */
  readonly keepsAnswers: boolean
  readonly within?: string
}

export interface RunTree {
  readonly root: Part
  /** `source` records, by the name of the source. */
  readonly sources: ReadonlyMap<string, Location>
  readonly breaks: readonly Break[]
  /** Number of damaged parts of the journal: what they contained is missing from the tree. */
  readonly damages: number
}

/** No process worked on the run between the last record of one process and the first record of the next. */
export interface Break {
  readonly last: Location
  readonly next: Location
}

/** What is known of a node beyond what the index keeps. A place that starts again gets a new node. */
interface Notes {
  readonly uses: Map<string, number>
  readonly answers: Map<string, Location>
  failed?: Location
  failure?: Failure
  kept: number
  omitted: number
}

/**
 * Reads a journal into a tree of places without keeping values. What a later process repeated replaces the old version.
 */
export async function readTree(source: RecordSource, options: TreeOptions): Promise<RunTree> {
  const { within } = options
  const sources = new Map<string, Location>()
  const breaks: Break[] = []
  const noted = createNotes(options)
  let latest: { readonly epoch: number; readonly location: Location } | undefined
  const { tree, damages } = await indexRun(source, {
    keeps: 'everything',
    repair: 'skip',
    accepts(record) {
      // an effect that will be repeated is shown in its old state until it starts again
      if (record.k === 'choice' && record.choice === 'redo') return false
      return within === undefined || !('p' in record) || belongsTo(record.p, within) || isWithin(within, record.p)
    },
    observe(record, location, tree) {
      if (latest !== undefined && latest.epoch !== record.e) breaks.push({ last: latest.location, next: location })
      latest = { epoch: record.e, location }
      if (record.k === 'source') sources.set(record.name, location)
      else if ('p' in record) noted.add(record, location, { tree, source })
    },
  })
  return { root: noted.view(tree), sources, breaks, damages: damages.length }
}

type PlacedRecord = Extract<JournalRecord, { readonly p: string }>

/** Observations that Baton itself makes for reproducibility, or before it changes something; no script called them. */
const ownNames: ReadonlySet<string> = new Set([
  'run.number',
  'math.randomseed',
  'inbox',
  'inbox.next',
  'mail',
  'program.calls',
  'worktree.closed',
])
const ownParts = /^(?:iterate|ensemble)\./

/** Whether it was read only to plan or show a change. */
function isOwn({ name, p }: Pick<PlacedRecord & { readonly name: string }, 'name' | 'p'>): boolean {
  return ownNames.has(name) || ownParts.test(name) || p.endsWith('/plan')
}

/** The tool call that a place is inside of, as a place. */
function toolAround(place: string): string | undefined {
  return /^(.*\/tool\/\d+:[^/#]+)[/#]/.exec(place)?.[1]
}

function createNotes({ most, keepsAnswers }: TreeOptions) {
  const notes = new WeakMap<PlaceNode, Notes>()
  /** By place in origin form: what was paid stays paid if a place starts again. */
  const paid = new Map<string, Paid>()
  /** Tool calls, with their names, that have read something and are not recorded themselves yet. */
  const looked = new Set<string>()

  function of(node: PlaceNode): Notes {
    const known = notes.get(node)
    if (known !== undefined) return known
    const made: Notes = { uses: new Map(), answers: new Map(), kept: 0, omitted: 0 }
    notes.set(node, made)
    return made
  }

  /** Of many finished parts, only the first are kept. */
  function finish(tree: PlaceTree, place: string): void {
    const parent = tree.find(parentOf(place)) ?? tree.root
    const counted = of(parent)
    counted.kept += 1
    if (counted.kept <= most) return
    counted.omitted += 1
    tree.drop(place)
    paid.delete(place)
  }

  /** While a later process works on a part again, its outcome is open. */
  function forgetFailures(tree: PlaceTree, { e, p }: PlacedRecord): void {
    for (let place = p; place !== ''; place = parentOf(place)) {
      const node = tree.find(place)
      const known = node && notes.get(node)
      if (known?.failure !== undefined && known.failure.epoch < e) delete known.failure
    }
  }

  function pay(place: Place, spent: Spent): void {
    for (let length = 0; length <= place.length; length += 1) {
      const key = placeText(place.slice(0, length))
      paid.set(key, addPaid(paid.get(key) ?? noPaid, spent))
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
    if (!isOwn(record) && !isCounted) known.uses.set(name, (known.uses.get(name) ?? 0) + 1)
    const tool = record.k === 'obs' ? toolAround(p) : undefined
    if (tool !== undefined) looked.add(`${tool}\n${name}`)
    if (keepsAnswers) known.answers.set(p, location)
    if (status !== 'ok') known.failed = location
  }

  /** The part of a node; without a place, that of the run. */
  function partOf(node: PlaceNode, at?: string): Part {
    const place = at ?? ''
    const { uses = none, answers = none, omitted = 0, failed, failure } = notes.get(node) ?? {}
    const { begin, done, started, ended, isOk, choice, shows = [] } = node
    const parts = new Map<string, Part>()
    for (const [step, below] of stepsBelow(node, at)) {
      if (typeof below === 'object') parts.set(step.slice(place.length), partOf(below, step))
    }
    const fields = { begin, done, started, ended, isOk, choice, failed, failure }
    const known = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
    return { ...known, place, shows, uses, answers, parts, omitted, paid: paid.get(originText(place)) ?? noPaid }
  }

  return {
    add(
      record: PlacedRecord,
      location: Location,
      { tree, source }: { readonly tree: PlaceTree; readonly source: RecordSource },
    ): void {
      forgetFailures(tree, record)
      switch (record.k) {
        case 'done':
          return finish(tree, record.p)
        case 'failed':
        case 'suspended':
          of(tree.make(record.p)).failure = { epoch: record.e, location }
          return
        case 'ended': {
          const spent = (source.value(record.spent) ?? []) as readonly Spent[]
          for (const one of spent) pay(originOf(parsePlace(record.p)), one)
          if (record.status === 'ok') finish(tree, record.p)
          return
        }
        case 'choice':
          if (record.choice !== 'fail') finish(tree, record.p)
          return
        case 'obs':
        case 'call':
          return use(tree, record, location)
        case 'begin':
        case 'started':
        case 'process':
        case 'show':
        case 'use':
        case 'undo':
        case 'again':
      }
    },
    view(tree: PlaceTree): Part {
      const root = partOf(tree.root)
      moveConversations(root, root)
      return root
    },
  }
}

const none: ReadonlyMap<string, number> = new Map()

function originText(place: string): string {
  return place.includes('agent/') ? placeText(originOf(parsePlace(place))) : place
}

/** The enclosing place; empty for the run. */
function parentOf(place: string): string {
  return place.slice(0, Math.max(0, place.lastIndexOf('/'), place.lastIndexOf('#')))
}

function boundaryAround(tree: PlaceTree, place: string): string | undefined {
  if (place.includes('agent/')) return tree.boundaryAround(place)
  for (let at = place; at !== ''; at = parentOf(at)) if (tree.find(at)?.begin !== undefined) return at
  return undefined
}

/** Moves conversations to where they were opened, if that place is in the tree. */
function moveConversations(part: Part, root: Part): void {
  for (const below of part.parts.values()) moveConversations(below, root)
  if (!/(?:^|\/)agent$/.test(part.place)) return
  for (const [name, conversation] of part.parts) {
    const origin = originText(conversation.place)
    const opener = origin === conversation.place ? undefined : nearestPart(root, origin)
    if (opener === undefined || isWithin(part.place, opener.place)) continue
    part.parts.delete(name)
    opener.parts.set(`/agent${name}`, conversation)
  }
}

/** The innermost part that contains a place. */
function nearestPart(part: Part, place: string): Part {
  for (const below of part.parts.values()) if (isWithin(place, below.place)) return nearestPart(below, place)
  return part
}

/** A part of a tree by place; undefined if there are no records of it. */
export function findPart(part: Part, place: string): Part | undefined {
  if (part.place === place) return part
  for (const below of part.parts.values()) {
    const found = findPart(below, place)
    if (found !== undefined) return found
  }
  return undefined
}

/** Totals of model calls. `usd` is null if there were calls and a price is unknown. */
export interface Paid {
  readonly calls: number
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly estimated?: true
  readonly usd: number | null
  readonly models: readonly string[]
}

export const noPaid: Paid = { calls: 0, input: 0, output: 0, cached: 0, usd: 0, models: [] }

/** Adds the usage of a model call. */
export function addPaid(paid: Paid, { model, usage, costUsd }: Spent): Paid {
  return {
    calls: paid.calls + usage.calls,
    input: paid.input + usage.input,
    output: paid.output + usage.output,
    cached: paid.cached + usage.cached,
    ...(paid.estimated === true || usage.estimated === true ? { estimated: true } : {}),
    usd: costUsd === null ? (paid.calls === 0 ? null : paid.usd) : (paid.usd ?? 0) + costUsd,
    models: paid.models.includes(model) ? paid.models : [...paid.models, model],
  }
}
