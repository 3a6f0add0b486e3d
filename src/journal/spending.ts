import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { namesIn } from '../base/entries.ts'
import type { Spent } from '../event/meter.ts'
import { runIds } from './find-run.ts'
import { nodeFiles } from './file-port.ts'
import { readIndex } from './index-file.ts'
import { noMask } from './secrets.ts'
import { epochsIn, segmentFile } from './segment.ts'
import { openFileRecords } from './source.ts'
import type { RunSummary } from './summary.ts'

/** A stretch of time that a limit is for, by the clock and the time zone of this machine. */
export type Period = 'day' | 'month'

/** When a period that contains a time began, and when the next one begins. Milliseconds since 1970. */
export function periodAround(period: Period, time: number): { readonly start: number; readonly end: number } {
  const now = new Date(time)
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()]
  return period === 'day'
    ? { start: new Date(year, month, day).getTime(), end: new Date(year, month, day + 1).getTime() }
    : { start: new Date(year, month, 1).getTime(), end: new Date(year, month + 1, 1).getTime() }
}

/** US dollars that runs have cost since a time: of all workspaces, and of each by its id. */
interface Spending {
  readonly all: number
  readonly workspaces: ReadonlyMap<string, number>
}

/** Adds up what runs have cost, again and again: only what has changed is read. */
export interface SpendingReader {
  /** `without`: ids of runs that are counted in another way. */
  readonly since: (start: number, without: ReadonlySet<string>) => Promise<Spending>
}

/**
 * Reads the runs below `root`, one folder for each workspace. A run that was finished within the time is known from the index;
 * of one that began before or has no end, each call counts at the time of its end.
 */
export function createSpendingReader(root: string): SpendingReader {
  const indexes = new Map<string, { readonly mark: string; readonly summaries: ReadonlyMap<string, RunSummary> }>()
  const scanned = new Map<string, { readonly mark: string; readonly calls: readonly PaidAt[] }>()

  function summariesOf(folder: string): ReadonlyMap<string, RunSummary> {
    const mark = markOf(join(folder, 'index.jsonl'))
    const known = indexes.get(folder)
    if (known !== undefined && known.mark === mark && mark !== '') return known.summaries
    const { summaries } = readIndex(folder)
    indexes.set(folder, { mark, summaries })
    return summaries
  }

  async function callsOf(run: string): Promise<readonly PaidAt[]> {
    const mark = markOf(segmentFile(run, epochsIn(run, nodeFiles).at(-1) ?? 1))
    const known = scanned.get(run)
    if (known?.mark === mark) return known.calls
    const calls = await readCalls(run)
    scanned.set(run, { mark, calls })
    return calls
  }

  async function costOf(run: string, start: number, summary: RunSummary | undefined): Promise<number> {
    const isFinished = summary !== undefined && !existsSync(segmentFile(run, summary.epochs + 1))
    if (isFinished && summary.ended !== null) {
      if (Date.parse(summary.ended) < start) return 0
      if (Date.parse(summary.started) >= start) return summary.cost_usd ?? 0
    } else if (changedAt(run) < start) return 0
    return sum((await callsOf(run)).flatMap(({ time, usd }) => (time >= start ? [usd] : [])))
  }

  return {
    async since(start, without) {
      const workspaces = new Map<string, number>()
      for (const name of namesIn(root)) {
        const folder = join(root, name)
        const summaries = summariesOf(folder)
        let cost = 0
        for (const id of runIds(folder)) {
          if (!without.has(id)) cost += await costOf(join(folder, id), start, summaries.get(id))
        }
        if (cost > 0) workspaces.set(name, cost)
      }
      return { all: sum([...workspaces.values()]), workspaces }
    },
  }
}

/** A paid call, and when it ended. */
interface PaidAt {
  readonly time: number
  readonly usd: number
}

/** What the calls of a run have cost, as far as their price is known. Of damaged records, what can be read. */
export async function readCalls(run: string): Promise<readonly PaidAt[]> {
  const calls: PaidAt[] = []
  const source = openFileRecords(run, { mask: noMask })
  try {
    await source.scan((record) => {
      if (record.k !== 'ended' || record.spent === undefined) return
      const spent = source.value(record.spent) as readonly Spent[]
      calls.push({ time: record.t, usd: sum(spent.map(({ costUsd }) => costUsd ?? 0)) })
    })
  } catch {
    // a run that is removed meanwhile, or whose record cannot be read
  } finally {
    source.close()
  }
  return calls
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}

/** Changes whenever the file does; empty if there is none. */
function markOf(file: string): string {
  const status = statSync(file, { throwIfNoEntry: false })
  return status === undefined ? '' : `${status.ino}/${status.size}/${status.mtimeMs}`
}

function changedAt(run: string): number {
  const newest = epochsIn(run, nodeFiles).at(-1)
  if (newest === undefined) return 0
  return statSync(segmentFile(run, newest), { throwIfNoEntry: false })?.mtimeMs ?? 0
}
