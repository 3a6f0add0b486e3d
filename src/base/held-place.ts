import { readdirSync, rmdirSync } from 'node:fs'

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
