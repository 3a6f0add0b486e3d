import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { protectedNames } from '../protected/places.ts'

/** What a scan of a workspace has found. Absolute; links are not followed. */
export interface Found {
  /** Files with keys: `.env` and similar. */
  readonly keyFiles: readonly string[]
  /** Paths that models never change because of their names, below the first level. */
  readonly deciding: readonly string[]
  /** The scan stopped early: too many folders, or too many of these files. */
  readonly isCut: boolean
}

/** `.env`, `.env.local`, `.envrc`, but not example files. */
function isKeyFile(name: string): boolean {
  return name.startsWith('.env') && !/[._-](?:example|sample|template|dist|defaults?)$/.test(name)
}

/** Each place makes a sandbox slower to set up, and the cost per place grows with their number. */
const mostPlaces = 150
const mostFolders = 20_000
/** Third-party packages and git: nobody keeps keys of their own there. */
const skipped: ReadonlySet<string> = new Set(['node_modules', '.git'])

/** What was found earlier stays hidden, even if a command has created so many files that a later scan stops early. */
const known = new Map<string, readonly string[]>()

/** Scans a workspace, including what git ignores. */
export async function findKeyFiles(workspace: string): Promise<Found> {
  const keyFiles: string[] = []
  const deciding: string[] = []
  let seen = 0
  let level: readonly string[] = [workspace]
  const isFull = (): boolean => seen > mostFolders || keyFiles.length + deciding.length > mostPlaces
  while (level.length > 0 && !isFull()) {
    const next: string[] = []
    for (let at = 0; at < level.length && !isFull(); at += atOnce) {
      const folders = level.slice(at, at + atOnce)
      seen += folders.length
      const listed = await Promise.all(folders.map(entriesOf))
      for (const [index, entries] of listed.entries()) {
        const folder = folders[index] ?? workspace
        for (const entry of entries) {
          const path = join(folder, entry.name)
          if (folder !== workspace && protectedNames.includes(entry.name)) deciding.push(path)
          else if (!entry.isDirectory() && isKeyFile(entry.name)) keyFiles.push(path)
          else if (entry.isDirectory() && !skipped.has(entry.name)) next.push(path)
        }
      }
    }
    level = next
  }
  const all = new Set([...(known.get(workspace) ?? []), ...keyFiles])
  known.set(workspace, [...all].slice(0, mostPlaces))
  return { keyFiles: known.get(workspace) ?? [], deciding: deciding.slice(0, mostPlaces), isCut: isFull() }
}

const atOnce = 32

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch {
    // not readable, or gone
    return []
  }
}
