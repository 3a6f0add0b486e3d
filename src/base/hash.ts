import { createHash } from 'node:crypto'
import type { Json } from './json.ts'
import { jsonChunks } from './json-pieces.ts'

/** SHA-256 as 64 hex digits, of text (as UTF-8) or bytes. */
export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

/** SHA-256 of `canonicalJson` of a value, whose text is never made as a whole. */
export function canonicalHash(value: Json): string {
  const hash = createHash('sha256')
  jsonChunks(value, 'canonical', (chunk) => void hash.update(chunk))
  return hash.digest('hex')
}

/** Loads BLAKE3, which Node's own crypto lacks. The function returns the 32 bytes of a digest. */
export async function loadBlake3Digest(): Promise<(content: Uint8Array) => Uint8Array> {
  return (await import('@noble/hashes/blake3.js')).blake3
}

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Bytes in base 58 with Bitcoin's alphabet: each leading zero byte is a `1`. For short values such as digests. */
export function base58(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  const [zeros = ''] = /^(?:00)*/.exec(hex) ?? []
  let digits = ''
  for (let rest = BigInt(`0x0${hex}`); rest > 0n; rest /= 58n) digits = alphabet.charAt(Number(rest % 58n)) + digits
  return '1'.repeat(zeros.length / 2) + digits
}
