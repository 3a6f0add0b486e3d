import { modelText } from '../../base/model-text.ts'
import { defined } from '../../base/json.ts'
import { type ItemStatus, oneLine, tidy, type WorkItem, type WorkItems } from './items.ts'
import type { ListedItem, ReadItem } from './list-form.ts'

/** A field that both the team and a user changed. The team's value is kept. */
export interface Conflict {
  readonly id: string
  readonly field: 'subject' | 'status' | 'owner' | 'blocked_by' | 'item'
  /** The team's value; for a whole item, its status. */
  readonly ours: string
  readonly theirs: string
}

export interface Merged {
  readonly items: WorkItems
  /** Ids of the items that the merge changed. */
  readonly changed: readonly string[]
  /** Ids assigned to new items of the file, in order. */
  readonly unnamed: readonly string[]
  /** The content of the file, with these ids. */
  readonly read: readonly ListedItem[]
  readonly conflicts: readonly Conflict[]
  readonly next: number
}

interface Sides {
  /** Earlier contents of the file that the team wrote or read, newest first. */
  readonly written: readonly (readonly ListedItem[])[]
  /** The current content of the file. */
  readonly theirs: readonly ReadItem[]
  readonly ours: WorkItems
  /** The number for the next new item. */
  readonly next: number
}

/**
 * Merges a user's edits of the list file into the team's items, field by field. The edits are the difference from the
 * closest text that the team wrote or read, because an editor may hold an outdated one. If both sides changed a field,
 * the team's value is kept and the field is a conflict. A pending or completed item is deleted if its line was removed.
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
      // deleted by the team
      if (isSame(read, old)) return []
      conflicts.push({ id: read.id, field: 'item', ours: 'deleted', theirs: oneLine(read.subject) })
      return []
    }
    if (before.has(read.id) || oneLine(read.subject) === other.subject) return []
    // both sides used this id for a new item: the user's item gets a new one
    const id = freeId(last, (one) => own.has(one) || named.has(one))
    last = Number(id) + 1
    changed.push(id)
    return [itemOf(read, id)]
  })
  return { items: tidy([...kept, ...added]), changed, unnamed, read: theirs, conflicts, next: last }
}

/** Assigns ids to new items. An item that got an id in a text that was never written gets the same id again. */
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

/** One line for the leader and the user. */
export function conflictText({ id, field, ours, theirs }: Conflict): string {
  if (field === 'item' && theirs === 'deleted')
    return modelText`#${id} was removed from the list, but is kept: it is ${ours}`
  if (field === 'item') return modelText`#${id} (${theirs}) was edited in the list, but stays deleted`
  return modelText`${field} of #${id}: the list has ${theirs}, but it stays ${ours}`
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
    // an item that is new on both sides has no common ancestor, so the team's value is kept
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
  if (value === undefined) return 'nobody'
  return typeof value === 'string' ? `"${value}"` : value.map((id) => `#${id}`).join(', ') || 'none'
}

/** Lists of ids are compared as sets. */
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

/** The text with the smallest distance; of several the newest. */
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

/** The number of fields to change; a missing or additional item counts as all of its fields plus one. */
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
