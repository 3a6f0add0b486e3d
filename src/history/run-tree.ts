import { isObject } from '../base/json.ts'
import { isAround, type Location, namesOf, placeOfNames } from '../journal/place-tree.ts'
import type { RecordSource } from '../journal/run-index.ts'
import type { Head } from '../journal/head.ts'
import { addPaid, noPaid, type Paid } from './paid.ts'

/** What a run recorded at one place; values stay in the journal. */
export interface Part {
  readonly place: string
  begin?: Location
  done?: Location
  /** An effect: a model call, a command, a file change. */
  started?: Location
  ended?: Location
  /** Whether `ended` is the end of something that was done. */
  isOk?: boolean
  /** What a person or the disk has said of an effect without an end that counts. */
  choice?: 'found' | 'done' | 'fail'
  /** Prints, pins and labels. */
  shows: Location[]
  /** How often each host function was called here, by its name. */
  readonly uses: Map<string, number>
  /** The last host call that failed. */
  failed?: Location
  /** Why the work of the newest process that was at it came to no end. */
  failure?: { readonly epoch: number; readonly location: Location }
  /** Host calls by the rest of their place; only kept when asked for. */
  readonly answers: Map<string, Location>
  readonly parts: Map<string, Part>
  /** Finished parts that were not kept. */
  omitted: number
  kept: number
  /** What was paid at and below this place, also for what was done again. */
  paid: Paid
}

export interface TreeOptions {
  /** How many finished parts of each part are kept; those that are not finished always are. */
  readonly most: number
  /** Keeps where each host call is recorded. */
  readonly keepsAnswers: boolean
  /** Only what is at, below and around this place. */
  readonly within?: string
}

export interface RunTree {
  readonly root: Part
  /** `source` records, by the name of the source. */
  readonly sources: ReadonlyMap<string, Location>
  readonly breaks: readonly Break[]
  /** Damaged parts of the journal: what they held is not in the tree. */
  readonly damages: number
}

/** Nobody worked on the run from the last record of a process to the first one of the next. */
export interface Break {
  readonly last: Location
  readonly next: Location
}

/** Reads a journal into a tree of places without keeping values. What a later process did afresh takes the old place. */
export async function readTree(source: RecordSource, options: TreeOptions): Promise<RunTree> {
  const root = emptyPart('')
  const sources = new Map<string, Location>()
  const breaks: Break[] = []
  let latest: { readonly epoch: number; readonly location: Location } | undefined
  const damages = await source.scan((head, location) => {
    if (latest !== undefined && latest.epoch !== head.e) breaks.push({ last: latest.location, next: location })
    latest = { epoch: head.e, location }
    if (head.k === 'source') {
      const record = source.at(location)
      if (record.k === 'source') sources.set(record.name, location)
    } else if (head.p !== '' && isWanted(head.p, options.within)) note(root, { head, location, source, options })
  })
  return { root, sources, breaks, damages: damages.length }
}

function isWanted(place: string, within: string | undefined): boolean {
  return within === undefined || isAround(place, within) || isAround(within, place)
}

function emptyPart(place: string): Part {
  return {
    place,
    shows: [],
    uses: new Map(),
    answers: new Map(),
    parts: new Map(),
    omitted: 0,
    kept: 0,
    paid: noPaid,
  }
}

interface Noted {
  readonly head: Head
  readonly location: Location
  readonly source: RecordSource
  readonly options: TreeOptions
}

function note(root: Part, noted: Noted): void {
  const { head, location, source, options } = noted
  forgetFailures(root, head)
  switch (head.k) {
    case 'begin': {
      const path = pathTo(root, head.p)
      for (const part of path) delete part.done
      const part = lastOf(path, root)
      clear(part)
      part.begin = location
      return
    }
    case 'done': {
      const path = pathTo(root, head.p)
      const part = lastOf(path, root)
      part.done = location
      delete part.failure
      return finish(path, root, options)
    }
    case 'failed':
      lastOf(pathTo(root, head.p), root).failure = { epoch: head.e, location }
      return
    case 'started': {
      const part = lastOf(pathTo(root, head.p), root)
      if (part.isOk === true) return
      part.started = location
      delete part.ended
      delete part.choice
      return
    }
    case 'ended': {
      const path = pathTo(root, head.p)
      const part = lastOf(path, root)
      if (head.rest.includes('"kind":"model"')) pay([root, ...path], location, source)
      if (part.isOk === true) return
      part.ended = location
      part.isOk = head.rest.includes(',"status":"ok"')
      if (part.isOk) finish(path, root, options)
      return
    }
    case 'choice': {
      const choice = /"choice":"(done|fail|found)"/.exec(head.rest)?.[1] as Part['choice']
      // what is to be done again begins again
      if (choice === undefined) return
      const path = pathTo(root, head.p)
      lastOf(path, root).choice = choice
      if (choice !== 'fail') finish(path, root, options)
      return
    }
    case 'show':
      lastOf(pathTo(root, head.p), root).shows.push(location)
      return
    case 'obs':
    case 'call':
      return use(root, noted)
  }
}

/** Where a later process is at work again it is open how that ends. */
function forgetFailures(root: Part, { e, p }: Head): void {
  let part: Part | undefined = root
  for (const name of namesOf(p)) {
    part = part.parts.get(name)
    if (part === undefined) return
    if (part.failure !== undefined && part.failure.epoch < e) delete part.failure
  }
}

/** The parts on the way to a place, made when missing. */
function pathTo(root: Part, place: string): readonly Part[] {
  const names = namesOf(place)
  const path: Part[] = []
  let part = root
  for (const [index, name] of names.entries()) {
    let next = part.parts.get(name)
    if (next === undefined) {
      next = emptyPart(placeOfNames(names.slice(0, index + 1)))
      part.parts.set(ownText(name), next)
    }
    path.push(next)
    part = next
  }
  return path
}

function lastOf(path: readonly Part[], root: Part): Part {
  return path.at(-1) ?? root
}

function clear(part: Part): void {
  for (const field of ['begin', 'done', 'started', 'ended', 'isOk', 'choice', 'failed', 'failure'] as const) {
    delete part[field]
  }
  part.shows = []
  part.uses.clear()
  part.answers.clear()
  part.parts.clear()
  part.omitted = 0
  part.kept = 0
}

/** Of many finished parts only the first are kept. */
function finish(path: readonly Part[], root: Part, { most }: TreeOptions): void {
  const part = path.at(-1)
  const parent = path.at(-2) ?? root
  if (part === undefined) return
  parent.kept += 1
  if (parent.kept <= most) return
  parent.parts.delete(namesOf(part.place).at(-1) ?? '')
  parent.omitted += 1
}

function pay(path: readonly Part[], location: Location, source: RecordSource): void {
  const record = source.at(location)
  const used = record.k === 'ended' ? source.value(record.used) : undefined
  if (!isObject(used)) return
  for (const part of path) part.paid = addPaid(part.paid, used)
}

/** What Baton itself notes to make runs alike; nobody called it. */
const ownNames: ReadonlySet<string> = new Set(['run.number', 'math.randomseed'])

/** A host call, or something else that was read, counts where the innermost boundary is. */
function use(root: Part, { head, location, source, options }: Noted): void {
  const part = boundaryOf(root, head.p)
  const name = /,"name":"([^"\\]*)"/.exec(head.rest)?.[1] ?? 'something'
  if (!ownNames.has(name)) part.uses.set(ownText(name), (part.uses.get(name) ?? 0) + 1)
  if (options.keepsAnswers) part.answers.set(ownText(head.p), location)
  if (hasFailed(head.rest, location, source)) part.failed = location
}

/** The same text without the record it was cut from, which V8 would keep in memory as long. */
function ownText(part: string): string {
  return Buffer.from(part).toString()
}

function hasFailed(rest: string, location: Location, source: RecordSource): boolean {
  // arguments and results may hold the same words
  const seen = [...rest.matchAll(/"status":"(ok|error|cancelled)"/g)]
  const first = seen.length === 1 ? seen[0]?.[1] : undefined
  if (first === 'ok') return false
  const record = source.at(location)
  return (record.k === 'obs' || record.k === 'call') && record.status !== 'ok'
}

function boundaryOf(root: Part, place: string): Part {
  let part: Part | undefined = root
  let found = root
  for (const name of namesOf(place)) {
    part = part.parts.get(name)
    if (part === undefined) break
    if (part.begin !== undefined) found = part
  }
  return found
}
