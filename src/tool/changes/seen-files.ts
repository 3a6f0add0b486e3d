import { entryStatus } from '../../base/entries.ts'
import { basename, dirname, join } from 'node:path'
import { realPath } from '../../base/files.ts'

/** What a model was shown of the files on disk. */
export interface SeenFiles {
  /** SHA-256 of the file that a path (absolute) leads to, at the time it was shown; undefined if it never was. */
  readonly hashOf: (path: string) => string | undefined
}

/**
 * Finds shown files (absolute paths with their hashes) under any of their names. There may be very many, and an answer
 * changes few or none: links are resolved only when a file is first looked up, once per folder.
 */
export function createSeen(shown: ReadonlyMap<string, string>): SeenFiles {
  let byRealPath: ReadonlyMap<string, string> | undefined
  return { hashOf: (path) => (byRealPath ??= resolved(shown)).get(realPath(path)) }
}

function resolved(shown: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const folders = new Map<string, string>()
  const found = new Map<string, string>()
  for (const [path, hash] of shown) {
    const folder = dirname(path)
    const real = folders.get(folder) ?? realPath(folder)
    folders.set(folder, real)
    const entry = join(real, basename(path))
    found.set(entryStatus(entry)?.isSymbolicLink() === true ? realPath(entry) : entry, hash)
  }
  return found
}
