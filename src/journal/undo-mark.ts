import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../base/files.ts'
import { readRunState, undoneRun } from './run-state.ts'

/** A file in the folder of a run whose changes were undone: the id of the run that did it. */
const markName = 'undone'

/**
 * Records that `by` is about to undo the run in `folder`, so that a run whose changes are gone is not resumed. Undoing
 * an undo restores the changes, so its run may be resumed again.
 */
export async function recordUndo(folder: string, by: string): Promise<void> {
  let [run, isUndone] = [folder, true]
  for (;;) {
    const start = (await readRunState(run))?.start
    const before = start && undoneRun(start)
    if (before === undefined) break
    run = join(run, '..', before)
    isUndone = !isUndone
  }
  if (isUndone) writeFileAtomic(join(run, markName), by)
  else rmSync(join(run, markName), { force: true })
}

/** A file in the folder of a dry run whose changes were all made: the id of the run that did it. */
const appliedName = 'applied'

/** Records that `by` is about to make everything that the dry run in `folder` has planned. */
export function recordApplied(folder: string, by: string): void {
  writeFileAtomic(join(folder, appliedName), by)
}

/** Whether the changes that a dry run has planned were made, and not undone since. */
export function isApplied(folder: string): boolean {
  const by = read(join(folder, appliedName))
  return by !== undefined && undoneBy(join(folder, '..', by)) === undefined
}

/** The run that undid the one in `folder`; undefined while its changes are in place. */
export function undoneBy(folder: string): string | undefined {
  return read(join(folder, markName))
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
