import { defined } from '../../base/json.ts'
import { type ItemStatus, oneLine, tidy, type WorkItem, type WorkItems } from './items.ts'
import type { ListedItem, ReadItem } from './list-form.ts'

/** Somebody else has changed what a person has changed in the list: that of the team is kept. */
export interface Conflict {
  readonly id: string
  readonly field: 'subject' | 'status' | 'owner' | 'blocked_by' | 'item'
  /** What the team has; of a whole item, what became of it. */
  readonly ours: string
  readonly theirs: string
}

export interface Merged {
  readonly items: WorkItems
  /** Ids of items that are not as the team had them. */
  readonly changed: readonly string[]
  /** Ids that new items of the file without one were given, in their order. */
  readonly unnamed: readonly string[]
  /** What the file said, with these ids. */
  readonly read: readonly ListedItem[]
  readonly conflicts: readonly Conflict[]
  readonly next: number
}

interface Sides {
  /** What the file said when the team has written or read it, the newest first. */
  readonly written: readonly (readonly ListedItem[])[]
  /** What the file says now. */
  readonly theirs: readonly ReadItem[]
  readonly ours: WorkItems
  /** The number for the next new item. */
  readonly next: number
}

/**
 * What a person has changed in the file, put into the items of the team, field by field. What they have changed is found by the text
 * of the team that is closest to theirs: an editor may hold one that is older than the last. A field that both have changed
 * stays as the team has it, and is a conflict; a pending or completed item whose line was taken away is gone.
 */
export function mergeItems({ written, theirs: found, ours, next: number }: Sides): Merged {
  const own = new Map(ours.map((item) => [item.id, item]))
  const { read: theirs, unnamed, next } = withIds(found, { written, taken: own, next: number })
  const base = closest(written, theirs)
  const before = new Map(base.map((item) => [item.id, item]))
  const named = new Map(theirs.map((item) => [item.id, item]))
  const conflicts: Conflict[] = []
  const changed: string[] = []

  const kept = ours.flatMap((item): readonly WorkItem[] => {
    const old = before.get(item.id)
    const read = named.get(item.id)
    if (old === undefined && read === undefined) return [item]
    if (read === undefined) {
      if (old !== undefined && item.status !== 'in_progress' && isSame(item, old)) return []
      conflicts.push({ id: item.id, field: 'item', ours: item.status, theirs: 'deleted' })
      return [item]
    }
    const merged = mergeItem({ old, read, item }, conflicts)
    if (!isSame(merged, item)) changed.push(item.id)
    return [merged]
  })

  let last = next
  const added = theirs.flatMap((read): readonly WorkItem[] => {
    const other = own.get(read.id)
    if (other === undefined) {
      const old = before.get(read.id)
      if (old === undefined) {
        changed.push(read.id)
        return [itemOf(read, read.id)]
      }
      // the team has deleted it
      if (isSame(read, old)) return []
      conflicts.push({ id: read.id, field: 'item', ours: 'deleted', theirs: oneLine(read.subject) })
      return []
    }
    if (before.has(read.id) || oneLine(read.subject) === other.subject) return []
    // an id that both have given since: the item of the person gets another one
    const id = freeId(last, (one) => own.has(one) || named.has(one))
    last = Number(id) + 1
    changed.push(id)
    return [itemOf(read, id)]
  })
  return { items: tidy([...kept, ...added]), changed, unnamed, read: theirs, conflicts, next: last }
}

/**
 * Gives ids to new items without one. One that was given an id already, in a text that has not come to be written, gets the same again.
 */
function withIds(
  found: readonly ReadItem[],
  { written, taken, next }: Pick<Sides, 'written' | 'next'> & { readonly taken: ReadonlyMap<string, unknown> },
): Pick<Merged, 'read' | 'unnamed' | 'next'> {
  const used = new Set(found.flatMap(({ id }) => id ?? []))
  const unnamed: string[] = []
  let last = next
  const read = found.map((item): ListedItem => {
    if (item.id !== undefined) return { ...item, id: item.id }
    const subject = oneLine(item.subject)
    const given = written
      .slice(0, 2)
      .flat()
      .find((one) => one.subject === subject && !used.has(one.id))?.id
    const id = given ?? freeId(last, (one) => used.has(one) || taken.has(one))
    if (given === undefined) last = Number(id) + 1
    used.add(id)
    unnamed.push(id)
    return { ...item, id }
  })
  return { read, unnamed, next: last }
}

function freeId(from: number, isTaken: (id: string) => boolean): string {
  let number = from
  while (isTaken(String(number))) number += 1
  return String(number)
}

/** One line for each, for the leader and for the person. */
export function conflictText({ id, field, ours, theirs }: Conflict): string {
  if (field === 'item' && theirs === 'deleted') return `#${id} was taken out of the list, and stays: it is ${ours}`
  if (field === 'item') return `#${id} (${theirs}) was changed in the list, and stays deleted`
  return `${field} of #${id}: the list said ${theirs}, and it stays ${ours}`
}

function itemOf({ subject, status, owner, blocked_by: blockers }: ReadItem, id: string): WorkItem {
  return { id, subject: oneLine(subject), status, ...defined({ owner }), blocked_by: blockers }
}

interface OneItem {
  readonly old: ListedItem | undefined
  readonly read: ReadItem
  readonly item: WorkItem
}

function mergeItem({ old, read, item }: OneItem, conflicts: Conflict[]): WorkItem {
  const { owner: _, ...rest } = item
  function merged<T extends Parameters<typeof shown>[0]>(
    field: Exclude<Conflict['field'], 'item'>,
    valueOf: (one: ReadItem) => T,
  ): T {
    const [ours, theirs] = [valueOf(item), valueOf(read)]
    const said = keyOf(theirs)
    // of an item that is new on both sides nobody knows what it was
    if (keyOf(ours) === said || old === undefined || keyOf(valueOf(old)) === said) return ours
    if (keyOf(valueOf(old)) === keyOf(ours)) return theirs
    conflicts.push({ id: item.id, field, ours: shown(ours), theirs: shown(theirs) })
    return ours
  }
  const owner = merged('owner', (one) => one.owner)
  return {
    ...rest,
    subject: merged('subject', (one) => oneLine(one.subject)),
    status: merged('status', (one): ItemStatus => one.status),
    ...defined({ owner }),
    blocked_by: merged('blocked_by', (one) => one.blocked_by),
  }
}

function shown(value: string | readonly string[] | undefined): string {
  if (value === undefined) return 'of nobody'
  return typeof value === 'string' ? `"${value}"` : value.map((id) => `#${id}`).join(', ') || 'none'
}

/** Lists of ids mean the same in any order. */
function keyOf(value: unknown): string {
  return JSON.stringify((Array.isArray(value) ? value.map(String).toSorted() : value) ?? null)
}

function isSame(left: ReadItem, right: ReadItem): boolean {
  return keyOfItem(left) === keyOfItem(right)
}

function keyOfItem(item: ReadItem): string {
  return fieldsOf(item).join()
}

function fieldsOf({ subject, status, owner, blocked_by: blockers }: ReadItem): readonly string[] {
  return [oneLine(subject), status, owner, blockers].map(keyOf)
}

/** Of texts that are as close, the newest. */
function closest(written: Sides['written'], theirs: readonly ListedItem[]): readonly ListedItem[] {
  const read = new Map(theirs.map((item) => [item.id, fieldsOf(item)]))
  let best: readonly ListedItem[] = []
  let least = Infinity
  for (const items of written) {
    const distance = distanceTo(items, read)
    if (distance >= least) continue
    best = items
    least = distance
  }
  return best
}

/** How many fields have to be changed; an item more or less counts as all of its own and one. */
function distanceTo(items: readonly ListedItem[], read: ReadonlyMap<string, readonly string[]>): number {
  let distance = 0
  let common = 0
  for (const item of items) {
    const fields = fieldsOf(item)
    const theirs = read.get(item.id)
    if (theirs === undefined) distance += fields.length + 1
    else {
      common += 1
      distance += fields.filter((field, index) => field !== theirs[index]).length
    }
  }
  return distance + (read.size - common) * 5
}
