import type { Hash } from 'node:crypto'
import { canonicalJson, type Json } from './json.ts'
import { isLongJson, jsonChunks } from './json-pieces.ts'
import { createSha256, type Sha256 } from './sha256.ts'

/** Node's own hash, which is loaded when it is first used: that takes a short run longer than all that it hashes. */
export function createHash(algorithm: 'sha1' | 'sha256' | 'sha512'): Hash {
  return process.getBuiltinModule('node:crypto').createHash(algorithm)
}

/** Bytes and characters that are hashed without Node's own hash, which is faster from then on. */
let left = 16 * 1024

/** A hash of our own as long as it is the faster one. */
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

/** A signature (HMAC with SHA-256) of what it is given piece by piece. */
export interface Signer {
  readonly update: (bytes: string | Uint8Array) => void
  /** The signature as 64 hex digits. It ends the signer. */
  readonly digest: () => string
}

/** The block of SHA-256, which keys are filled up to. */
const blockBytes = 64

/** As `sha256`, Node's own is taken once much was signed. The key has 64 bytes at most. */
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

/** Characters of texts from which on a value is hashed in pieces. */
const longValue = 16 * 1024

/** SHA-256 of `canonicalJson` of a value, whose text is never made as a whole when it is long. */
export function canonicalHash(value: Json): string {
  if (!isLongJson(value, longValue)) return sha256(canonicalJson(value))
  const hash = createHash('sha256')
  jsonChunks(value, 'canonical', (chunk) => void hash.update(chunk))
  return hash.digest('hex')
}
