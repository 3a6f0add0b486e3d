import { statSync } from 'node:fs'
import type { Spent } from '../event/meter.ts'
import { nodeFiles, type FilePort } from '../journal/file-port.ts'
import { followJournal, type JournalFollower } from '../journal/follow.ts'
import type { RunState } from '../journal/run-state.ts'
import type { JournalRecord, RecordOf } from '../journal/record.ts'
import { noMask } from '../journal/secrets.ts'
import { epochsIn, segmentFile } from '../journal/segment.ts'
import { openFileRecords, type RecordSource } from '../journal/source.ts'
import { type ErrorView, errorView, type RunSummary, tokenTotals } from '../journal/summary.ts'
import { roundOfTask } from '../journal/tally.ts'
import { failureOf } from './recorded.ts'
import { addPaid, noPaid, type Paid } from './paid.ts'

type Totals = Pick<RunSummary, 'tasks' | 'calls' | 'tokens' | 'cost_usd' | 'models'> &
  Partial<ErrorView> &
  Pick<Counted, 'gapsMs' | 'open'>

/**
 * The totals of runs without a summary (interrupted, or still running), from their records. A process that lists the
 * same runs again and again keeps one of these, so that the records are read once, and afterwards only what was added.
 */
export interface RunTotals {
  /** In a run that failed, a task counts as failed if it was started and is not done. */
  readonly read: (folder: string, seen: Pick<RunState, 'end' | 'isRunning'>) => Promise<Totals>
  /** The run has a summary now. */
  readonly forget: (folder: string) => void
}

/** More than two of the largest pages of a list, so that the runs of a page never push out each other. */
const mostKept = 1_024

export function createRunTotals(files: FilePort = nodeFiles): RunTotals {
  /** The one asked for last is the last. */
  const counts = new Map<string, RunCount>()

  function countOf(folder: string): RunCount {
    const count = counts.get(folder) ?? createRunCount(folder, files)
    counts.delete(folder)
    counts.set(folder, count)
    const [oldest] = counts.keys()
    if (oldest !== undefined && counts.size > mostKept) counts.delete(oldest)
    return count
  }

  return {
    async read(folder, { end, isRunning }) {
      try {
        return totalsOf(await countOf(folder).read(isRunning), end, openFileRecords(folder, { mask: noMask, files }))
      } catch (error) {
        counts.delete(folder)
        throw error
      }
    },
    forget: (folder) => void counts.delete(folder),
  }
}

interface Counted {
  readonly paid: Paid
  /** Tasks. */
  readonly begun: number
  readonly done: number
  readonly skipped: number
  /** The gaps of processes that have not recorded how long they worked. */
  readonly gapsMs: number
  /** The approvals that the newest process waits for. */
  readonly open: number
}

/** Counts the records of one run again and again. */
interface RunCount {
  readonly read: (isRunning: boolean) => Promise<Counted>
}

/** While its process is alive, the records are followed; afterwards only the numbers are kept. */
function createRunCount(folder: string, files: FilePort): RunCount {
  let before: readonly SeenFile[] = []
  let followed: { readonly reader: JournalFollower; readonly counting: Counting } | undefined
  let counted: Counted | undefined
  let reading: Promise<unknown> = Promise.resolve()

  async function follow(now: readonly SeenFile[]): Promise<Counted> {
    if (followed === undefined || !goesOn(before, now)) {
      const counting = createCounting(openFileRecords(folder, { mask: noMask, files }))
      followed = { reader: followJournal(folder, files), counting }
    }
    const { reader, counting } = followed
    await reader.read(counting.add)
    return counting.counted()
  }

  async function scan(now: readonly SeenFile[]): Promise<Counted> {
    if (counted !== undefined && followed === undefined && isSame(before, now)) return counted
    followed = undefined
    const source = openFileRecords(folder, { mask: noMask, files })
    const counting = createCounting(source)
    await source.scan(counting.add).finally(() => source.close())
    return counting.counted()
  }

  async function readNow(isRunning: boolean): Promise<Counted> {
    // what is written while the files are read counts as new the next time
    const now = filesOf(folder, files)
    counted = await (isRunning ? follow(now) : scan(now))
    before = now
    return counted
  }

  return {
    read(isRunning) {
      const next = reading.then(() => readNow(isRunning))
      reading = next.catch(() => undefined)
      return next
    },
  }
}

/** The file of an epoch before it was read. */
interface SeenFile {
  readonly epoch: number
  /** Another one has the same name if it was replaced. */
  readonly identity: string
  readonly size: number
  readonly modified: number
}

function filesOf(folder: string, files: FilePort): readonly SeenFile[] {
  return epochsIn(folder, files).map((epoch) => {
    const { ino, birthtimeMs, size, mtimeMs } = statSync(segmentFile(folder, epoch))
    // the number of a removed file may be used again
    return { epoch, identity: `${ino}/${birthtimeMs}`, size, modified: mtimeMs }
  })
}

function isSameFile(before: SeenFile, now: SeenFile | undefined): boolean {
  const { epoch, identity, size, modified } = before
  return now?.epoch === epoch && now.identity === identity && now.size === size && now.modified === modified
}

function isSame(before: readonly SeenFile[], now: readonly SeenFile[]): boolean {
  return before.length === now.length && before.every((file, index) => isSameFile(file, now[index]))
}

/** Whether only the newest file has grown, and later ones have been added. */
function goesOn(before: readonly SeenFile[], now: readonly SeenFile[]): boolean {
  return before.every((file, index) => {
    const then = now[index]
    if (index < before.length - 1 || then === undefined || then.size <= file.size) return isSameFile(file, then)
    return then.epoch === file.epoch && then.identity === file.identity
  })
}

/** Counts what the records of a run report. */
interface Counting {
  /** Called with all records of the run, in their order. */
  readonly add: (record: JournalRecord) => void
  readonly counted: () => Counted
  /** How many approvals the newest process waits for. */
  readonly waits: () => number
  /** The same as in a list. `end`: how the run ended, if it has. */
  readonly totals: (end: RunState['end']) => Totals
}

/** @param source resolves values that are stored in separate files */
export function createCounting(source: Pick<RecordSource, 'value'>): Counting {
  const tasks = new Map<string, 'begun' | 'done' | 'skipped' | 'suspended'>()
  const gaps = new Map<number, number>()
  /** The places of the approvals that were not decided yet. */
  const open = new Set<string>()
  let paid = noPaid
  let round = ''
  const count = (wanted: string): number => [...tasks.values()].filter((status) => status === wanted).length

  function addTask(record: RecordOf<'begin' | 'suspended' | 'done'>): void {
    const own = roundOfTask(record.p)
    if (own === undefined) return
    if (own !== round) tasks.clear()
    round = own
    if (record.k === 'begin') tasks.set(record.p, 'begun')
    else if (record.k === 'suspended') tasks.set(record.p, 'suspended')
    else {
      const value = source.value(record.value) as { readonly status?: unknown }
      tasks.set(record.p, value.status === 'skipped' ? 'skipped' : 'done')
    }
  }

  const counted = (): Counted => ({
    paid,
    begun: count('begun'),
    done: count('done'),
    skipped: count('skipped'),
    gapsMs: [...gaps.values()].reduce((sum, ms) => sum + ms, 0),
    open: open.size,
  })

  return {
    add(record) {
      switch (record.k) {
        case 'seg':
          // a later process asks again
          return open.clear()
        case 'started':
          if (record.kind === 'approval') open.add(record.p)
          return
        case 'ended':
          open.delete(record.p)
          for (const spent of (source.value(record.spent) ?? []) as readonly Spent[]) paid = addPaid(paid, spent)
          return
        case 'gap':
          return void gaps.set(record.e, (gaps.get(record.e) ?? 0) + record.ms)
        case 'run.end':
          return void gaps.delete(record.e)
        case 'begin':
        case 'suspended':
        case 'done':
          return addTask(record)
        default:
      }
    },
    counted,
    waits: () => open.size,
    totals: (end) => totalsOf(counted(), end, source),
  }
}

function totalsOf(
  { paid, begun, done, skipped, gapsMs, open }: Counted,
  end: RunState['end'],
  source: Pick<RecordSource, 'value'>,
): Totals {
  const tasks = { done, failed: end === undefined ? 0 : begun, skipped }
  const { calls, usd: cost_usd, models } = paid
  const totals = { tasks, calls, tokens: tokenTotals(paid), cost_usd, models, gapsMs, open }
  const failure = end && failureOf(end, source)
  return failure === undefined ? totals : { ...totals, ...errorView(failure.message, failure.place) }
}
