import { isObject } from '../base/json.ts'
import { edgesOf } from './edges.ts'
import { nodeFiles, type FilePort } from './file-port.ts'
import { type Line, readLines } from './lines.ts'
import { type Owner, type OwnerPort, processOwners } from './owner.ts'
import { lifeOf } from './ownership.ts'
import { decodeLine, isKnownRecord, type JournalRecord } from './record.ts'
import { epochsIn, segmentFile } from './segment.ts'
import type { RunTimes } from './summary.ts'

type RecordOf<Kind extends JournalRecord['k']> = Extract<JournalRecord, { readonly k: Kind }>

/** What the first and the last records of a run say, whatever its length. */
export interface RunState {
  /** Undefined if the run was interrupted before it, or it cannot be read. */
  readonly start: RecordOf<'run.start'> | undefined
  /** The end in the newest epoch. */
  readonly end: RecordOf<'run.end'> | undefined
  readonly times: RunTimes
  /** Whether the process of the newest epoch is alive and has not ended the run. */
  readonly isRunning: boolean
  /** That process, if its record can be read. */
  readonly owner?: Owner
}

export interface RunStateOptions {
  readonly files?: FilePort
  readonly owners?: OwnerPort
}

/** Reads only the first and last records of a run folder; undefined if it has no journal. */
export async function readRunState(
  folder: string,
  { files = nodeFiles, owners = processOwners }: RunStateOptions = {},
): Promise<RunState | undefined> {
  const epochs = epochsIn(folder, files)
  const [oldest, newest] = [epochs[0], epochs.at(-1)]
  if (oldest === undefined || newest === undefined) return undefined
  const spans: Span[] = []
  let last: JournalRecord | undefined
  let owner: JournalRecord | undefined
  for (const epoch of epochs) {
    const file = segmentFile(folder, epoch)
    const edges = await edgesOf(file, files)
    if (edges.first !== undefined) {
      const { worked_ms: worked, asleep_ms: asleep = 0 } = edges.last?.k === 'run.end' ? edges.last : {}
      spans.push({ from: edges.first.t, to: edges.last?.t ?? edges.first.t, worked, asleep })
    }
    last = edges.last
    owner = edges.first
  }
  const end = last?.k === 'run.end' ? last : undefined
  const claim = end === undefined && owner?.k === 'seg' ? { folder, epoch: newest, owner } : undefined
  const isRunning = claim !== undefined && (await lifeOf(claim, { files, owners, now: Date.now })) !== false
  const start = await readStart(segmentFile(folder, oldest), files)
  const { gaps_before_ms: gapsMs = 0, asleep_before_ms: asleepMs = 0 } = end ?? {}
  const times = timesOf(spans, { start, epochs: epochs.length, gapsMs, asleepMs })
  return { start, end, times, isRunning, ...(owner?.k === 'seg' ? { owner } : {}) }
}

interface Span {
  readonly from: number
  readonly to: number
  /** As the process measured it. */
  readonly worked: number | undefined
  readonly asleep: number
}

/**
 * `gapsMs`: those of processes that were killed before they could record how long they had worked; `asleepMs`: what of
 * them was sleep. The clock may have
 * been set back unnoticed: no time is negative. The header is written together with the first record.
 */
function timesOf(
  spans: readonly Span[],
  {
    start,
    epochs,
    gapsMs,
    asleepMs,
  }: {
    readonly start: RecordOf<'run.start'> | undefined
    readonly epochs: number
    readonly gapsMs: number
    readonly asleepMs: number
  },
): RunTimes {
  const started = start?.t ?? spans[0]?.from ?? 0
  let [measured, unmeasured] = [0, -gapsMs]
  for (const [index, { from, to, worked }] of spans.entries()) {
    if (worked === undefined) unmeasured += to - (index === 0 ? started : from)
    else measured += worked
  }
  const worked = measured + Math.max(0, unmeasured)
  const asleep = spans.reduce((sum, span) => sum + span.asleep, asleepMs)
  return { started, ended: spans.at(-1)?.to ?? started, worked, epochs, ...(asleep > 0 ? { asleep } : {}) }
}

/** `run.start` is the second record, unless the writer was killed before it. */
const linesToStart = 3

/** How a run was started, from its first file. */
export async function readStart(file: string, files: FilePort): Promise<RecordOf<'run.start'> | undefined> {
  let looked = 0
  for await (const line of readLines(file, files)) {
    const start = startInLines([line])
    if (start !== undefined) return start
    looked += 1
    if (looked === linesToStart) return undefined
  }
  return undefined
}

/** The same from the first lines of that file; undefined also if it is not among them. */
export function startInLines(lines: readonly Line[]): RecordOf<'run.start'> | undefined {
  for (const { bytes } of lines.slice(0, linesToStart)) {
    const record = decodeLine(bytes)
    if (record !== undefined && isKnownRecord(record) && record.k === 'run.start') return record
  }
  return undefined
}

/** Whether it is a conversation, which only its program can continue. */
export function isConversation({ facts }: Pick<RecordOf<'run.start'>, 'facts'>): boolean {
  const invocation = isObject(facts) ? facts['invocation'] : undefined
  return isObject(invocation) && invocation['conversation'] === true
}

/** The dry run whose planned changes this one has made: a record of `baton apply` can be undone, but not resumed. */
export function appliedRun({ facts }: Pick<RecordOf<'run.start'>, 'facts'>): string | undefined {
  const run = isObject(facts) ? facts['applies'] : undefined
  return typeof run === 'string' ? run : undefined
}

/** The run whose changes this one has undone: a record of `baton undo` can be undone, but not resumed. */
export function undoneRun({ facts }: Pick<RecordOf<'run.start'>, 'facts'>): string | undefined {
  const run = isObject(facts) ? facts['undoes'] : undefined
  return typeof run === 'string' ? run : undefined
}
