import type { KnownEnd } from './record.ts'
import { conversationName, conversationPlace, isWithin, originOf, parsePlace, placeText } from '../event/place.ts'

/** Where a record is: its file and byte, as one number that grows in the order of writing. */
export type Location = number

/** A place with one answer and nothing else, as most are: its location, negative for a call that has returned. */
export type Leaf = Location

/** What the disk says about a file change without a recorded end. */
export type ChangeState = 'before' | 'after' | 'neither'

/**
 * What the records of a run say about one place. Leaves are stored as numbers, because a run may have a million of
 * them.
 */
export interface PlaceNode {
  parts?: Map<string, PlaceNode | Leaf>
  /** The calls of a section, by number. */
  calls?: (PlaceNode | Leaf | undefined)[]
  begin?: Location
  done?: Location
  /** How a boundary ended whose work a resumed run repeats. */
  doneAgain?: Location
  /** An `obs` record. */
  answer?: Location
  /** A `call` record: everything else at and below the place is what the call did. */
  returned?: Location
  started?: Location
  ended?: Location
  /** A later start than that of `ended`, which is the end of an effect that was done. */
  restarted?: Location
  /** Whether `ended` is the end of an effect that was done. */
  isOk?: boolean
  /** The effect was suspended: nothing of it has happened. */
  waits?: true
  /** What is known or was decided about an effect without an end. */
  choice?: Exclude<KnownEnd, 'redo'>
  /** What was done at and below the place was undone, or will be: errors there are answers. */
  isUndone?: true
  shows?: Location[]
}

/** The state of the run, by place. Places are texts. */
export interface PlaceTree {
  readonly root: PlaceNode
  /** The node of a place, undefined if nothing is recorded there. */
  find(place: string): PlaceNode | undefined
  /** The node of a place, created if missing. Use it before the tree is changed again. */
  make(place: string): PlaceNode
  /** Sets the only observation of a place. */
  setAnswer(place: string, location: Location): void
  /** Records that the call of a place has returned. */
  setReturned(place: string, location: Location): void
  /** Records that what was done at and below a place is being undone. */
  setUndone(place: string): void
  /**
   * Removes everything at and below a place, and what was opened there. The boundaries around it become unfinished
   * again.
   */
  reopen(place: string): void
  /** Makes the boundary of a place, and those around it, unfinished, except those whose work is repeated. */
  unfinish(place: string): void
  /** Removes a place with everything below it. */
  drop(place: string): void
  /** Removes what is below a place except the events that were shown there. */
  prune(place: string): void
  /**
   * Visits nodes that are not leaves, outer ones first; skips everything below nodes for which the visitor returns
   * `skip`.
   */
  visit(visitor: (node: PlaceNode, place: string) => 'skip' | undefined): void
  /** Whether the work has continued after a call: its section, its conversation, or by undoing what it was part of. */
  goesOn(place: string): boolean
  /** The innermost boundary that a place belongs to, including the place itself. */
  boundaryAround(place: string): string | undefined
}

/** A name below a node, or the number of a call. */
type Step = string | number

export function createPlaceTree(): PlaceTree {
  const root: PlaceNode = {}
  let hasUndone = false
  /** Whether there is a place of conversations. */
  let hasOpened = false
  /** Successive records often belong to the same section. */
  let latest: { readonly place: string; readonly node: PlaceNode } | undefined

  function find(place: string): PlaceNode | undefined {
    const { above, step } = lastStep(place)
    const parent = above === undefined ? root : find(above)
    const part = parent && partAt(parent, step)
    return typeof part === 'number' ? unfolded(part) : part
  }

  function make(place: string): PlaceNode {
    const { above, step } = lastStep(place)
    const parent = makeAbove(above)
    const part = partAt(parent, step)
    if (typeof part === 'object') return part
    const node = part === undefined ? {} : unfolded(part)
    setPart(parent, step, node)
    if (step === 'agent') hasOpened = true
    return node
  }

  function makeAbove(above: string | undefined): PlaceNode {
    if (above === undefined) return root
    if (latest?.place !== above) latest = { place: above, node: make(above) }
    return latest.node
  }

  function setLeaf(place: string, leaf: Leaf): void {
    const { above, step } = lastStep(place)
    const parent = makeAbove(above)
    setPart(parent, step, withLeaf(partAt(parent, step), leaf))
  }

  function drop(place: string): void {
    latest = undefined
    const { above, step } = lastStep(place)
    const parent = above === undefined ? root : find(above)
    if (parent !== undefined) setPart(parent, step, undefined)
  }

  function unfinish(place: string | undefined): void {
    for (let around = place; around !== undefined; around = lastStep(around).above) {
      const node = find(around)
      // a boundary whose work is repeated anyway stays finished: the work below it resumes separately
      if (node?.doneAgain === undefined) delete node?.done
    }
  }

  /** Conversations are stored next to the boundary they were opened in, and become void with it. */
  function removeOpened(place: string): void {
    if (!hasOpened) return
    const opener = conversationPlace(parsePlace(place))
    const conversation = opener.at(-1)
    if (conversation?.kind !== 'conversation' || conversation.opened.length === 0) return
    const scope = placeText(opener.slice(0, -1))
    const opened = find(scope === '' ? 'agent' : `${scope}/agent`)?.parts
    const name = conversationName(conversation.opened)
    for (const other of opened?.keys() ?? []) {
      if (other.startsWith(name) && ['', '+', '~'].includes(other.charAt(name.length))) opened?.delete(other)
    }
  }

  return {
    root,
    find,
    make,
    setAnswer: setLeaf,
    setReturned: (place, location) => setLeaf(place, -location),
    setUndone(place) {
      hasUndone = true
      make(place).isUndone = true
    },
    drop,
    reopen(place) {
      drop(place)
      removeOpened(place)
      unfinish(lastStep(place).above)
    },
    unfinish,
    prune(place) {
      latest = undefined
      const node = find(place)
      if (node === undefined) return
      const shows = showsBelow(node)
      delete node.parts
      delete node.calls
      if (shows.length > 0) node.shows = shows
    },
    visit: (visitor) => visitBelow(root, undefined, visitor),
    goesOn(place) {
      const { above, step } = lastStep(place)
      if (above === undefined) return false
      for (let around: string | undefined = hasUndone ? above : undefined; around; around = lastStep(around).above)
        // undo steps that failed are tried again
        if (find(around)?.isUndone === true) return !place.startsWith('/undo/', around.length)
      if (isTriedAgain(place, find)) return true
      if (typeof step !== 'number') return false
      if ((find(above)?.calls ?? []).findLastIndex((call) => call !== undefined) > step) return true
      const turn = /^(.*\/turn)\/(\d+)$/.exec(above)
      const turns = turn === null ? undefined : find(turn[1] ?? '')?.parts
      return turns?.has(String(Number(turn?.[2]) + 1)) === true
    },
    boundaryAround(place) {
      const path = originOf(parsePlace(place))
      for (let length = path.length; length > 0; length -= 1) {
        const text = placeText(path.slice(0, length))
        if (find(text)?.begin !== undefined) return text
      }
      return undefined
    },
  }
}

/** The enclosing place, undefined for the run, and the step from there. */
function lastStep(place: string): { readonly above: string | undefined; readonly step: Step } {
  const hash = place.lastIndexOf('#')
  const slash = place.lastIndexOf('/')
  if (hash > slash) return { above: place.slice(0, hash), step: callNumber(place.slice(hash + 1)) ?? place.slice(hash) }
  if (slash === -1) return { above: undefined, step: place }
  return { above: place.slice(0, slash), step: place.slice(slash + 1) }
}

/** More calls than a section makes: a larger number in a damaged record is treated as a name. */
const mostCalls = 10_000_000

function callNumber(text: string): number | undefined {
  const number = Number(text)
  return Number.isInteger(number) && number >= 0 && number < mostCalls && String(number) === text ? number : undefined
}

function partAt(node: PlaceNode, step: Step): PlaceNode | Leaf | undefined {
  return typeof step === 'number' ? node.calls?.[step] : node.parts?.get(step)
}

function setPart(node: PlaceNode, step: Step, part: PlaceNode | Leaf | undefined): void {
  if (typeof step === 'number') {
    if (part !== undefined || node.calls !== undefined) (node.calls ??= [])[step] = part
  } else if (part === undefined) node.parts?.delete(step)
  else (node.parts ??= new Map()).set(step, part)
}

function visitBelow(node: PlaceNode, place: string | undefined, visitor: Parameters<PlaceTree['visit']>[0]): void {
  for (const [at, part] of stepsBelow(node, place)) {
    if (typeof part === 'object' && visitor(part, at) !== 'skip') visitBelow(part, at, visitor)
  }
}

/** The direct children of a node, with their places as text. */
export function* stepsBelow(
  node: PlaceNode,
  place: string | undefined,
): Generator<readonly [string, PlaceNode | Leaf]> {
  for (const [name, part] of node.parts ?? []) {
    yield [place === undefined ? name : name.startsWith('#') ? `${place}${name}` : `${place}/${name}`, part]
  }
  for (const [number, part] of node.calls?.entries() ?? []) if (part !== undefined) yield [`${place}#${number}`, part]
}

/** Whether a place is in a finished boundary, also as part of a conversation that was opened there. */
export function isFinished(tree: PlaceTree, place: string): boolean {
  const path = originOf(parsePlace(place))
  return path.some((_, index) => tree.find(placeText(path.slice(0, index + 1)))?.done !== undefined)
}

/** Whether a place is the other one or belongs to it, both in recorded form. */
export function belongsTo(place: string, outer: string): boolean {
  if (isWithin(place, outer)) return true
  return place.includes('agent/') && isWithin(placeText(originOf(parsePlace(place))), outer)
}

function unfolded(leaf: Leaf): PlaceNode {
  return leaf > 0 ? { answer: leaf } : { returned: -leaf }
}

/** The node with an answer that arrived after its other contents. */
function withLeaf(present: PlaceNode | Leaf | undefined, leaf: Leaf): PlaceNode | Leaf {
  if (present === undefined || (typeof present === 'number' && present > 0 === leaf > 0)) return leaf
  const node = typeof present === 'number' ? unfolded(present) : present
  // the effect that was started there did not finish, and was called again
  if (leaf > 0 && node.isOk !== true) forgetStart(node)
  return Object.assign(node, unfolded(leaf))
}

/** The last call of a section that has returned; 0 if none has. */
export function lastReturned({ calls = [] }: PlaceNode): Location {
  return calls.reduce<Location>((last, call) => Math.max(last, returnedOf(call)), 0)
}

function returnedOf(call: PlaceNode | Leaf | undefined): Location {
  if (typeof call === 'number') return Math.max(0, -call)
  return call?.returned ?? 0
}

/** Removes an effect from a node. */
export function forgetStart(node: PlaceNode): void {
  delete node.started
  delete node.ended
  delete node.isOk
  delete node.waits
  delete node.choice
}

/** The events that were shown at and below a node, in the order of writing. */
export function showsBelow(node: PlaceNode): Location[] {
  const found: Location[] = []
  const collect = ({ shows = [], parts, calls = [] }: PlaceNode): void => {
    for (const location of shows) found.push(location)
    for (const part of parts?.values() ?? []) if (typeof part === 'object') collect(part)
    for (const call of calls) if (typeof call === 'object') collect(call)
  }
  collect(node)
  return found.toSorted((left, right) => left - right)
}

/** Whether what a place belongs to was tried again, because it failed: after the first try come `retry/0`, `retry/1`. */
function isTriedAgain(place: string, find: (place: string) => PlaceNode | undefined): boolean {
  for (let around = lastStep(place).above; around !== undefined; around = lastStep(around).above) {
    const again = /^(.*)\/retry\/(\d+)$/.exec(around)
    const next = again === null ? `${around}/retry/0` : `${again[1]}/retry/${Number(again[2]) + 1}`
    if (!place.startsWith(`${around}/retry/`) && find(next) !== undefined) return true
  }
  return false
}
