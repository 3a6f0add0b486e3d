import type { WorkItem, WorkItems } from './items.ts'
import { jsonForm } from './list-json.ts'
import { markdownForm } from './list-markdown.ts'

/** What a list file says of an item; the rest is known only to the team. */
export type ListedItem = Pick<WorkItem, 'id' | 'subject' | 'status' | 'owner' | 'blocked_by'>

/** An item that was read: without an id, it is new. */
export type ReadItem = Omit<ListedItem, 'id'> & { readonly id?: string }

/** The form of a list that people read and edit (R139, R141). */
export interface ListForm {
  /** The items of a text in its order; of several with the same id the first. Undefined: it cannot be read as a list just now. */
  readonly read: (text: string) => readonly ReadItem[] | undefined
  /**
   * The text of a list with these items in place of those that it has: what has not changed, and what is no item, stays as it is written.
   * `unnamed`: ids for its items without one, in their order. `team`: for the heading of a new list.
   */
  readonly write: (text: string | undefined, items: WorkItems, names: Naming) => string
}

interface Naming {
  readonly unnamed: readonly string[]
  readonly team: string
}

export function listForm(format: 'markdown' | 'json'): ListForm {
  return format === 'json' ? jsonForm : markdownForm
}
