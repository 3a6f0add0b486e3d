import { dirname, join, resolve, sep } from 'node:path'
import { realPath } from '../base/files.ts'
import type { FileChangeRecord } from '../event/effects.ts'

/** Finds which of some paths a change of files may matter to. */
export interface PathFinder {
  readonly add: (path: string) => void
  /** Those of the paths that are named, that lie in a folder which is moved or removed, or that a new file lies in. */
  readonly touchedBy: (change: FileChangeRecord, workspace: string) => ReadonlySet<string>
}

/** Absolute paths. Nothing is looked at before there is a change. */
export function createPathFinder(): PathFinder {
  /** Paths by where they really are: a change names files by that. */
  const really = new Map<string, string>()
  const waiting: string[] = []

  return {
    add: (path) => waiting.push(path),
    touchedBy(change, workspace) {
      for (const path of waiting.splice(0)) really.set(realPath(path), path)
      const touched = new Set<string>()
      for (const named of changedPaths(change)) {
        const changed = resolve(workspace, named)
        for (const at of withFolders(changed)) {
          const path = really.get(at)
          if (path !== undefined) touched.add(path)
        }
        if (ofOneFile.has(change.op)) continue
        for (const [at, path] of really) if (at.startsWith(join(changed, sep))) touched.add(path)
      }
      return touched
    },
  }
}

/** Changes of single files; others may be of whole folders. */
const ofOneFile: ReadonlySet<string> = new Set(['write', 'append', 'copy', 'mkdir', 'pack', 'unpack', 'split'])

function changedPaths({ op, path, from, before, after }: FileChangeRecord): readonly string[] {
  if (op !== 'append' && op !== 'mkdir' && before === after) return []
  return [path, op === 'move' ? from : undefined].filter((name) => typeof name === 'string')
}

function withFolders(path: string): readonly string[] {
  const folder = dirname(path)
  return folder === path ? [path] : [path, ...withFolders(folder)]
}
