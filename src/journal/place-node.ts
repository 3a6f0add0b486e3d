/** Where a record is: its file and byte, as one number that grows in the order of writing. */
export type Location = number

/** A place that holds one answer and nothing else, as most do: its location, negative when a call has returned. */
export type Leaf = Location

/**
 * What the records of a run say about one place. Leaves are stored as numbers, because a run may have a million of them.
 */
export interface PlaceNode {
  parts?: Map<string, PlaceNode | Leaf>
  /** What a section has called, by number. */
  calls?: (PlaceNode | Leaf | undefined)[]
  begin?: Location
  done?: Location
  /** An `obs` record. */
  answer?: Location
  /** A `call` record: what is recorded at and below the place besides is what the call did. */
  returned?: Location
  started?: Location
  ended?: Location
  /** A later start than that of `ended`, which is the end of something that was done. */
  restarted?: Location
  /** Whether `ended` is the end of something that was done. */
  isOk?: boolean
  /** What is known or was decided about an effect that has no end. */
  choice?: 'found' | 'done' | 'fail'
  /** How the files of a change without an end were found, before the run went on and others changed them. */
  state?: ChangeState
  shows?: Location[]
}

/** What the disk says about a file change whose end is in no record. */
export type ChangeState = 'before' | 'after' | 'neither'

export function unfolded(leaf: Leaf): PlaceNode {
  return leaf > 0 ? { answer: leaf } : { returned: -leaf }
}

/** The node with an answer that came after what it holds. */
export function withLeaf(present: PlaceNode | Leaf | undefined, leaf: Leaf): PlaceNode | Leaf {
  if (present === undefined || (typeof present === 'number' && present > 0 === leaf > 0)) return leaf
  const node = typeof present === 'number' ? unfolded(present) : present
  // what was begun there before came to nothing, and was made again
  if (leaf > 0 && node.isOk !== true) forgetStart(node)
  return Object.assign(node, unfolded(leaf))
}

/** The last of the calls of a section that have returned; 0 when none has. */
export function lastReturned({ calls = [] }: PlaceNode): Location {
  return calls.reduce<Location>((last, call) => Math.max(last, returnedOf(call)), 0)
}

function returnedOf(call: PlaceNode | Leaf | undefined): Location {
  if (typeof call === 'number') return Math.max(0, -call)
  return call?.returned ?? 0
}

/** An effect is as if it had never begun. */
export function forgetStart(node: PlaceNode): void {
  delete node.started
  delete node.ended
  delete node.isOk
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
