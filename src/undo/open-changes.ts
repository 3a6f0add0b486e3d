import { project } from '../history/run-view.ts'
import type { SecretMask } from '../journal/secrets.ts'
import type { SigningKey } from '../journal/signing.ts'
import { openFileRecords } from '../journal/source.ts'
import { changesIn, changesOnly, type PathChange } from './changes.ts'
import { type Contents, openContents } from './contents.ts'

/** The changes of a run and the contents that it kept. `mask` restores secrets; see `openFileRecords` for `key`. */
export async function openChanges(
  folder: string,
  mask: SecretMask,
  key?: SigningKey,
): Promise<{ readonly changes: readonly PathChange[]; readonly contents: Contents }> {
  const contents = openContents(folder, mask)
  const source = openFileRecords(folder, { mask, key })
  try {
    return { changes: changesIn(await project(source, changesOnly), contents.hashOf), contents }
  } finally {
    source.close()
  }
}
