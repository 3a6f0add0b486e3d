import { blake3 as digest } from '@noble/hashes/blake3.js'

/** The 32 bytes of a BLAKE3 digest, which Node's own crypto lacks. */
export function blake3(content: Uint8Array): Uint8Array {
  return digest(content)
}
