import type { TransactionResult } from '../../../src/tool/changes/transaction.ts'
import type { Tree } from './tree.ts'

/** An answer of a model, the files it is applied to, and their expected state afterward. */
export interface ChangeSet {
  readonly name: string
  readonly before: Tree
  readonly modes?: { readonly [path: string]: number }
  readonly answer: string
  readonly partial?: boolean
  /** What the model saw; default: the files in their current state. */
  readonly shown?: Tree
  /** The base folder, relative to the workspace. */
  readonly base?: string
  readonly after: Tree | 'as before'
  /** Default: everything is applied. */
  readonly kind?: TransactionResult['kind']
  /** The messages of all changes that were not made. */
  readonly errors?: readonly string[]
  /** Overwritten files that changed since they were shown, those that were never shown, and those deleted since. */
  readonly stale?: readonly string[]
  readonly unseen?: readonly string[]
  readonly gone?: readonly string[]
  /** The rest of the answer. */
  readonly text?: string
}

export const notDone = 'not done, because another change of the answer failed'
export const noPlace = 'its context and removed lines are not in the file'

export function changes(...directives: readonly string[]): string {
  return `<FILE_CHANGES>\n${directives.join('')}</FILE_CHANGES>\n`
}

export function create(path: string, content: string): string {
  return `<FILE_NEW file_path="${path}">\n${content}</FILE_NEW>\n`
}

export function patch(path: string, ...hunks: readonly string[]): string {
  return `<FILE_PATCH file_path="${path}">\n${hunks.map((hunk) => `@@\n${hunk}`).join('')}</FILE_PATCH>\n`
}

export function append(path: string, content: string): string {
  return `<FILE_APPEND file_path="${path}">\n${content}</FILE_APPEND>\n`
}

export function copy(from: string, to: string): string {
  return `<FILE_COPY from_path="${from}" to_path="${to}" />\n`
}

export function rename(from: string, to: string): string {
  return `<FILE_RENAME from_path="${from}" to_path="${to}" />\n`
}

export function remove(path: string): string {
  return `<FILE_DELETE file_path="${path}" />\n`
}

/** A file in the modes `whole` and `search_replace_auto`. */
export function block(path: string, content: string, fence = '````'): string {
  return `<AIP_FILE_CHANGE file_path="${path}">\n${fence}\n${content}${fence}\n</AIP_FILE_CHANGE>\n`
}

export function part(search: string, replace: string): string {
  return `<<<<<<< SEARCH\n${search}=======\n${replace}>>>>>>> REPLACE\n`
}
