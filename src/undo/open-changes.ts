import type { SecretMask } from '../journal/secrets.ts'
import type { SigningKey } from '../journal/signing.ts'
import { openFileRecords } from '../journal/source.ts'
import { type PathChange, readChanges } from './changes.ts'
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
    return { changes: await readChanges(source, contents.hashOf), contents }
  } finally {
    source.close()
  }
}
