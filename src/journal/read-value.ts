import type { Json } from '../base/json.ts'
import { isBlobReference, readBlob } from './blobs.ts'
import { nodeFiles, type FilePort } from './file-port.ts'
import type { SecretMask } from './secrets.ts'
import { decodeValue } from './value.ts'

export interface ValueContext {
  readonly folder: string
  /** With the environment of now: secrets come back from there. */
  readonly mask: SecretMask
  readonly files?: FilePort
}

/**
 * The value a field of a record stands for: fetched when it is a blob, secrets put back, special values restored. A
 * field that is absent stands for undefined.
 * @throws BatonError JOURNAL_FAILED when a blob is missing or damaged
 */
export async function readValue(field: Json | undefined, context: ValueContext): Promise<unknown> {
  if (field === undefined) return undefined
  const { folder, mask, files = nodeFiles } = context
  const json = isBlobReference(field) ? await readBlob(folder, field, files) : field
  return decodeValue(json, mask.unmask)
}
