import { type Leaf, type Location, type PlaceNode, showsBelow, unfolded, withLeaf } from './place-node.ts'

export type { Location, PlaceNode } from './place-node.ts'

/** The names of a place; the number of a host call is a name of its own, so that it stands below its section. */
export function namesOf(place: string): readonly string[] {
  return place.replaceAll('#', '/#').split('/')
}

/** The place of names, as records write it. */
export function placeOfNames(names: readonly string[]): string {
  return names.join('/').replaceAll('/#', '#')
}

/** Whether a place is another one, or holds it. */
export function isAround(outer: string, place: string): boolean {
  return place.startsWith(outer) && ['', '/', '#'].includes(place.charAt(outer.length))
}

export interface PlaceTree {
  /** The node of a place, undefined when nothing is known of it. */
  find(place: string): PlaceNode | undefined
  /** The node of a place, made when missing. To be used before the tree is changed again. */
  make(place: string): PlaceNode
  /** Notes the one observation of a place. */
  setAnswer(place: string, location: Location): void
  /** Notes that the call of a place has returned. */
  setReturned(place: string, location: Location): void
  /** Forgets everything at and below a place. The boundaries around it are not finished any more. */
  reopen(place: string): void
  /** Forgets what is below a place but the events that were shown there. */
  prune(place: string): void
  /**
   * Visits nodes that something was begun at, those around first; nothing below finished boundaries, nor below nodes
   * that are to be skipped.
   */
  visit(visitor: Visitor): void
  /** Whether a later host call of the section of this one is known; false for places that are no host calls. */
  goesOn(place: string): boolean
}

type Visitor = (node: PlaceNode, place: string) => 'skip' | undefined

/** A name below a node, or the number of a host call. */
type Step = string | number

export function createPlaceTree(): PlaceTree {
  const root: PlaceNode = {}
  /** Records that follow each other are often of the same section. */
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

  return {
    find,
    make,
    setAnswer: setLeaf,
    setReturned: (place, location) => setLeaf(place, -location),
    reopen(place) {
      latest = undefined
      const { above, step } = lastStep(place)
      const parent = above === undefined ? root : find(above)
      if (parent !== undefined) setPart(parent, step, undefined)
      for (let around = above; around !== undefined; around = lastStep(around).above) delete find(around)?.done
    },
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
      if (above === undefined || typeof step !== 'number') return false
      const calls = find(above)?.calls ?? []
      for (let later = step + 1; later < calls.length; later += 1) if (calls[later] !== undefined) return true
      return false
    },
  }
}

/** Names that look like numbers of host calls beyond this are names. */
const mostCalls = 10_000_000

/** The place around another one, undefined for the run, and the step from there. */
function lastStep(place: string): { readonly above: string | undefined; readonly step: Step } {
  const hash = place.lastIndexOf('#')
  const slash = place.lastIndexOf('/')
  if (hash > slash) return { above: place.slice(0, hash), step: callNumber(place, hash + 1) ?? place.slice(hash) }
  if (slash === -1) return { above: undefined, step: place }
  return { above: place.slice(0, slash), step: place.slice(slash + 1) }
}

function callNumber(place: string, begin: number): number | undefined {
  const text = place.slice(begin)
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

function visitBelow(node: PlaceNode, place: string | undefined, visitor: Visitor): void {
  const visit = (part: PlaceNode | Leaf | undefined, at: string): void => {
    if (typeof part !== 'object') return
    const isSkipped = visitor(part, at) === 'skip'
    if (!isSkipped && part.done === undefined) visitBelow(part, at, visitor)
  }
  for (const [name, part] of node.parts ?? []) visit(part, place === undefined ? name : join(place, name))
  for (const [number, part] of node.calls?.entries() ?? []) visit(part, `${place}#${number}`)
}

function join(place: string, name: string): string {
  return name.startsWith('#') ? `${place}${name}` : `${place}/${name}`
}
