import type { FileChangeRecord } from '../event/effects.ts'
import { entryHash } from '../tool/file-hash.ts'
import { statusAt } from '../watch/status.ts'

/** Whether what stands at a path (absolute) is what a recorded change has made there. Not for `append`. */
export function isAsRecorded(path: string, { op, after }: FileChangeRecord): boolean {
  const isFolder = statusAt(path)?.isDirectory() === true
  // which files stand in a folder is a matter of other changes
  if (op === 'mkdir' || (op === 'chmod' && isFolder)) return isFolder
  try {
    return entryHash(path) === after
  } catch {
    return false
  }
}
