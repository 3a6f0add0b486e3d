import { appendFileSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createLineReader } from '../base/appended-lines.ts'
import { isFolder, namesIn } from '../base/entries.ts'
import { BatonError, hasSystemCode, messageOf } from '../base/error.ts'
import { writeFileAtomic } from '../base/files.ts'
import { editDistance } from '../base/suggest.ts'

const idPattern = /^\d{8}-\d{6}-(?:[0-9a-f]{6}|[0-9a-f]{9})$/

/** One id per line, in the order in which the runs were started: ids contain the time, but clocks can be set back. */
const orderName = 'order.txt'

/** Adds a new run to the order of the runs beside it. This is a cache: without it, the ids give the order. */
export function noteRunOrder(folder: string): void {
  try {
    appendFileSync(join(dirname(folder), orderName), `${basename(folder)}\n`, { mode: 0o600 })
  } catch {
    // if nothing can be written, the journal reports it
  }
}

/** Removes runs that no longer exist. */
export function pruneRunOrder(folder: string): void {
  const present = runIds(folder).toReversed()
  if (createOrderReader(folder)().lines.length <= 2 * present.length + 100) return
  writeFileAtomic(join(folder, orderName), present.map((id) => `${id}\n`).join(''))
}

/** Reads the ids of runs in the order in which they were started. Some may be missing, and some runs may be gone. */
export function createOrderReader(folder: string): ReturnType<typeof createLineReader> {
  return createLineReader(join(folder, orderName))
}

export function isRunId(text: string): boolean {
  return idPattern.test(text)
}

/** The folder of the run with exactly this id; undefined if there is none. Nothing else can be reached by it. */
export function runWithId(runs: string, id: string): string | undefined {
  const folder = join(runs, id)
  return isRunId(id) && isFolder(folder) ? folder : undefined
}

/**
 * The ids of the runs in a folder, most recently started first. `recorded`: their order, if it was read already.
 * @throws BatonError FILE_FAILED if the folder exists and cannot be read
 */
export function runIds(folder: string, recorded = createOrderReader(folder)().lines): readonly string[] {
  try {
    const order = new Map(recorded.map((id, index) => [id, index]))
    return readdirSync(folder)
      .filter(isRunId)
      .toSorted()
      .toSorted((left, right) => (order.get(left) ?? -1) - (order.get(right) ?? -1))
      .toReversed()
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT', 'ENOTDIR')) return []
    throw new BatonError('FILE_FAILED', `the runs in ${folder} cannot be listed: ${messageOf(error)}`, {
      hint: 'Make the folder yours and readable, or set dir in [runs] of your config file, or BATON_HOME.',
      cause: error,
    })
  }
}

/** Ids that a mistyped id or prefix may mean, nearest first. */
export function nearRuns(folder: string, asked: string): readonly string[] {
  const most = Math.min(4, Math.floor(asked.length / 2))
  return runIds(folder)
    .map((id) => ({ id, edits: editDistance(asked, id.slice(0, Math.max(asked.length, 8)), most) }))
    .filter(({ edits }) => edits <= most)
    .toSorted((one, other) => one.edits - other.edits)
    .slice(0, 3)
    .map(({ id }) => id)
}

/**
 * Like `findRun`, but an id (or its start, with date and time) may also mean a run of another workspace: a project may
 * have been moved, and an id is the same everywhere.
 */
export function findAnyRun(folder: string, asked: string): string {
  if (!/^\d{8}-\d{6}/.test(asked) || runIds(folder).some((id) => id.startsWith(asked))) return findRun(folder, asked)
  const others = namesIn(dirname(folder)).map((name) => join(dirname(folder), name))
  const found = others.filter((other) => runIds(other).some((id) => id.startsWith(asked)))
  const [only, another] = found
  return findRun(only === undefined || another !== undefined ? folder : only, asked)
}

/**
 * The folder of the run that `asked` means: an id, a prefix of one, or `last` for the newest.
 * @throws BatonError USAGE if it means none or several
 */
export function findRun(folder: string, asked: string): string {
  const all = runIds(folder)
  const found = asked === 'last' ? all.slice(0, 1) : all.filter((id) => asked !== '' && id.startsWith(asked))
  const [id, ...others] = found
  if (id !== undefined && others.length === 0) return join(folder, id)
  if (id === undefined) {
    if (all.length > 0) {
      const near = nearRuns(folder, asked).join(', ')
      const hint = near === '' ? 'See baton runs.' : `Nearest: ${near}. See baton runs.`
      throw new BatonError('USAGE', `there is no run ${asked} of this workspace`, { hint })
    }
    throw new BatonError('USAGE', 'there is no run of this workspace yet', { hint: 'baton run FILE starts one.' })
  }
  throw new BatonError('USAGE', `${asked} matches ${found.length} runs: ${found.slice(0, 5).join(', ')}`, {
    hint: 'Give more characters of the id.',
  })
}
