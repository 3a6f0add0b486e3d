import { rmdirSync, unlinkSync } from 'node:fs'
import { namesIn } from './entries.ts'

/*
 * Reserves a path so that nobody puts anything there for a while: a folder of that name, containing only one entry for
 * each process that holds it. It cannot be mistaken for real content, and disappears with the last holder.
 */

const mark = '.held-by-baton-'

/** The name of the entry by which a process holds a place: a folder or a socket. */
export function holderEntry(pid: number): string {
  return `${mark}${pid}`
}

/** Whether a path is held and contains nothing else. */
export function isPlaceholder(path: string): boolean {
  const names = namesIn(path)
  return names.length > 0 && names.every((name) => name.startsWith(mark))
}

/** Releases a process's hold on a place. Everything else stays, and with it the folder. */
export function releasePlaceholder(path: string, pid: number): void {
  const entry = `${path}/${holderEntry(pid)}`
  if (!attempt(() => rmdirSync(entry))) attempt(() => unlinkSync(entry))
  attempt(() => rmdirSync(path))
}

/** False if it does not exist, is of another kind, or is not empty. */
function attempt(remove: () => void): boolean {
  try {
    remove()
    return true
  } catch {
    return false
  }
}
