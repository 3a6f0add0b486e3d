import { modelText } from '../../base/model-text.ts'
import { defined } from '../../base/json.ts'

export type ItemStatus = 'pending' | 'in_progress' | 'completed'

/** A work item of a team. Plain JSON. */
export type WorkItem = {
  /** Unique in its list. Generated ids are numbers from 1. */
  readonly id: string
  /** One line. */
  readonly subject: string
  readonly status: ItemStatus
  /** Who works on it or did; for a pending item, who is to do it. */
  readonly owner?: string
  /** Ids of the items that must be completed first, without those that are completed already. */
  readonly blocked_by: readonly string[]
  /** Further details. */
  readonly description?: string
  /** Its owner's latest remark. */
  readonly note?: string
}

export type WorkItems = readonly WorkItem[]

/** A changed list, and the text for the caller of the tool. */
export interface Done {
  readonly items: WorkItems
  /** Ids of new or changed items. */
  readonly changed: readonly string[]
  readonly text: string
  readonly isError?: true
}

export interface NewItem {
  readonly subject: string
  readonly description?: string
  readonly blocked_by?: readonly string[]
  readonly owner?: string
}

/** Adds items. Their `blocked_by` may use the ids that others of the same call will get; unknown ids are dropped. */
export function createItems(
  items: WorkItems,
  added: readonly NewItem[],
  next: number,
): Done & { readonly next: number } {
  const known = new Set(items.map(({ id }) => id))
  const ids: string[] = []
  let number = next
  for (const _ of added) {
    while (known.has(String(number))) number += 1
    ids.push(String(number))
    number += 1
  }
  const made = added.map(({ subject, description, blocked_by = [], owner }, index) => ({
    id: ids[index] ?? '',
    subject: oneLine(subject),
    status: 'pending' as const,
    ...(owner === undefined || owner === '' ? {} : { owner: plainName(owner) }),
    blocked_by,
    ...defined({ description }),
  }))
  const all = tidy([...items, ...made])
  const shown = all.filter(({ id }) => ids.includes(id)).map(itemLine)
  return { items: all, changed: ids, text: modelText`created:\n${shown.join('\n')}`, next: number }
}

export interface ItemChange {
  readonly subject?: string
  readonly description?: string
  readonly status?: ItemStatus | 'deleted'
  /** Empty: nobody. */
  readonly owner?: string
  readonly blocked_by?: readonly string[]
}

/** Changes an item for the leader. An item that is set back to `pending` loses its owner unless a new one is given. */
export function updateItem(items: WorkItems, id: string, change: ItemChange): Done {
  const item = find(items, id)
  if (item === undefined) return notFound(items, id)
  const { subject, description, status, owner, blocked_by: blockers } = change
  if (status === 'deleted') {
    return { items: tidy(items.filter((one) => one !== item)), changed: [], text: modelText`#${item.id} is deleted` }
  }
  const { owner: before, ...rest } = item
  const isPutBack = status === 'pending' && item.status !== 'pending'
  const after = owner === undefined ? (isPutBack ? undefined : before) : owner === '' ? undefined : plainName(owner)
  const changed: WorkItem = {
    ...rest,
    ...defined({ description, status, owner: after }),
    ...(subject === undefined ? {} : { subject: oneLine(subject) }),
    ...(blockers === undefined ? {} : { blocked_by: blockers.map(plainId) }),
  }
  const all = tidy(items.map((one) => (one === item ? changed : one)))
  const circle = circleFrom(all, changed.id)
  if (circle !== undefined) {
    return {
      ...same(items),
      text: modelText`not changed: ${circle.map((one) => `#${one}`).join(' waits for ')}`,
      isError: true,
    }
  }
  return { items: all, changed: [changed.id], text: modelText`changed:\n${itemLine(find(all, changed.id) ?? changed)}` }
}

/** Assigns an item to a member, or returns why not. Without an id it is the next available one. */
export function claimItem(items: WorkItems, owner: string, id?: string): Done {
  const item = id === undefined ? nextFor(items, owner) : find(items, id)
  if (item === undefined) return id === undefined ? nothingToClaim(items) : notFound(items, id)
  if (item.status === 'completed') return refused(items, `#${item.id} is already completed`)
  const holder = item.status === 'in_progress' ? (item.owner ?? 'somebody') : item.owner
  if (holder !== undefined && holder !== owner) return refused(items, `already claimed by ${holder}`)
  if (item.blocked_by.length > 0) {
    return refused(items, `blocked by [${item.blocked_by.map((one) => `#${one}`).join(', ')}]`)
  }
  const { note: _, ...rest } = item
  const claimed: WorkItem = { ...rest, status: 'in_progress', owner }
  const about = item.description === undefined ? '' : `\n${item.description}`
  return { ...replaced(items, claimed), text: modelText`claimed #${item.id}: ${item.subject}${about}` }
}

/** Completes an item of a member, or returns why not. Items blocked by it are unblocked. */
export function completeItem(items: WorkItems, owner: string, id: string, note?: string): Done {
  const item = find(items, id)
  if (item === undefined) return notFound(items, id)
  if (item.status === 'completed') return refused(items, `#${item.id} is already completed`)
  if (item.status === 'pending') return refused(items, `#${item.id} is not claimed: claim it first`)
  if (item.owner !== owner) return refused(items, `#${item.id} is claimed by ${item.owner ?? 'somebody'}, not by you`)
  const done = replaced(items, { ...item, status: 'completed', ...defined({ note }) })
  const freed = items.filter(({ blocked_by: before }) => before.length === 1 && before[0] === item.id)
  const free = freed.length === 0 ? '' : modelText`; no longer blocked: ${freed.map((one) => `#${one.id}`).join(', ')}`
  return { ...done, text: modelText`completed #${item.id}: ${item.subject}${free}` }
}

/** Stores a remark of the member that works on an item. */
export function noteItem(items: WorkItems, owner: string, id: string, note: string): Done {
  const item = find(items, id)
  if (item === undefined) return notFound(items, id)
  if (item.status !== 'in_progress' || item.owner !== owner) return refused(items, `#${item.id} is not claimed by you`)
  return { ...replaced(items, { ...item, note }), text: modelText`noted for #${item.id}` }
}

/** Releases what a member has claimed and not completed. */
export function giveBack(items: WorkItems, owner: string): Done {
  const held = items.filter((item) => item.owner === owner && item.status !== 'completed')
  const all = items.map((item) => {
    if (!held.includes(item)) return item
    const { owner: _, ...rest } = item
    return { ...rest, status: 'pending' as const }
  })
  return {
    items: all,
    changed: held.map(({ id }) => id),
    text: modelText`given back: ${held.map(({ id }) => `#${id}`).join(', ')}`,
  }
}

/** The next item for a member: first items assigned to it, then unassigned ones. */
function nextFor(items: WorkItems, owner: string): WorkItem | undefined {
  const open = items.filter((item) => item.status === 'pending' && item.blocked_by.length === 0)
  return open.find((item) => item.owner === owner) ?? open.find((item) => item.owner === undefined)
}

function nothingToClaim(items: WorkItems): Done {
  const open = openItems(items)
  if (open.length === 0) return { ...same(items), text: modelText`nothing is left: all items are completed` }
  return { ...same(items), text: modelText`nothing can be claimed now. Open items:\n${open.map(itemLine).join('\n')}` }
}

/** The items that are not completed. */
export function openItems(items: WorkItems): WorkItems {
  return items.filter(({ status }) => status !== 'completed')
}

/**
 * The same items with a valid `blocked_by`: no duplicates, not the item itself, no unknown or completed items. Call it
 * whenever items were added, removed or completed.
 */
export function tidy(items: WorkItems): WorkItems {
  const open = new Set(openItems(items).map(({ id }) => id))
  return items.map((item) => {
    const blockers = [...new Set(item.blocked_by.map(plainId))].filter((id) => id !== item.id && open.has(id))
    return blockers.length === item.blocked_by.length && blockers.every((id, index) => id === item.blocked_by[index])
      ? item
      : { ...item, blocked_by: blockers }
  })
}

/** The ids of a blocking cycle that starts and ends with this item; undefined if it is in no cycle. */
function circleFrom(items: WorkItems, id: string): readonly string[] | undefined {
  const byId = new Map(items.map((item) => [item.id, item]))
  const seen = new Set<string>()
  function search(at: string, path: readonly string[]): readonly string[] | undefined {
    for (const blocker of byId.get(at)?.blocked_by ?? []) {
      if (blocker === id) return [...path, id]
      if (seen.has(blocker)) continue
      seen.add(blocker)
      const found = search(blocker, [...path, blocker])
      if (found !== undefined) return found
    }
    return undefined
  }
  return search(id, [id])
}

const marks: Readonly<Record<ItemStatus, string>> = { pending: '[ ]', in_progress: '[~]', completed: '[x]' }

/** An item in one line, as models see it. */
export function itemLine({ id, subject, status, owner, blocked_by: blockers, note }: WorkItem): string {
  const who = owner === undefined ? '' : ` (@${owner})`
  const blocked = blockers.length === 0 ? '' : ` (blocked by ${blockers.map((one) => `#${one}`).join(', ')})`
  return `${marks[status]} #${id} ${subject}${who}${blocked}${note === undefined ? '' : `: ${oneLine(note)}`}`
}

/** An id without the prefix: `#3` and `3` are the same. */
function plainId(id: string): string {
  return id.trim().replace(/^#/, '')
}

/** A name that can be parsed out of a line: `@Bob Smith` becomes `Bob-Smith`. */
function plainName(name: string): string {
  return name
    .trim()
    .replace(/^@/, '')
    .replace(/[\s()]+/gu, '-')
}

/** Collapses line breaks and repeated spaces. */
export function oneLine(text: string): string {
  return text.replace(/\s+/gu, ' ').trim()
}

function find(items: WorkItems, id: string): WorkItem | undefined {
  const wanted = plainId(id)
  return items.find((item) => item.id === wanted)
}

function replaced(items: WorkItems, item: WorkItem): Pick<Done, 'items' | 'changed'> {
  return { items: tidy(items.map((one) => (one.id === item.id ? item : one))), changed: [item.id] }
}

function same(items: WorkItems): Pick<Done, 'items' | 'changed'> {
  return { items, changed: [] }
}

function refused(items: WorkItems, text: string): Done {
  return { ...same(items), text, isError: true }
}

function notFound(items: WorkItems, id: string): Done {
  return refused(items, `not found: there is no item #${plainId(id)}`)
}

/**
 * The ids of a cycle of items, each blocked by the next and the last by the first, so that none can ever start.
 * Undefined if there is no cycle.
 */
export function blockedRound(items: WorkItems): readonly string[] | undefined {
  const waiting = new Map(items.flatMap(({ id, status, blocked_by: on }) => (status === 'completed' ? [] : [[id, on]])))
  for (let before = -1; before !== waiting.size;) {
    before = waiting.size
    for (const [id, on] of waiting) if (!on.some((other) => waiting.has(other))) waiting.delete(id)
  }
  const path: string[] = []
  let [at] = waiting.keys()
  while (at !== undefined && !path.includes(at)) {
    path.push(at)
    at = waiting.get(at)?.find((other) => waiting.has(other))
  }
  return at === undefined ? undefined : path.slice(path.indexOf(at))
}
