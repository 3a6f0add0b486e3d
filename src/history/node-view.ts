import { isObject } from '../base/json.ts'
import { isWithin } from '../event/place.ts'
import type { RecordOf } from '../journal/record.ts'
import type { RecordSource } from '../journal/source.ts'
import { type ErrorPlace, errorView, noError, type TokenTotals, tokenTotals } from '../journal/summary.ts'
import { belongsTo, type Location } from '../journal/tree.ts'
import { boundaryAt, type BoundaryEnd, type DoneStatus } from './boundary-kinds.ts'
import {
  answerText,
  dataText,
  errorOf,
  failureOf,
  promptText,
  type RecordedFailure,
  timeOf,
  valueOf,
  isPartial,
} from './recorded.ts'
import { everything, findNode, type RunNode, type RunView, withView } from './run-view.ts'

export type PartStatus = DoneStatus | 'partial' | 'suspended' | 'unfinished'

/** One part of a run, for people and programs: a task, an agent, a section of it, or an effect. */
export interface PartView {
  /** The place, as `--place` and `baton resume --from` take it. */
  readonly place: string
  readonly kind: string
  /** What it is about: the label of a task, a model, a command, a path. Empty if the place says everything. */
  readonly text: string
  readonly status: PartStatus
  readonly duration_ms: number | null
  /** Model calls at and below it. */
  readonly calls: number
  readonly tokens: TokenTotals
  readonly cost_usd: number | null
  readonly shows: readonly ShowView[]
  /** How often each host function was called. */
  readonly uses: { readonly [name: string]: number }
  readonly error: string | null
  readonly error_place: ErrorPlace | null
  readonly omitted: number
  readonly parts: readonly PartView[]
}

interface ShowView {
  readonly type: 'print' | 'pin' | 'label' | 'left_out'
  /** The label of a pin or a label; the agent of a print. For `left_out`, `text` lists paths. */
  readonly label: string
  readonly text: string
}

/** A text of a part: an input or an output. */
export interface DetailView {
  readonly place: string
  /**
   * `prompt`, `answer`, `request`, `result`, `value` of a finished part, or a host call such as `aip.file.load("a")`.
   */
  readonly title: string
  readonly text: string
}

export interface PlaceView {
  readonly part: PartView
  readonly details: readonly DetailView[]
}

/** What the texts and times of nodes are read from. */
type ViewContext = Pick<RunView, 'source' | 'breaks' | 'gaps'>

/** The part of the run in a folder at a place, in full; undefined if there are no records of it. */
export async function readPlace(folder: string, place: string): Promise<PlaceView | undefined> {
  const keeps = (at: string): boolean => belongsTo(at, place) || isWithin(place, at)
  return withView(folder, { ...everything, keeps }, (view) => {
    const node = findNode(view.root, place)
    return node && viewPlace(node, view)
  })
}

/** A part in full: with every prompt and answer, request and result, and host call at and below it. */
export function viewPlace(node: RunNode, context: ViewContext): PlaceView {
  return { part: viewNode(node, context), details: detailsOf(node, context.source) }
}

/** The parts directly below a node that have records; intermediate names without records are skipped. */
export function viewBelow(node: RunNode, context: ViewContext): readonly PartView[] {
  return [...node.children.values()].flatMap((below) =>
    isShown(below) ? [viewNode(below, context)] : viewBelow(below, context),
  )
}

function isShown({ begin, started, shows }: RunNode): boolean {
  return begin !== undefined || started !== undefined || shows.length > 0
}

/** What was spent at and below a part. */
export type SpentView = Pick<PartView, 'duration_ms' | 'calls' | 'tokens' | 'cost_usd'>

export function spentAt(node: RunNode, context: ViewContext): SpentView {
  const { paid } = node
  return { duration_ms: durationOf(node, context), calls: paid.calls, tokens: tokenTotals(paid), cost_usd: paid.usd }
}

/** A part with everything below it. */
function viewNode(node: RunNode, context: ViewContext): PartView {
  const { source } = context
  const { place, uses } = node
  const failure = failureIn(node, source)
  const { error, error_place } = failure === undefined ? noError : errorView(failure.message, failure.place)
  return {
    place,
    kind: startedOf(node, source)?.kind ?? boundaryAt(place).kind,
    text: textOf(node, source),
    status: statusOf(node, source),
    ...spentAt(node, context),
    shows: viewShows(node.shows, source),
    uses: Object.fromEntries(uses),
    error,
    error_place,
    omitted: omittedIn(node),
    parts: viewBelow(node, context),
  }
}

/** Intermediate names are skipped, so parts omitted below them count as omitted here. */
export function omittedIn(node: RunNode): number {
  const between = [...node.children.values()].filter((below) => !isShown(below))
  return between.reduce((sum, below) => sum + omittedIn(below), node.omitted)
}

export function viewShows(shows: readonly Location[], source: RecordSource): readonly ShowView[] {
  return shows.flatMap((location): readonly ShowView[] => {
    const record = source.at(location)
    const event = record.k === 'show' ? valueOf(record.event, source) : undefined
    if (!isObject(event)) return []
    const text = (name: string): string => (typeof event[name] === 'string' ? event[name] : '')
    switch (event['type']) {
      case 'print':
        return [{ type: 'print', label: text('name'), text: text('text') }]
      case 'pin':
        return [{ type: 'pin', label: text('label'), text: text('content') }]
      case 'label':
        return [{ type: 'label', label: text('scope'), text: text('label') }]
      case 'changes.left_out':
        return [{ type: 'left_out', label: '', text: [event['paths']].flat().map(String).join(', ') }]
      default:
        return []
    }
  })
}

function textOf(node: RunNode, source: RecordSource): string {
  const started = startedOf(node, source)
  if (started !== undefined) return describeEffect(started.kind, valueOf(started.request, source))
  const end = endOf(node, source)
  if (!boundaryAt(node.place).hasLabel) return end?.text ?? ''
  return labelOf(node, source) ?? end?.label ?? ''
}

/** The label with which a boundary began. Older versions recorded it only at the end. */
export function labelOf({ begin }: RunNode, source: RecordSource): string | undefined {
  const begun = begin === undefined ? undefined : source.at(begin)
  if (begun?.k !== 'begin' || begun.label === undefined) return undefined
  const label = valueOf(begun.label, source)
  return typeof label === 'string' ? label : ''
}

/** What the final value of a boundary says; undefined if it has none, or the value of its kind says nothing. */
export function endOf({ place, done }: RunNode, source: RecordSource): BoundaryEnd | undefined {
  const read = done === undefined ? undefined : boundaryAt(place).endOf
  if (done === undefined || read === undefined) return undefined
  const record = source.at(done)
  return read(record.k === 'done' ? valueOf(record.value, source) : undefined)
}

function statusOf(node: RunNode, source: RecordSource): PartStatus {
  const { begin, done, started, failure } = node
  const isSuspended = failure !== undefined && source.at(failure.location).k === 'suspended'
  if (started !== undefined) {
    const status = effectStatus(node)
    return status === 'unfinished' && isSuspended ? 'suspended' : status
  }
  if (done !== undefined) return endOf(node, source)?.status ?? 'done'
  if (begin === undefined) return 'done'
  if (isSuspended) return 'suspended'
  if (failure !== undefined && isPartial(source.at(failure.location), source)) return 'partial'
  return hasFailed(node) || hasFailedBelow(node) ? 'failed' : 'unfinished'
}

function effectStatus({ ended, isOk, choice }: RunNode): PartStatus {
  if (isOk === true || choice === 'done' || choice === 'found') return 'done'
  return ended === undefined && choice === undefined ? 'unfinished' : 'failed'
}

/** Whether an unfinished part below has failed. */
function hasFailedBelow({ children }: RunNode): boolean {
  return [...children.values()].some((below) => below.done === undefined && (hasFailed(below) || hasFailedBelow(below)))
}

function hasFailed(node: RunNode): boolean {
  if (node.started !== undefined) return effectStatus(node) === 'failed'
  return node.failed !== undefined || node.failure !== undefined
}

/** Milliseconds of active work on it: a run that was resumed later has breaks, and machines sleep. */
function durationOf(
  { begin, done, started, ended, failure }: RunNode,
  { source, breaks, gaps }: ViewContext,
): number | null {
  const [from, to] = [started ?? begin, ended ?? done ?? failure?.location]
  if (from === undefined || to === undefined) return null
  const within = breaks.filter(({ last, next }) => last >= from && next <= to)
  const idle = within.map(({ last, next }) => between(last, next, source)).reduce((sum, ms) => sum + ms, 0)
  const lost = gaps.map((gap) => lostIn(gap, { from, to }, source))
  // a clock that was set back may have made the time negative
  const whole = timeOf(to, source) - timeOf(from, source)
  return Math.max(0, lost.reduce((sum, ms) => sum - ms, whole) - idle)
}

/** A gap is recorded at the next tick, and what ends before that tick in the meantime. */
const noticedWithinMs = 2_000

/** How much of a time was lost in a gap, which was noticed a little later; negative if the clock was set back in it. */
function lostIn(
  { location, ms }: RunView['gaps'][number],
  { from, to }: { readonly from: Location; readonly to: Location },
  source: RecordSource,
): number {
  if (location < from) return 0
  if (ms < 0) return location < to ? ms : 0
  const at = timeOf(location, source)
  // it began after this
  if (location > to && Math.abs(at - timeOf(to, source)) > noticedWithinMs) return 0
  return Math.max(0, Math.min(timeOf(to, source), at) - Math.max(timeOf(from, source), at - ms))
}

/** Never negative: clocks may have been set back. */
function between(from: Location, to: Location, source: RecordSource): number {
  return Math.max(0, timeOf(to, source) - timeOf(from, source))
}

/**
 * What went wrong at a node itself. Errors in finished parts were handled by their callers, and an error that came from
 * below is reported there.
 */
function failureIn(node: RunNode, source: RecordSource): RecordedFailure | undefined {
  const { done, started, ended, failed, failure } = node
  if (started !== undefined) {
    if (effectStatus(node) !== 'failed') return undefined
    if (node.choice === 'tell') return { message: 'it was interrupted; the model was told that its outcome is unknown' }
    if (node.choice === 'fail') return { message: 'it counts as failed, as chosen with --uncertain' }
    return ended === undefined ? undefined : failureOf(source.at(ended), source)
  }
  if (done !== undefined) {
    const error = endOf(node, source)?.error
    return error === undefined ? undefined : { message: error }
  }
  if (failure === undefined) return failed === undefined ? undefined : failureOf(source.at(failed), source)
  const own = failureOf(source.at(failure.location), source)
  return own !== undefined && isReportedBelow(node, own.message, source) ? undefined : own
}

/** A caller that passes on an error may add to the message, but never shortens it. */
function isReportedBelow({ children }: RunNode, message: string, source: RecordSource): boolean {
  return [...children.values()].some((below) => {
    if (below.done !== undefined) return false
    const told = failureIn(below, source)
    return (told !== undefined && message.includes(told.message)) || isReportedBelow(below, message, source)
  })
}

/** The effect whose start a node has. */
export function startedOf({ started }: RunNode, source: RecordSource): RecordOf<'started'> | undefined {
  const record = started === undefined ? undefined : source.at(started)
  return record?.k === 'started' ? record : undefined
}

/** The end of the effect of a node. */
export function endedOf({ ended }: RunNode, source: RecordSource): RecordOf<'ended'> | undefined {
  const record = ended === undefined ? undefined : source.at(ended)
  return record?.k === 'ended' ? record : undefined
}

/** An effect in a few words: the model, the command line, or the path and what happens to it. */
export function describeEffect(kind: string, request: unknown): string {
  if (!isObject(request)) return ''
  const text = (name: string): string => (typeof request[name] === 'string' ? request[name] : '')
  switch (kind) {
    case 'model':
      return [
        text('provider'),
        ...(isObject(request['compaction']) && request['compaction']['kind'] === 'summary' ? [summaryOf] : []),
      ].join(' ')
    case 'command':
      return [text('command'), ...listOf(request['args'])].join(' ')
    case 'file':
      return [text('op'), ...(text('from') === '' ? [] : [text('from'), '→']), text('path')].join(' ')
    case 'http':
      if (Array.isArray(request['ids'])) return `batch of ${request['ids'].length} calls to ${text('provider')}`
      return `${text('method') || 'GET'} ${text('url')}`
    case 'mcp':
      return [text('server'), text('tool') || text('resource') || text('prompt')].join(' ')
    default:
      return text('name') || text('path')
  }
}

const summaryOf = '(summary of the conversation)'

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}

function detailsOf(node: RunNode, source: RecordSource): readonly DetailView[] {
  return [
    ...effectDetails(node, source),
    ...[...node.calls].map(([place, location]) => callDetail(place, location, source)),
    ...[...node.children.values()].flatMap((below) => detailsOf(below, source)),
    ...valueDetails(node, source),
  ]
}

function callDetail(place: string, location: Location, source: RecordSource): DetailView {
  const record = source.at(location)
  if (record.k !== 'obs' && record.k !== 'call') return { place, title: record.k, text: '' }
  const args = valueOf(record.args, source)
  const shown = Array.isArray(args) ? args.map((item) => JSON.stringify(item)).join(', ') : dataText(args)
  const text =
    record.status === 'ok' ? dataText(unwrapped(valueOf(record.value, source))) : (errorOf(record, source) ?? '')
  return { place, title: `${record.name}(${shown})`, text }
}

/** Host functions return lists of values, usually with a single element. */
function unwrapped(value: unknown): unknown {
  return Array.isArray(value) && value.length <= 1 ? (value[0] as unknown) : value
}

function effectDetails(node: RunNode, source: RecordSource): readonly DetailView[] {
  const started = startedOf(node, source)
  if (started === undefined) return []
  const { place } = node
  const request = valueOf(started.request, source)
  const isModel = started.kind === 'model'
  const asked = {
    place,
    title: isModel ? 'prompt' : 'request',
    text: isModel ? promptText(request) : dataText(request),
  }
  const ended = endedOf(node, source)
  if (ended === undefined) return [asked]
  if (ended.status !== 'ok') return [asked, { place, title: 'error', text: errorOf(ended, source) ?? '' }]
  const value = valueOf(ended.value, source)
  if (value === undefined) return [asked]
  return [asked, { place, title: isModel ? 'answer' : 'result', text: isModel ? answerText(value) : dataText(value) }]
}

function valueDetails({ place, done }: RunNode, source: RecordSource): readonly DetailView[] {
  const record = done === undefined ? undefined : source.at(done)
  if (record?.k !== 'done' || record.value === undefined) return []
  return [{ place, title: 'value', text: dataText(valueOf(record.value, source)) }]
}
