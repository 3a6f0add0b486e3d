import { isObject } from '../base/json.ts'
import { summaryIn } from '../journal/index-file.ts'
import { openFileRecords, type RecordSource } from '../journal/source.ts'
import type { Location } from '../journal/tree.ts'
import type { JournalRecord } from '../journal/record.ts'
import { noMask } from '../journal/secrets.ts'
import {
  answerText,
  type CallRecord,
  callText,
  dataText,
  errorOf,
  isRecordedAlike,
  promptText,
  valueOf,
} from './recorded.ts'
import { startedOf } from './part-view.ts'
import { readRunSummary } from './run-list.ts'
import { findPart, type Part, readTree, type RunTree } from './run-tree.ts'

/** A difference between two runs. `before` and `after` are null if that run lacks it. */
export interface Difference {
  readonly kind: 'source' | 'prompt' | 'answer' | 'request' | 'result' | 'call' | 'part'
  /** The place; for a source, its name. */
  readonly place: string
  readonly before: string | null
  readonly after: string | null
}

export interface DiffSide {
  readonly tree: RunTree
  readonly source: RecordSource
}

/** A call with more characters is shown on several lines. */
const longestLine = 400

type Sides<T> = readonly [before: T, after: T]

/**
 * The differences between two runs, by place: sources, prompts, answers, effects and host calls. Times, costs and the
 * seeds of random numbers do not count: their consequences do.
 */
export function* compareRuns(before: DiffSide, after: DiffSide): Generator<Difference> {
  yield* compareSources([before, after])
  yield* compareParts([before.tree.root, after.tree.root], [before.source, after.source])
}

/** The same for one part of each, for example two iterations of a run. Undefined if one run has no such part. */
export function compareWithin(
  before: DiffSide & { readonly within: string },
  after: DiffSide & { readonly within: string },
): Generator<Difference> | undefined {
  const [one, other] = [before, after].map(({ tree, within }) => findPart(tree.root, within))
  if (one === undefined || other === undefined) return undefined
  return compareParts([one, other], [before.source, after.source])
}

function* compareSources(sides: Sides<DiffSide>): Generator<Difference> {
  for (const name of new Set(sides.flatMap(({ tree }) => [...tree.sources.keys()]))) {
    const [before, after] = eachOf(sides, ({ tree, source }) => {
      const record = recordAt(tree.sources.get(name), source)
      return record?.k === 'source' ? sourceText(valueOf(record.value, source)) : null
    })
    if (before !== after) yield { kind: 'source', place: name, before, after }
  }
}

function eachOf<T, R>([before, after]: Sides<T>, map: (side: T, index: 0 | 1) => R): Sides<R> {
  return [map(before, 0), map(after, 1)]
}

function recordAt(location: Location | undefined, source: RecordSource): JournalRecord | undefined {
  return location === undefined ? undefined : source.at(location)
}

/** A prompt file is recorded in parts, an agent as text, config as a table. */
function sourceText(value: unknown): string {
  if (isObject(value) && typeof value['prompt'] === 'string') return value['prompt']
  return dataText(value)
}

function* compareParts(parts: Sides<Part>, sources: Sides<RecordSource>): Generator<Difference> {
  yield* compareEffects(parts, sources)
  yield* compareCalls(parts, sources)
  const [before, after] = parts
  for (const name of new Set([...before.parts.keys(), ...after.parts.keys()])) {
    const [one, other] = [before.parts.get(name), after.parts.get(name)]
    if (one !== undefined && other !== undefined) yield* compareParts([one, other], sources)
    else if (one !== undefined) yield { kind: 'part', place: one.place, before: paidText(one), after: null }
    else if (other !== undefined) yield { kind: 'part', place: other.place, before: null, after: paidText(other) }
  }
}

function paidText({ paid }: Part): string {
  return paid.calls === 0 ? 'no model calls' : `${paid.calls} model call${paid.calls === 1 ? '' : 's'}`
}

function* compareEffects(parts: Sides<Part>, sources: Sides<RecordSource>): Generator<Difference> {
  const started = eachOf(parts, (part, index) => startedOf(part, sources[index]))
  const [one, other] = started
  const [{ place }] = parts
  if (one === undefined && other === undefined) return
  const isModel = (one ?? other)?.kind === 'model'
  if (one?.fp !== other?.fp || one?.kind !== other?.kind) {
    const show = isModel ? promptText : dataText
    const [before, after] = eachOf(started, (record, index) =>
      record === undefined ? null : show(valueOf(record.request, sources[index])),
    )
    // the request also differs if only earlier turns differ, which are reported themselves
    if (!isModel || before !== after) yield { kind: isModel ? 'prompt' : 'request', place, before, after }
  }
  const [before, after] = eachOf(parts, (part, index) => resultOf(part, sources[index]))
  if (before !== after) yield { kind: isModel ? 'answer' : 'result', place, before, after }
}

function resultOf(part: Part, source: RecordSource): string | null {
  const record = recordAt(part.ended, source)
  if (record?.k !== 'ended') return null
  if (record.status !== 'ok') return `error: ${errorOf(record, source) ?? ''}`
  const value = valueOf(record.value, source)
  return record.kind === 'model' ? answerText(value) : dataText(value)
}

function* compareCalls(parts: Sides<Part>, sources: Sides<RecordSource>): Generator<Difference> {
  for (const place of new Set(parts.flatMap(({ answers }) => [...answers.keys()]))) {
    const calls = eachOf(parts, ({ answers }, index) => callAt(answers.get(place), sources[index]))
    const [one, other] = calls
    if (isTime(one ?? other) || (one && other && isRecordedAlike(one, other))) continue
    const textsIn = (shape: 'short' | 'whole'): Sides<string | null> =>
      eachOf(calls, (call, index) => (call === undefined ? null : callText(call, shape, sources[index])))
    const short = textsIn('short')
    if (short[0] === short[1]) continue
    const isShort = short.every((text) => text === null || text.length <= longestLine)
    const [before, after] = isShort ? short : textsIn('whole')
    yield { kind: 'call', place, before, after }
  }
}

function callAt(location: Location | undefined, source: RecordSource): CallRecord | undefined {
  const record = recordAt(location, source)
  return record?.k === 'obs' || record?.k === 'call' ? record : undefined
}

function isTime(record: CallRecord | undefined): boolean {
  return /^(?:aip\.time\.|math\.randomseed$)/.test(record?.name ?? '')
}

/** Opens a run folder for comparison. The caller closes its `source`. */
export async function openSide(folder: string): Promise<DiffSide> {
  const source = openFileRecords(folder, { mask: noMask })
  try {
    return { source, tree: await readTree(source, { most: Number.POSITIVE_INFINITY, keepsAnswers: true }) }
  } catch (error) {
    source.close()
    throw error
  }
}

/** Two runs and their differences as JSON. For a thread of its own: a large text also takes long to make. */
export async function comparisonJson(before: string, after: string): Promise<string> {
  const [one, other] = [await openSide(before), await openSide(after)]
  try {
    const differences = [...compareRuns(one, other)]
    const summaryOf = (folder: string) => readRunSummary(folder, { known: summaryIn(folder) })
    return JSON.stringify({ before: await summaryOf(before), after: await summaryOf(after), differences })
  } finally {
    one.source.close()
    other.source.close()
  }
}
