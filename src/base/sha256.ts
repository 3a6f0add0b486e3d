import { layout, sha256Module } from './sha256-code.ts'
import { wasmHost } from './wasm-host.ts'

/** SHA-256 of data that is added in pieces. */
export interface Sha256 {
  readonly update: (bytes: Uint8Array) => void
  /** The 32 bytes of the digest. The hash cannot be used afterwards. */
  readonly digest: () => Buffer
}

const blockBytes = 64
const stateBytes = 32
/** Offset of the length in the last block. */
const lengthAt = 56

interface Compressor {
  readonly memory: Buffer
  readonly compress: () => void
}

let made: Compressor | undefined

function compressor(): Compressor | undefined {
  const host = made === undefined ? wasmHost() : undefined
  if (host === undefined) return made
  const module = new host.Module(sha256Module())
  const shared = new host.Memory({ initial: 1 })
  const { exports } = new host.Instance(module, { host: { memory: shared } })
  const memory = Buffer.from(shared.buffer)
  for (const [index, value] of constants.entries()) memory.writeUInt32LE(value, layout.constantsAt + 4 * index)
  return (made = { memory, compress: (exports as Compressor).compress })
}

/**
 * A hash in WebAssembly, for the little that a short run hashes: loading Node's takes longer than that, and JavaScript
 * would be optimized at runtime, which takes even longer. Undefined if WebAssembly is unavailable.
 */
export function createSha256(): Sha256 | undefined {
  const found = compressor()
  if (found === undefined) return undefined
  const { memory, compress: compressBlock } = found
  /** Kept between calls: all hashes share one memory. */
  const kept = Buffer.alloc(stateBytes)
  const block = Buffer.alloc(blockBytes)
  for (const [index, value] of initial.entries()) kept.writeUInt32LE(value, 4 * index)
  let filled = 0
  let length = 0

  function add(bytes: Uint8Array): void {
    memory.set(kept, layout.stateAt)
    for (let from = 0; from < bytes.length;) {
      const taken = bytes.subarray(from, from + blockBytes - filled)
      block.set(taken, filled)
      from += taken.length
      filled += taken.length
      if (filled < blockBytes) break
      memory.set(block, layout.blockAt)
      compressBlock()
      filled = 0
    }
    memory.copy(kept, 0, layout.stateAt, layout.stateAt + stateBytes)
  }

  return {
    update(bytes) {
      length += bytes.length
      add(bytes)
    },
    digest() {
      const zeros = (lengthAt - 1 - filled + blockBytes) % blockBytes
      const end = Buffer.alloc(1 + zeros + 8)
      end[0] = 0x80
      end.writeBigUInt64BE(BigInt(length) * 8n, 1 + zeros)
      add(end)
      return kept.swap32()
    },
  }
}

/** The first 32 bits of the fractional parts of the square roots of the first 8 primes. */
const initial = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19]

/** Those of the cube roots of the first 64 primes. */
const constants = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
]
