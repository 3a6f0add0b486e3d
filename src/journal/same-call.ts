import { BatonError } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'
import { canonicalJson, isJsonObject, type Json } from '../base/json.ts'
import { isBlobReference } from './blobs.ts'
import type { SecretMask } from './secrets.ts'
import { encodeValue } from './value.ts'

/** Whether a value is the one a field holds, which may stand in a blob. */
export function isSameValue(value: unknown, field: Json, mask: SecretMask): boolean {
  const encoded = encodeValue(value, mask.mask)
  if (isBlobReference(field)) return sha256(JSON.stringify(encoded)) === field.$blob
  return canonicalJson(encoded) === canonicalJson(field)
}

/** A call in words, short enough for a message. */
export function callText(name: string, request: Json): string {
  const shown = Array.isArray(request) ? request.map(wordOf).join(', ') : wordOf(request)
  return `${name}(${shown.length > 160 ? `${shown.slice(0, 160)}…` : shown})`
}

function wordOf(value: Json): string {
  if (isJsonObject(value) && isBlobReference(value)) return `${value.bytes} bytes`
  return JSON.stringify(value)
}

/**
 * The error of a call that is not the recorded one: the script, its inputs or what it depends on is not what it was.
 * `boundary` is what can be done afresh.
 */
export function diverged(
  place: string,
  { now, recorded, boundary }: { readonly now: string; readonly recorded: string; readonly boundary: string },
): BatonError {
  return new BatonError(
    'DIVERGED',
    `this run goes another way than its record: at ${place} it calls ${now}, and the record has ${recorded}`,
    {
      hint: `Do that part afresh with --from ${boundary}; what it paid for is paid again.`,
    },
  )
}
