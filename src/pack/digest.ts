import { createHash } from 'node:crypto'
import { compareBytes } from '../base/byte-order.ts'
import { sha256 } from '../base/hash.ts'
import { withoutOwnTable } from './installed-table.ts'

/** One file of a pack. */
export interface PackFile {
  /** Relative to the pack's folder, with `/`. */
  readonly path: string
  readonly isExecutable: boolean
  readonly bytes: Uint8Array
}

export const manifestName = 'pack.toml'

/**
 * What a pack holds, as one hash: SHA-256 over the paths in byte order, with the kind of each file and the SHA-256 of
 * its content. The table `[installed]` that an installation adds does not count, so a pack has the same digest in every
 * place and form.
 */
export function contentDigest(files: readonly PackFile[]): string {
  const hash = createHash('sha256')
  for (const file of files.toSorted((left, right) => compareBytes(left.path, right.path))) {
    // a path holds no NUL: nothing can be taken for another entry
    hash.update(`${file.path}\0${file.isExecutable ? 'x' : '-'}\0${sha256(countedBytes(file))}\n`)
  }
  return `sha256:${hash.digest('hex')}`
}

function countedBytes({ path, bytes }: PackFile): Uint8Array {
  if (path !== manifestName) return bytes
  const text = Buffer.from(bytes).toString('latin1')
  // an installation may end the last line
  return Buffer.from(withoutOwnTable(text).replace(/\n*$/, ''), 'latin1')
}
