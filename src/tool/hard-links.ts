import type { Stats } from 'node:fs'
import { join } from 'node:path'
import { entriesIn, entryStatus } from '../base/entries.ts'
import { homeFolder } from '../base/home.ts'
import { keyPatternOf, keysInHome } from './protected/key-places.ts'

/** Third-party packages and git: nobody keeps files with rules of their own there. */
export const unscannedFolders: ReadonlySet<string> = new Set(['node_modules', '.git'])

const mostFolders = 20_000

/** The names of each file that has several, by the file, as they were at a time (milliseconds since 1970). */
interface Linked {
  readonly at: number
  readonly names: ReadonlyMap<string, readonly string[]>
}

const known = new Map<string, Linked>()

/** Clocks of file systems go in steps. */
const stepMs = 100

/**
 * Every name of a file (absolute, links resolved) in the workspace and among the places of the home folder that hold
 * keys, the given one first: what may not be read under one name may not be read under another. The workspace is
 * searched again only for a file that has changed since, as it does with a new name. `list`: the entries of a folder.
 */
export function namesOf(path: string, workspace: string, list = entriesIn): readonly string[] {
  const status = statusOf(path)
  if (status === undefined || !status.isFile() || status.nlink < 2) return [path]
  const before = known.get(workspace)
  const isCurrent = before !== undefined && status.ctimeMs + stepMs < before.at
  const { names } = isCurrent ? before : scan(workspace, list)
  return [...new Set([path, ...(names.get(fileOf(status)) ?? [])])]
}

/** Whether a file (absolute, links resolved) is a place that holds keys, under any of its names. */
export function holdsKeys(path: string, workspace: string): boolean {
  return namesOf(path, workspace).some((name) => keyPatternOf(name, workspace) !== undefined)
}

function scan(workspace: string, list: typeof entriesIn): Linked {
  const at = Date.now()
  const names = new Map<string, string[]>()
  const home = homeFolder()
  const folders = [workspace]
  for (const { steps } of keysInHome) take(join(home, ...steps))
  for (let seen = 0; folders.length > 0 && seen < mostFolders; seen += 1) {
    const folder = folders.shift() ?? workspace
    for (const entry of list(folder)) {
      if (entry.isDirectory() && !unscannedFolders.has(entry.name)) folders.push(join(folder, entry.name))
      else if (entry.isFile()) take(join(folder, entry.name))
    }
  }
  const found = { at, names }
  known.set(workspace, found)
  return found

  function take(path: string): void {
    const status = statusOf(path)
    if (status?.isDirectory() === true && !path.startsWith(join(workspace, '/'))) folders.push(path)
    if (status === undefined || !status.isFile() || status.nlink < 2) return
    names.set(fileOf(status), [...(names.get(fileOf(status)) ?? []), path])
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
