import type { WorkItem, WorkItems } from './items.ts'
import { jsonForm } from './list-json.ts'
import { markdownForm } from './list-markdown.ts'

/** The fields of an item that are in the list file; only the team knows the others. */
export type ListedItem = Pick<WorkItem, 'id' | 'subject' | 'status' | 'owner' | 'blocked_by'>

/** A parsed item. Without an id it is new. */
export type ReadItem = Omit<ListedItem, 'id'> & { readonly id?: string }

/** A list format that users read and edit (R139, R141). */
export interface ListForm {
  /**
   * Parses items in order; of several with the same id the first one counts. Undefined if the text is not a valid list
   * at the moment.
   */
  readonly read: (text: string) => readonly ReadItem[] | undefined
  /**
   * The text of a list after its items were replaced by these. Unchanged items and anything else are left verbatim.
   * `unnamed`: ids for the items without one, in order. `team`: for the heading of a new list.
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
