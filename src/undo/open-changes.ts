import { unappliedTrees, type UnappliedTree } from '../history/unapplied-trees.ts'
import { project } from '../history/run-view.ts'
import type { SecretMask } from '../journal/secrets.ts'
import type { SigningKey } from '../journal/signing.ts'
import { openFileRecords } from '../journal/source.ts'
import { changesIn, changesOnly, type PathChange } from './changes.ts'
import { type Contents, openContents } from './contents.ts'

export interface OpenedChanges {
  readonly changes: readonly PathChange[]
  readonly contents: Contents
  readonly leftOut: readonly UnappliedTree[]
}

/**
 * The changes of a run, the contents that it kept, and what it changed only in work trees. `mask` restores secrets; see
 * `openFileRecords` for `key`.
 */
export async function openChanges(folder: string, mask: SecretMask, key?: SigningKey): Promise<OpenedChanges> {
  const contents = openContents(folder, mask)
  const source = openFileRecords(folder, { mask, key })
  try {
    const view = await project(source, changesOnly)
    return { changes: changesIn(view, contents.hashOf), contents, leftOut: unappliedTrees(view) }
  } finally {
    source.close()
  }
}
