import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { protectedNames } from '../protected/places.ts'

/** What a walk through a workspace has found. Absolute; links are not followed. */
export interface Found {
  /** Files with keys: `.env` and its like. */
  readonly keyFiles: readonly string[]
  /** What models never change by its name, below the first level. */
  readonly deciding: readonly string[]
  /** There are more folders, or more files of these kinds, than were looked at. */
  readonly isCut: boolean
}

/** `.env`, `.env.local`, `.envrc`; not the examples that are written to be read. */
function isKeyFile(name: string): boolean {
  return name.startsWith('.env') && !/[._-](?:example|sample|template|dist|defaults?)$/.test(name)
}

/** A box takes longer to make with each of them, and longer with each more. */
const mostPlaces = 150
const mostFolders = 20_000
/** Of packages that others wrote, and of git: nobody keeps keys of their own there. */
const skipped: ReadonlySet<string> = new Set(['node_modules', '.git'])

/** What was found before stays hidden, however much a command has put in the way of a further walk. */
const known = new Map<string, readonly string[]>()

/** Looks through a workspace, also where git looks away. */
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
    // it may not be read, or is gone
    return []
  }
}
