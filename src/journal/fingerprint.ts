import { sha256 } from '../base/hash.ts'
import { canonicalJson, type Json } from '../base/json.ts'
import type { JournalRecord } from './record.ts'
import type { SecretMask } from './secrets.ts'
import { encodeValue } from './value.ts'

/** SHA-256 of a request in canonical form and without secrets: equal requests give equal text (spec/engines.md D3). */
export function fingerprint(request: Json, mask: SecretMask): string {
  return sha256(canonicalJson(encodeValue(request, mask.mask)))
}

/** The name of each input of a boundary with a short hash of its value: what is compared before it is read back. */
export function boundaryKey(
  inputs: { readonly [name: string]: unknown },
  mask: SecretMask,
): Readonly<Record<string, string>> {
  const present = Object.entries(inputs).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    present.map(([name, value]) => [name, sha256(JSON.stringify(encodeValue(value, mask.mask))).slice(0, 16)]),
  )
}

/** Whether a boundary was begun with these inputs. */
export function isSameKey(begin: JournalRecord, key: Readonly<Record<string, string>>): boolean {
  if (begin.k !== 'begin') return false
  const names = new Set([...Object.keys(begin.key), ...Object.keys(key)])
  return [...names].every((name) => begin.key[name] === key[name])
}
