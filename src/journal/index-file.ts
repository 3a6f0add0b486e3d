import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createLineReader } from '../base/appended-lines.ts'
import { createOrderReader, runIds, runWithId } from './find-run.ts'
import { hasBegun } from './has-begun.ts'
import { BatonError } from '../base/error.ts'
import { writeWholeFile } from '../base/private-file.ts'
import { readRunState, type RunState, isConversation, appliedRun, undoneRun } from './run-state.ts'
import { readSummary, type RunResult, type RunSummary, summaryOf } from './summary.ts'

/** One line per finished run. A cache: anything missing is read from the run folders. */
const indexName = 'index.jsonl'
const summaryName = 'summary.json'
/** Only the owner may read what runs were about. */
const mode = 0o600

/**
 * Stores the result of a run: `summary.json` in its folder and a line in the index next to it. Call it when the journal
 * is closed. Never rejects: the journal contains everything this is made from. Returns undefined if nothing was stored.
 */
export async function finishHistory(folder: string, result: RunResult): Promise<RunSummary | undefined> {
  try {
    const seen = await readRunState(folder)
    if (seen?.start === undefined) return undefined
    const summary = summaryOf(result, seen.start.file, seen.times)
    const text = `${JSON.stringify(summary)}\n`
    writeWholeFile(join(folder, summaryName), text)
    appendFileSync(join(dirname(folder), indexName), text, { mode })
    return summary
  } catch {
    return undefined
  }
}

export interface RunIndexFile {
  /** The ids of all runs, newest first. */
  readonly ids: readonly string[]
  /** Summaries of finished runs; they may be older than the contents of the run folders. */
  readonly summaries: ReadonlyMap<string, RunSummary>
}

/** The runs of a workspace. */
export function readIndex(runs: string): RunIndexFile {
  return createIndexReader(runs)()
}

/** How often the folder is listed, in milliseconds. */
const listEveryMs = 1_000

/**
 * Like `readIndex`, for a process that asks again and again: it reads only what was added, however many runs there are. A
 * run that was removed, or is missing in the files beside the runs, is noticed within a second. Missing lines are added
 * from the folders of the runs, and an index with unreadable lines, or mostly lines of removed runs, is rewritten.
 */
export function createIndexReader(runs: string): () => RunIndexFile {
  const readOrder = createOrderReader(runs)
  const readLines = createLineReader(join(runs, indexName))
  const summaries = new Map<string, RunSummary>()
  /** As recorded, and as they are; oldest first. */
  let order: string[] = []
  let ids: string[] = []
  let known = new Set<string>()
  /** Of the index. */
  let lines = { count: 0, unreadable: 0 }
  let listedAt = Number.NEGATIVE_INFINITY

  function add(line: string): void {
    const summary = readSummary(line)
    lines.count += 1
    if (summary === undefined) lines.unreadable += 1
    else summaries.set(summary.id, summary)
  }

  function listAll(): void {
    ids = runIds(runs, order).toReversed()
    known = new Set(ids)
    listedAt = performance.now()
    for (const id of summaries.keys()) if (!known.has(id)) summaries.delete(id)
  }

  function mend(hasPartialLine: boolean): void {
    const missing = ids.filter((id) => !summaries.has(id)).flatMap((id) => summaryIn(join(runs, id)) ?? [])
    for (const summary of missing) summaries.set(summary.id, summary)
    const isOutdated = lines.count > 2 * summaries.size + 100
    if (hasPartialLine || isOutdated || lines.unreadable > 0) rewrite(runs, summaries)
    else if (missing.length > 0) append(runs, missing)
  }

  return () => {
    const started = readOrder()
    const ended = readLines()
    if (started.isReplaced) order = []
    if (ended.isReplaced) {
      summaries.clear()
      lines = { count: 0, unreadable: 0 }
    }
    for (const id of started.lines) order.push(id)
    for (const line of ended.lines) add(line)
    if (started.isReplaced || ended.isReplaced || performance.now() - listedAt >= listEveryMs) {
      listAll()
      mend(ended.hasPartialLine)
    } else {
      for (const id of started.lines.filter((one) => !known.has(one) && runWithId(runs, one) !== undefined)) {
        known.add(id)
        ids.push(id)
      }
    }
    return { ids: ids.toReversed(), summaries }
  }
}

/** The summary in a run folder; undefined if it has none, or another run's. */
export function summaryIn(folder: string): RunSummary | undefined {
  const file = join(folder, summaryName)
  // most folders without a summary belong to interrupted runs
  if (!existsSync(file)) return undefined
  try {
    const summary = readSummary(readFileSync(file, 'utf8'))
    return summary?.id === basename(folder) ? summary : undefined
  } catch {
    return undefined
  }
}

/** Adds runs whose lines are missing, or are about to be added by the processes of the runs. */
function append(runs: string, summaries: readonly RunSummary[]): void {
  try {
    appendFileSync(join(runs, indexName), linesOf(summaries), { mode })
  } catch {
    // it is only a cache
  }
}

/** A line that another process adds meanwhile may be lost: next time it is read from the folder of its run. */
function rewrite(runs: string, summaries: ReadonlyMap<string, RunSummary>): void {
  const oldestFirst = [...summaries.values()].toSorted((left, right) => (left.id < right.id ? -1 : 1))
  try {
    writeWholeFile(join(runs, indexName), linesOf(oldestFirst))
  } catch {
    // it is only a cache
  }
}

function linesOf(summaries: readonly RunSummary[]): string {
  return summaries.map((summary) => `${JSON.stringify(summary)}\n`).join('')
}

/**
 * The folder of the newest run that was started and has not succeeded.
 * @throws BatonError USAGE if there is none
 */
export async function unfinishedRun(folder: string): Promise<string> {
  for (const id of runIds(folder)) {
    const run = join(folder, id)
    const seen = await readRunState(run)
    if (seen?.start === undefined || !isResumable(seen.start) || hasSucceeded(run, seen)) continue
    // such a run has done nothing
    if (seen.end === undefined && !(await hasBegun(run))) continue
    return run
  }
  throw new BatonError('USAGE', 'no run of this workspace can be resumed', { hint: 'See baton runs.' })
}

function isResumable(start: NonNullable<RunState['start']>): boolean {
  return undoneRun(start) === undefined && appliedRun(start) === undefined && !isConversation(start)
}

/** The end of a run is written before the final sync is confirmed: only the summary knows of a failed sync. */
function hasSucceeded(folder: string, { end, times }: RunState): boolean {
  if (end?.exit !== 0) return false
  const summary = summaryIn(folder)
  return summary?.epochs !== times.epochs || summary.exit === 0
}
