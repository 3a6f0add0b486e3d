import { blake3 } from '@noble/hashes/blake3.js'

/** The 32 bytes of BLAKE3, which Node's own crypto does not have. Load this file at its first use. */
export function blake3Digest(content: Uint8Array): Uint8Array {
  return blake3(content)
}
