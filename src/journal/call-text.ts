import { type Json, isJsonObject } from '../base/json.ts'
import { isBlobReference } from './blobs.ts'

/** A short text of a call, for messages. */
export function callText(name: string, request: Json): string {
  const shown = Array.isArray(request) ? request.map(wordOf).join(', ') : wordOf(request)
  return `${name}(${shown.length > 160 ? `${shown.slice(0, 160)}…` : shown})`
}

function wordOf(value: Json): string {
  if (isJsonObject(value) && isBlobReference(value)) return `${value.bytes} bytes`
  return JSON.stringify(value)
}
