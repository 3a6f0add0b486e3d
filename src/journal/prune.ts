import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { hasSystemCode } from '../base/error.ts'
import { randomName } from '../base/random-name.ts'
import { sessionFile } from './chat-place.ts'
import { nodeFiles } from './file-port.ts'
import { removalFailure } from './failure.ts'
import { pruneRunOrder, runIds } from './find-run.ts'
import { readRunState } from './run-state.ts'
import { epochsIn, segmentFile } from './segment.ts'
import { removeRunWorktrees } from './worktrees.ts'

const dayMs = 86_400_000
/** Up to this many runs are removed at the end of one run; the rest waits for the next. */
const mostAtOnce = 200
/** The modification time of this file is when runs were last pruned. */
const markName = '.pruned'
const removedPrefix = '.removed-'

/**
 * Removes runs that no process has worked on for `keepMs` milliseconds (`[runs] keep`; less than a day counts as a
 * day), at most once a day. Running runs are kept. Never rejects: it must not fail the run at whose end it happens.
 */
export async function pruneRuns(
  runs: string,
  { keepMs, now }: { readonly keepMs: number; readonly now: Date },
): Promise<void> {
  try {
    const mark = join(runs, markName)
    if (now.getTime() - (modified(mark) ?? 0) < dayMs) return
    const before = now.getTime() - Math.max(keepMs, dayMs)
    removeLeftovers(runs)
    const old = runIds(runs).filter((id) => startedAt(id) < before && lastWork(join(runs, id)) < before)
    // oldest first
    for (const id of old.toReversed().slice(0, mostAtOnce)) await removeRun(join(runs, id))
    pruneRunOrder(runs)
    if (old.length <= mostAtOnce) writeFileSync(mark, '', { mode: 0o600 })
  } catch {
    // next time
  }
}

/**
 * Removes a run folder atomically: an interruption does not leave half a run. Returns false if the run is running, and
 * keeps it.
 * @throws BatonError FILE_FAILED if it cannot be removed
 */
export async function removeRun(folder: string): Promise<boolean> {
  if ((await readRunState(folder))?.isRunning === true) return false
  const gone = join(folder, '..', `${removedPrefix}${randomName()}`)
  try {
    // before the rename, because their repositories know them by path
    await removeRunWorktrees(folder)
    renameSync(folder, gone)
    rmSync(gone, { recursive: true, force: true })
    rmSync(sessionFile(dirname(folder), basename(folder)), { force: true })
    return true
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT')) return true
    throw removalFailure(folder, error)
  }
}

/** Removes what a process left behind that was killed while removing a run. */
function removeLeftovers(runs: string): void {
  for (const name of readdirSync(runs)) {
    if (name.startsWith(removedPrefix)) rmSync(join(runs, name), { recursive: true, force: true })
  }
}

/** In milliseconds, from the id, which contains the second in UTC. */
export function startedAt(id: string): number {
  const [, date = '', hour, minute, second] = /^(\d{8})-(\d\d)(\d\d)(\d\d)/.exec(id) ?? []
  return Date.parse(`${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}T${hour}:${minute}:${second}Z`)
}

/** When the newest file of a run was written; a run without files counts as old. */
export function lastWork(folder: string): number {
  const newest = epochsIn(folder, nodeFiles).at(-1)
  return newest === undefined ? 0 : (modified(segmentFile(folder, newest)) ?? 0)
}

function modified(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs
}
