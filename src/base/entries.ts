import { type Dirent, existsSync, lstatSync, readdirSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { hasSystemCode } from './error.ts'

/** What stands at a path itself, also a link; undefined when nothing does. */
export function entryStatus(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch (error) {
    // also below a file
    if (hasSystemCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

/** Whether a path leads to a folder. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Whether a path leads to a file. */
export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

/** What is in a folder; nothing for what is none, and for one that may not be read. */
export function entriesIn(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

/** The same by name. */
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
