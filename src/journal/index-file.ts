import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { runIds } from './find-run.ts'
import { BatonError } from '../base/error.ts'
import { randomName } from '../base/random-name.ts'
import { glance, type Glance, isConversation, undoneRun } from './glance.ts'
import { readSummary, type RunResult, type RunSummary, summaryOf } from './summary.ts'

/** One line for each run that has ended; a cache: what it lacks is in the folders of the runs. */
const indexName = 'index.jsonl'
const summaryName = 'summary.json'
/** Only the owner may read what runs were about. */
const mode = 0o600

/**
 * Keeps what a run came to: `summary.json` in its folder and a line in the index beside it. To be called when the
 * journal is closed. Never rejects: the journal holds everything this is made from. Undefined: nothing was kept.
 */
export async function finishHistory(folder: string, result: RunResult): Promise<RunSummary | undefined> {
  try {
    const seen = await glance(folder)
    if (seen?.start === undefined) return undefined
    const summary = summaryOf(result, seen.start.file, seen.times)
    const text = `${JSON.stringify(summary)}\n`
    replaceFile(join(folder, summaryName), text)
    appendFileSync(join(dirname(folder), indexName), text, { mode })
    return summary
  } catch {
    return undefined
  }
}

export interface RunIndexFile {
  /** The ids of all runs, the newest first. */
  readonly ids: readonly string[]
  /** Of runs that have ended; it may be older than what the folder of the run holds now. */
  readonly summaries: ReadonlyMap<string, RunSummary>
}

/**
 * The runs of a workspace. Lines that cannot be read are taken from the folders again, lines of runs that are gone are
 * left out, and an index that is mostly such lines is rewritten.
 */
export function readIndex(runs: string): RunIndexFile {
  const ids = runIds(runs)
  const present = new Set(ids)
  const summaries = new Map<string, RunSummary>()
  const lines = linesOf(join(runs, indexName))
  let damaged = 0
  for (const line of lines) {
    const summary = readSummary(line)
    if (summary === undefined) damaged += 1
    else if (present.has(summary.id)) summaries.set(summary.id, summary)
  }
  const found = ids.filter((id) => !summaries.has(id)).flatMap((id) => summaryIn(join(runs, id)) ?? [])
  for (const summary of found) summaries.set(summary.id, summary)
  if (found.length > 0 || damaged > 0 || lines.length > 2 * summaries.size + 100) rewrite(runs, summaries)
  return { ids, summaries }
}

/** The summary a run folder holds; undefined for none, or one that is not its own. */
export function summaryIn(folder: string): RunSummary | undefined {
  const file = join(folder, summaryName)
  // most folders without one are of interrupted runs
  if (!existsSync(file)) return undefined
  try {
    const summary = readSummary(readFileSync(file, 'utf8'))
    return summary?.id === basename(folder) ? summary : undefined
  } catch {
    return undefined
  }
}

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  } catch {
    return []
  }
}

/** A line that another process adds meanwhile may be lost: it is found in the folder of its run next time. */
function rewrite(runs: string, summaries: ReadonlyMap<string, RunSummary>): void {
  const oldestFirst = [...summaries.values()].toSorted((left, right) => (left.id < right.id ? -1 : 1))
  try {
    replaceFile(join(runs, indexName), oldestFirst.map((summary) => `${JSON.stringify(summary)}\n`).join(''))
  } catch {
    // only a cache
  }
}

function replaceFile(file: string, text: string): void {
  const temporary = join(dirname(file), `.${basename(file)}-${randomName()}.tmp`)
  try {
    writeFileSync(temporary, text, { mode, flag: 'wx' })
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/** The folder of the newest run that has begun and has not succeeded. @throws BatonError USAGE when there is none */
export async function unfinishedRun(folder: string): Promise<string> {
  for (const id of runIds(folder)) {
    const run = join(folder, id)
    const seen = await glance(run)
    // one that was killed before it had said what it runs has done nothing
    if (seen?.start === undefined || !isResumable(seen.start) || hasSucceeded(run, seen)) continue
    return run
  }
  throw new BatonError('USAGE', 'no run of this workspace can be resumed', { hint: 'See baton runs.' })
}

function isResumable(start: NonNullable<Glance['start']>): boolean {
  return undoneRun(start) === undefined && !isConversation(start)
}

/** The end of a run is written before the disk says that it is there: only the summary knows of a sync that failed. */
function hasSucceeded(folder: string, { end, times }: Glance): boolean {
  if (end?.exit !== 0) return false
  const summary = summaryIn(folder)
  return summary?.epochs !== times.epochs || summary.exit === 0
}
