import { isObject } from '../base/json.ts'
import { openFileRecords } from '../journal/file-records.ts'
import type { Location } from '../journal/place-tree.ts'
import type { JournalRecord } from '../journal/record.ts'
import type { RecordSource } from '../journal/run-index.ts'
import { noMask } from '../journal/secrets.ts'
import { type CallRecord, callText, isRecordedAlike } from './call-text.ts'
import { dataText } from './data-lines.ts'
import { startedOf } from './part-view.ts'
import { answerText, promptText } from './prompt-text.ts'
import { errorOf, valueOf } from './recorded.ts'
import { type Part, readTree, type RunTree } from './run-tree.ts'

/** Something that two runs do not have in common. `before` and `after` are null where a run lacks it. */
export interface Difference {
  readonly kind: 'source' | 'prompt' | 'answer' | 'request' | 'result' | 'call' | 'part'
  /** The place; of a source its name. */
  readonly place: string
  readonly before: string | null
  readonly after: string | null
}

export interface DiffSide {
  readonly tree: RunTree
  readonly source: RecordSource
}

/** A call that takes more characters is shown on several lines. */
const longestLine = 400

type Sides<T> = readonly [before: T, after: T]

/**
 * What differs between two runs, by place: sources, prompts, answers, effects and host calls. Times, costs and the seeds
 * of random numbers are no differences: what they lead to is.
 */
export function* compareRuns(before: DiffSide, after: DiffSide): Generator<Difference> {
  yield* compareSources([before, after])
  yield* compareParts([before.tree.root, after.tree.root], [before.source, after.source])
}

function* compareSources(sides: Sides<DiffSide>): Generator<Difference> {
  const [one, other] = sides
  for (const name of new Set([...one.tree.sources.keys(), ...other.tree.sources.keys()])) {
    const records = [recordAt(one, name), recordAt(other, name)] as const
    const texts = records.map((record, index) =>
      record?.k === 'source' ? sourceText(valueOf(record.value, (sides[index] ?? one).source)) : null,
    )
    if (texts[0] !== texts[1]) {
      yield { kind: 'source', place: name, before: texts[0] ?? null, after: texts[1] ?? null }
    }
  }
}

function recordAt({ tree, source }: DiffSide, name: string): JournalRecord | undefined {
  const location = tree.sources.get(name)
  return location === undefined ? undefined : source.at(location)
}

/** A prompt file is recorded in parts, an agent as its text, config as a table. */
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
  const [before, after] = parts
  const started = [startedOf(before, sources[0]), startedOf(after, sources[1])] as const
  const [one, other] = started
  const { place } = before
  if (one === undefined && other === undefined) return
  const isModel = (one ?? other)?.kind === 'model'
  if (one?.fp !== other?.fp || one?.kind !== other?.kind) {
    const show = isModel ? promptText : dataText
    yield {
      kind: isModel ? 'prompt' : 'request',
      place,
      before: one === undefined ? null : show(valueOf(one.request, sources[0])),
      after: other === undefined ? null : show(valueOf(other.request, sources[1])),
    }
  }
  const [was, is] = [resultOf(before, sources[0]), resultOf(after, sources[1])]
  if (was !== is) yield { kind: isModel ? 'answer' : 'result', place, before: was, after: is }
}

function resultOf(part: Part, source: RecordSource): string | null {
  const record = part.ended === undefined ? undefined : source.at(part.ended)
  if (record?.k !== 'ended') return null
  if (record.status !== 'ok') return `error: ${errorOf(record, source) ?? ''}`
  const value = valueOf(record.value, source)
  return record.kind === 'model' ? answerText(value) : dataText(value)
}

function* compareCalls(parts: Sides<Part>, sources: Sides<RecordSource>): Generator<Difference> {
  const [before, after] = parts
  for (const place of new Set([...before.answers.keys(), ...after.answers.keys()])) {
    const calls = [callAt(before.answers.get(place), sources[0]), callAt(after.answers.get(place), sources[1])] as const
    const [one, other] = calls
    if (isTime(one ?? other) || (one && other && isRecordedAlike(one, other))) continue
    const short = textsOf(calls, 'short', sources)
    if (short[0] === short[1]) continue
    const isShort = short.every((text) => text === null || text.length <= longestLine)
    const texts = isShort ? short : textsOf(calls, 'whole', sources)
    yield { kind: 'call', place, before: texts[0], after: texts[1] }
  }
}

function callAt(location: Location | undefined, source: RecordSource): CallRecord | undefined {
  const record = location === undefined ? undefined : source.at(location)
  return record?.k === 'obs' || record?.k === 'call' ? record : undefined
}

function textsOf(
  calls: Sides<CallRecord | undefined>,
  shape: 'short' | 'whole',
  sources: Sides<RecordSource>,
): Sides<string | null> {
  const textOf = (call: CallRecord | undefined, source: RecordSource): string | null =>
    call === undefined ? null : callText(call, shape, source)
  return [textOf(calls[0], sources[0]), textOf(calls[1], sources[1])]
}

function isTime(record: CallRecord | undefined): boolean {
  return /^(?:aip\.time\.|math\.randomseed$)/.test(record?.name ?? '')
}

/** One of the runs to be compared, from its folder. Its `source` is to be closed. */
export async function openSide(folder: string): Promise<DiffSide> {
  const source = openFileRecords(folder, { mask: noMask })
  try {
    return { source, tree: await readTree(source, { most: Number.POSITIVE_INFINITY, keepsAnswers: true }) }
  } catch (error) {
    source.close()
    throw error
  }
}
