import { createSlices } from './concurrency.ts'
import { createHash } from './hash.ts'

const sliceBytes = 256 * 1024

/**
 * SHA-256 of bytes as 64 hex digits. Other work of the process continues in between. Rejects with the signal's reason.
 */
export async function hashInSlices(bytes: Uint8Array, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  const slices = createSlices()
  for (let from = 0; from < bytes.length; from += sliceBytes) {
    hash.update(bytes.subarray(from, from + sliceBytes))
    const pause = slices.pass(signal)
    if (pause !== undefined) await pause
  }
  return hash.digest('hex')
}
