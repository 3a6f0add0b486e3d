import { createHash } from 'node:crypto'
import { base58 } from '../../base/base58.ts'

export type DigestEncoding = 'hex' | 'b64' | 'b64u' | 'b58'

export const shaNames = ['sha256', 'sha512'] as const

/** SHA-2 of text (as UTF-8) or bytes. `b64` is padded; `b64u` is for URLs and is not. */
export function shaText(
  content: string | Uint8Array,
  name: (typeof shaNames)[number],
  encoding: DigestEncoding,
): string {
  return encoded(createHash(name).update(content).digest(), encoding)
}

/** Loads the code of BLAKE3 and gives the function that works as `shaText` does. */
export async function loadBlake3(): Promise<(content: string | Uint8Array, encoding: DigestEncoding) => string> {
  const { blake3Digest } = await import('../../base/hashes.ts')
  return (content, encoding) =>
    encoded(blake3Digest(typeof content === 'string' ? Buffer.from(content) : content), encoding)
}

/** Bytes as text. */
export function encoded(bytes: Uint8Array, encoding: DigestEncoding): string {
  switch (encoding) {
    case 'hex':
      return Buffer.from(bytes).toString('hex')
    case 'b64':
      return Buffer.from(bytes).toString('base64')
    case 'b64u':
      return Buffer.from(bytes).toString('base64url')
    case 'b58':
      return base58(bytes)
  }
}
