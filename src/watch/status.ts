import { type BigIntStats, lstatSync, statSync } from 'node:fs'

/** What is at a path, links followed; undefined for nothing, and for what cannot be reached. */
export function statusAt(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Whether the path itself is a link. */
export function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  } catch {
    return false
  }
}
