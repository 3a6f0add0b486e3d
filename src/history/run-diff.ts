import { isObject } from '../base/json.ts'
import { unifiedDiff } from '../base/unified-diff.ts'
import type { RecordSource } from '../journal/source.ts'
import type { Location } from '../journal/tree.ts'
import type { JournalRecord } from '../journal/record.ts'
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
import { endedOf, endOf, type SpentView, spentAt, startedOf } from './node-view.ts'
import { readRunSummary } from './run-list.ts'
import { everything, nodesIn, type RunNode, type RunView, withView } from './run-view.ts'

/** A difference between two runs. `before` and `after` are null if that run lacks it. */
export interface Difference {
  readonly kind: 'source' | 'prompt' | 'answer' | 'request' | 'result' | 'call' | 'part'
  /** The place; for a source, its name. */
  readonly place: string
  readonly before: string | null
  readonly after: string | null
}

/** The hunks of a unified diff from one text to the other, by lines. Ends without a newline. */
export function changedLines(before: string, after: string): string {
  const isShort = !before.includes('\n') && !after.includes('\n')
  if (isShort) return `-${before}\n+${after}`
  // without the file header, because the title already names the texts
  return unifiedDiff(before, after, { from: '', to: '' }).trimEnd().split('\n').slice(2).join('\n')
}

/** A difference as the page shows it. */
export interface ShownDifference extends Difference {
  /** The changed lines, if both runs have it. */
  readonly diff: string | null
  /** For the answer of a model: what its call took. */
  readonly spent?: { readonly before: SpentView | null; readonly after: SpentView | null }
}

/** A call with more characters is shown on several lines. */
const longestLine = 400

type Sides<T> = readonly [before: T, after: T]

/**
 * The differences between two runs, by place: sources, prompts, answers, effects and host calls. Times, costs and the
 * seeds of random numbers do not count: their consequences do.
 */
export function* compareRuns(before: RunView, after: RunView): Generator<Difference> {
  yield* compareSources([before, after])
  yield* compareNodes([before.root, after.root], [before.source, after.source])
}

/** The same for one part of each, for example two iterations of a run. */
export function compareParts(before: PartOfRun, after: PartOfRun): Generator<Difference> {
  return compareNodes([before.node, after.node], [before.view.source, after.view.source])
}

interface PartOfRun {
  readonly view: RunView
  readonly node: RunNode
}

function* compareSources(sides: Sides<RunView>): Generator<Difference> {
  const sources = eachOf(sides, (view) => new Map(view.sources.map(({ name, location }) => [name, location])))
  for (const name of new Set(sources.flatMap((one) => [...one.keys()]))) {
    const [before, after] = eachOf(sides, ({ source }, index) => {
      const record = recordAt(sources[index].get(name), source)
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

function* compareNodes(nodes: Sides<RunNode>, sources: Sides<RecordSource>): Generator<Difference> {
  yield* compareEffects(nodes, sources)
  yield* compareCalls(nodes, sources)
  const [before, after] = nodes
  for (const name of new Set([...before.children.keys(), ...after.children.keys()])) {
    const [one, other] = [before.children.get(name), after.children.get(name)]
    if (one !== undefined && other !== undefined) yield* compareNodes([one, other], sources)
    else if (one !== undefined) yield { kind: 'part', place: one.place, before: paidText(one), after: null }
    else if (other !== undefined) yield { kind: 'part', place: other.place, before: null, after: paidText(other) }
  }
}

function paidText({ paid }: RunNode): string {
  return paid.calls === 0 ? 'no model calls' : `${paid.calls} model call${paid.calls === 1 ? '' : 's'}`
}

function* compareEffects(nodes: Sides<RunNode>, sources: Sides<RecordSource>): Generator<Difference> {
  const started = eachOf(nodes, (node, index) => startedOf(node, sources[index]))
  const [one, other] = started
  const [{ place }] = nodes
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
  const [before, after] = eachOf(nodes, (node, index) => resultOf(node, sources[index]))
  if (before !== after) yield { kind: isModel ? 'answer' : 'result', place, before, after }
}

function resultOf(node: RunNode, source: RecordSource): string | null {
  const ended = endedOf(node, source)
  if (ended === undefined) return null
  if (ended.status !== 'ok') return `error: ${errorOf(ended, source) ?? ''}`
  const value = valueOf(ended.value, source)
  return ended.kind === 'model' ? answerText(value) : dataText(value)
}

function* compareCalls(nodes: Sides<RunNode>, sources: Sides<RecordSource>): Generator<Difference> {
  for (const place of new Set(nodes.flatMap(({ calls }) => [...calls.keys()]))) {
    const calls = eachOf(nodes, (node, index) => callAt(node.calls.get(place), sources[index]))
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

/**
 * Two runs and their differences as JSON, with the best score of each: null without scores. For a thread of its own: a
 * large text also takes long to make.
 */
export async function comparisonJson(before: string, after: string): Promise<string> {
  const compared = await withView(before, everything, (one) =>
    withView(after, everything, (other) => {
      const views = [one, other] as const
      const nodes = eachOf(views, ({ root }) => new Map([...nodesIn(root)].map((node) => [node.place, node])))
      return {
        differences: [...compareRuns(one, other)].map((difference) => shown(difference, views, nodes)),
        scores: { before: bestScore(one, nodes[0]), after: bestScore(other, nodes[1]) },
      }
    }),
  )
  return JSON.stringify({ before: await readRunSummary(before), after: await readRunSummary(after), ...compared })
}

type NodesByPlace = ReadonlyMap<string, RunNode>

function shown(difference: Difference, views: Sides<RunView>, nodes: Sides<NodesByPlace>): ShownDifference {
  const { kind, place, before, after } = difference
  const diff = before === null || after === null ? null : changedLines(before, after)
  if (kind !== 'answer') return { ...difference, diff }
  const [one, other] = eachOf(views, (view, index) => {
    const node = nodes[index].get(place)
    return node === undefined ? null : spentAt(node, view)
  })
  return { ...difference, diff, spent: { before: one, after: other } }
}

function bestScore({ source }: RunView, nodes: NodesByPlace): number | null {
  const scores = [...nodes.values()].flatMap((node) => endOf(node, source)?.score ?? [])
  return scores.length === 0 ? null : Math.max(...scores)
}
