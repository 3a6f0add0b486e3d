import type { Hash } from 'node:crypto'
import { canonicalJson, type Json } from './json.ts'
import { isLongJson, jsonChunks } from './json-pieces.ts'
import { createSha256, type Sha256 } from './sha256.ts'

/** Node's own hash, loaded at first use: loading it takes longer than all the hashing of a short run. */
export function createHash(algorithm: 'sha1' | 'sha256' | 'sha512'): Hash {
  return process.getBuiltinModule('node:crypto').createHash(algorithm)
}

/** Bytes and characters still hashed without Node's own hash, which is faster beyond that. */
let left = 16 * 1024

/** Our own hash while it is the faster one. */
function shortHash(): Sha256 | undefined {
  return left < 0 ? undefined : createSha256()
}

/** SHA-256 as 64 hex digits, of text (as UTF-8) or bytes. */
export function sha256(content: string | Uint8Array): string {
  left -= content.length
  const hash = shortHash()
  if (hash === undefined) return process.getBuiltinModule('node:crypto').hash('sha256', content)
  hash.update(bytesOf(content))
  return hash.digest().toString('hex')
}

/** A signature (HMAC with SHA-256) of data that is added in pieces. */
export interface Signer {
  readonly update: (bytes: string | Uint8Array) => void
  /** The signature as 64 hex digits. The signer cannot be used afterwards. */
  readonly digest: () => string
}

/** The block size of SHA-256, to which keys are padded. */
const blockBytes = 64

/** Like `sha256`, switches to Node's implementation once much has been signed. The key has at most 64 bytes. */
export function createSigner(key: Uint8Array): Signer {
  const [inner, outer] = [shortHash(), shortHash()]
  if (inner === undefined || outer === undefined) {
    const own = process.getBuiltinModule('node:crypto').createHmac('sha256', key)
    return { update: (bytes) => void own.update(bytes), digest: () => own.digest('hex') }
  }
  const padded = (mask: number): Uint8Array =>
    Uint8Array.from({ length: blockBytes }, (_, index) => (key[index] ?? 0) ^ mask)
  inner.update(padded(0x36))
  outer.update(padded(0x5c))
  return {
    update(bytes) {
      left -= bytes.length
      inner.update(bytesOf(bytes))
    },
    digest() {
      outer.update(inner.digest())
      return outer.digest().toString('hex')
    },
  }
}

function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content) : content
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
