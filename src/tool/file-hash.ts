import { entryStatus } from '../base/entries.ts'
import { fstatSync, readdirSync, readlinkSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { compareBytes } from '../base/byte-order.ts'
import { createHash, sha256 } from '../base/hash.ts'
import { readRegular } from '../base/regular-file.ts'

/**
 * One hash for the entry at a path, for the record of a change: SHA-256 of a file's content, of a link's target, or of
 * the sorted names below a folder. Null if it does not exist.
 */
export function entryHash(path: string): string | null {
  const status = entryStatus(path)
  if (status === undefined) return null
  if (status.isSymbolicLink()) return sha256(readlinkSync(path))
  if (status.isDirectory()) return sha256(namesBelow(path).toSorted(compareBytes).join('\n'))
  return status.isFile() ? startHash(path) : sha256('')
}

const chunkBytes = 1024 * 1024

/** SHA-256 of `size` bytes of a file from an offset on, or of the whole file. @throws the system error */
export function startHash(path: string, size = Infinity, from = 0): string {
  return readRegular(path, (descriptor) => {
    const hash = createHash('sha256')
    // most files are small; if one grows meanwhile, it is read in smaller chunks
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(1, fstatSync(descriptor).size)))
    let position = from
    for (let left = size; left > 0;) {
      const read = readSync(descriptor, chunk, 0, Math.min(left, chunk.length), position)
      if (read === 0) break
      hash.update(chunk.subarray(0, read))
      left -= read
      position += read
    }
    return hash.digest('hex')
  })
}

function namesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) return [entry.name]
    return [entry.name, ...namesBelow(join(folder, entry.name)).map((name) => `${entry.name}/${name}`)]
  })
}
