import { rmdirSync, unlinkSync } from 'node:fs'
import { namesIn } from './entries.ts'

/*
 * A place that nobody may put anything at for a while: a folder of its name, empty but for one folder for each process that
 * holds it. Nobody takes it for what the name means, and it is gone with the last of them.
 */

const mark = '.held-by-baton-'

/** The name in a held place that says that a process holds it: a folder, or a socket. */
export function holdingEntry(pid: number): string {
  return `${mark}${pid}`
}

/** Whether a path is held, and nothing else is there. */
export function isHeldPlace(path: string): boolean {
  const names = namesIn(path)
  return names.length > 0 && names.every((name) => name.startsWith(mark))
}

/** A process lets go of a place. What is not its own stays, and with it the folder. */
export function releasePlace(path: string, pid: number): void {
  const entry = `${path}/${holdingEntry(pid)}`
  if (!attempt(() => rmdirSync(entry))) attempt(() => unlinkSync(entry))
  attempt(() => rmdirSync(path))
}

/** False: it is not there, is something else, or holds something. */
function attempt(remove: () => void): boolean {
  try {
    remove()
    return true
  } catch {
    return false
  }
}
