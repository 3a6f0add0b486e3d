import { sha256 } from '../base/hash.ts'
import { canonicalJson, type Json } from '../base/json.ts'
import type { SecretMask } from './secrets.ts'
import { encodeValue } from './value.ts'

/** SHA-256 of a request in canonical form and without secrets: equal requests give equal text (spec/engines.md D3). */
export function fingerprint(request: Json, mask: SecretMask): string {
  return sha256(canonicalJson(encodeValue(request, mask.mask)))
}
