import { readdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { hasSystemCode } from './error.ts'

/*
 * A place that nobody may put anything at for a while: a folder of its name, empty but for one folder for each process that
 * holds it. Nobody takes it for what the name means, and it is gone with the last of them.
 */

const mark = '.held-by-baton-'

/** The folder in a held place that says that a process holds it. */
export function holdingEntry(pid: number): string {
  return `${mark}${pid}`
}

/** Whether a path is held, and nothing else is there. */
export function isHeldPlace(path: string): boolean {
  const names = namesIn(path)
  return names.length > 0 && names.every((name) => name.startsWith(mark))
}

/** Takes away what processes have left that are no more. */
export function clearHeldPlace(path: string): void {
  for (const name of namesIn(path)) {
    if (!isAlive(Number(name.slice(mark.length)))) removeFolder(join(path, name))
  }
  removeFolder(path)
}

/** Removes a folder that is empty; any other stays. */
export function removeFolder(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    // it holds something, or is gone
  }
}

function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch {
    // it is no folder
    return []
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return hasSystemCode(error, 'EPERM')
  }
}
