import type { Stats } from 'node:fs'
import { join } from 'node:path'
import { entriesIn, entryStatus } from '../base/entries.ts'
import { homeFolder } from '../base/home.ts'
import { keyPatternOf, keysInHome } from './protected/key-places.ts'

/** Third-party packages and git: nobody keeps files with rules of their own there. */
export const unscanned: ReadonlySet<string> = new Set(['node_modules', '.git'])

const mostFolders = 20_000

/** Files with several names, by the file. */
type Linked = Map<string, string[]>

const known = new Map<string, Linked>()

/**
 * Every name of a file (absolute, links resolved) in the workspace and among the places of the home folder that hold
 * keys, the given one first: what may not be read under one name may not be read under another.
 */
export function namesOf(path: string, workspace: string): readonly string[] {
  const status = statusOf(path)
  if (status === undefined || !status.isFile() || status.nlink < 2) return [path]
  const file = fileOf(status)
  const before = known.get(workspace)?.get(file) ?? []
  // all names are known, and none can have been added without another one
  const names = before.length === status.nlink && before.includes(path) ? before : (scan(workspace).get(file) ?? [])
  return [...new Set([path, ...names])]
}

/** Whether a file (absolute, links resolved) is a place that holds keys, under any of its names. */
export function holdsKeys(path: string, workspace: string): boolean {
  return namesOf(path, workspace).some((name) => keyPatternOf(name, workspace) !== undefined)
}

function scan(workspace: string): Linked {
  const found: Linked = new Map()
  const home = homeFolder()
  const folders = [workspace]
  for (const { steps } of keysInHome) take(join(home, ...steps))
  for (let seen = 0; folders.length > 0 && seen < mostFolders; seen += 1) {
    const folder = folders.shift() ?? workspace
    for (const entry of entriesIn(folder)) {
      if (entry.isDirectory() && !unscanned.has(entry.name)) folders.push(join(folder, entry.name))
      else if (entry.isFile()) take(join(folder, entry.name))
    }
  }
  known.set(workspace, found)
  return found

  function take(path: string): void {
    const status = statusOf(path)
    if (status?.isDirectory() === true && !path.startsWith(join(workspace, '/'))) folders.push(path)
    if (status === undefined || !status.isFile() || status.nlink < 2) return
    found.set(fileOf(status), [...(found.get(fileOf(status)) ?? []), path])
  }
}

function fileOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`
}

function statusOf(path: string): Stats | undefined {
  try {
    return entryStatus(path)
  } catch {
    return undefined
  }
}
