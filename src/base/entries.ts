import { type Dirent, existsSync, lstatSync, readdirSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hasSystemCode } from './error.ts'

/** The status of a path itself, without following links; undefined if nothing exists there. */
export function entryStatus(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch (error) {
    // ENOTDIR: the path is below a file
    if (hasSystemCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

/** Whether a path is a folder, following links. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Whether a path is a file, following links. */
export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

/**
 * The entries of a folder; empty if it is not a folder or cannot be read. An entry whose name is not UTF-8 is left out:
 * no path can name it.
 */
export function entriesIn(folder: string): readonly Dirent[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.filter(({ name }) => !name.includes('\u{FFFD}') || entryStatus(join(folder, name)) !== undefined)
  } catch {
    return []
  }
}

/** The names in a folder; empty if it is not a folder or cannot be read. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** The path itself, or the nearest folder above it that exists. */
export function existingAbove(path: string): string {
  let existing = path
  while (!existsSync(existing) && existing !== dirname(existing)) existing = dirname(existing)
  return existing
}
