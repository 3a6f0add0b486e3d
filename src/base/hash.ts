import type { Hash, Hmac } from 'node:crypto'
import { canonicalJson, type Json } from './json.ts'
import { isLongJson, jsonChunks } from './json-pieces.ts'

/** Loaded at first use: a command that hashes nothing starts without it. */
const crypto = () => process.getBuiltinModule('node:crypto')

/** A hash of data that is added in pieces. */
export function createHash(algorithm: 'sha1' | 'sha256' | 'sha512'): Hash {
  return crypto().createHash(algorithm)
}

/** SHA-256 as 64 hex digits, of text (as UTF-8) or bytes. */
export function sha256(content: string | Uint8Array): string {
  return crypto().hash('sha256', content)
}

/** A signature (HMAC with SHA-256) of data that is added in pieces. */
export function createSigner(key: Uint8Array): Hmac {
  return crypto().createHmac('sha256', key)
}

/** Number of characters above which a value is hashed in pieces. */
const longValue = 16 * 1024

/** SHA-256 of `canonicalJson` of a value; the text of a long value is never built as a whole. */
export function canonicalHash(value: Json): string {
  if (!isLongJson(value, longValue)) return sha256(canonicalJson(value))
  const hash = createHash('sha256')
  jsonChunks(value, 'canonical', (chunk) => void hash.update(chunk))
  return hash.digest('hex')
}
