import { dirname } from 'node:path'
import type { FilePort } from './file-port.ts'

/**
 * Files and folders that must be durable before the next durable record is acknowledged (docs/design/journal.md).
 * Collecting them costs nothing, so a run without durable records never syncs.
 */
export interface PendingSyncs {
  file(path: string): void
  folder(path: string): void
  /** Creates a folder and its missing parents, and remembers each folder that got a new entry. */
  makeFolder(path: string): void
  isEmpty(): boolean
  /** Makes everything collected so far durable. After a rejection, nothing here can be trusted (rule 3). */
  sync(): Promise<void>
}

export function createPendingSyncs(files: FilePort): PendingSyncs {
  let paths = new Set<string>()
  let folders = new Set<string>()
  return {
    file: (path) => void paths.add(path),
    folder: (path) => void folders.add(path),
    makeFolder(path) {
      const topmost = files.makeFolder(path)
      if (topmost === undefined) return
      for (let folder = path; folder.length >= topmost.length; folder = dirname(folder)) folders.add(dirname(folder))
    },
    isEmpty: () => paths.size === 0 && folders.size === 0,
    async sync() {
      const [oldPaths, oldFolders] = [paths, folders]
      paths = new Set()
      folders = new Set()
      // contents before the names that lead to them
      await inGroups([...oldPaths], (path) => files.syncFile(path))
      for (const folder of oldFolders) await files.syncFolder(folder)
    },
  }
}

/** File systems make many files durable with a single journal write if the syncs are requested together. */
const atOnce = 16

async function inGroups(paths: readonly string[], sync: (path: string) => Promise<void>): Promise<void> {
  for (let start = 0; start < paths.length; start += atOnce) {
    await Promise.all(paths.slice(start, start + atOnce).map(sync))
  }
}
