import { isObject } from '../base/json.ts'
import type { JournalRecord } from '../journal/record.ts'
import type { RecordSource } from '../journal/source.ts'
import { type ErrorPlace, errorView, noError, type TokenTotals, tokenTotals } from '../journal/summary.ts'
import type { Location } from '../journal/tree.ts'
import { iterationFacts, iterationText } from './iteration.ts'
import { type DoneStatus, hasLabel, hasStatus, isGivenWork, isMember, kindOfPlace, statusOfDone } from './place-kind.ts'
import { failureOf, type RecordedFailure, timeOf, valueOf } from './recorded.ts'
import type { Break, Part } from './run-tree.ts'

export type PartStatus = DoneStatus | 'suspended' | 'unfinished'

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

/** Where the records of a tree are. */
export interface ViewContext {
  readonly source: RecordSource
  readonly breaks: readonly Break[]
}

/** The parts directly below a part that have records; intermediate names without records are skipped. */
export function viewParts(part: Part, context: ViewContext): readonly PartView[] {
  return [...part.parts.values()].flatMap((below) =>
    isShown(below) ? [viewPart(below, context)] : viewParts(below, context),
  )
}

function isShown({ begin, started, shows }: Part): boolean {
  return begin !== undefined || started !== undefined || shows.length > 0
}

/** A part with everything below it. */
export function viewPart(part: Part, context: ViewContext): PartView {
  const { source } = context
  const { place, paid, uses } = part
  const failure = failureIn(part, source)
  const { error, error_place } = failure === undefined ? noError : errorView(failure.message, failure.place)
  const { calls, usd } = paid
  return {
    place,
    kind: kindOf(part, source),
    text: textOf(part, source),
    status: statusOfPart(part, source),
    duration_ms: durationOf(part, context),
    calls,
    tokens: tokenTotals(paid),
    cost_usd: usd,
    shows: viewShows(part.shows, source),
    uses: Object.fromEntries(uses),
    error,
    error_place,
    omitted: omittedIn(part),
    parts: viewParts(part, context),
  }
}

/** Intermediate names are skipped, so parts omitted below them count as omitted here. */
export function omittedIn(part: Part): number {
  const between = [...part.parts.values()].filter((below) => !isShown(below))
  return between.reduce((sum, below) => sum + omittedIn(below), part.omitted)
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

function kindOf(part: Part, source: RecordSource): string {
  return startedOf(part, source)?.kind ?? kindOfPlace(part.place)
}

function textOf(part: Part, source: RecordSource): string {
  const { begin, done, place } = part
  const started = startedOf(part, source)
  if (started !== undefined) return describeEffect(started.kind, valueOf(started.request, source))
  const iteration = iterationFacts(part, source)
  if (iteration !== undefined) return iterationText(iteration)
  if (!hasLabel(place)) return ''
  const begun = begin === undefined ? undefined : source.at(begin)
  // older versions recorded the label only at the end
  const label =
    begun?.k === 'begin' && begun.label !== undefined
      ? valueOf(begun.label, source)
      : taskValue(place, done, source)?.['label']
  return typeof label === 'string' ? label : ''
}

function taskValue(
  place: string,
  done: Location | undefined,
  source: RecordSource,
): { readonly [key: string]: unknown } | undefined {
  if (done === undefined || !hasStatus(place)) return undefined
  const record = source.at(done)
  const value = record.k === 'done' ? valueOf(record.value, source) : undefined
  return isObject(value) ? value : undefined
}

function statusOfPart(part: Part, source: RecordSource): PartStatus {
  const { begin, done, started, place } = part
  const isSuspended = part.failure !== undefined && source.at(part.failure.location).k === 'suspended'
  if (started !== undefined) {
    const status = statusOfEffect(part)
    return status === 'unfinished' && isSuspended ? 'suspended' : status
  }
  if (iterationFacts(part, source)?.success === false) return 'failed'
  if (done !== undefined) return statusOfDone(place, taskValue(place, done, source)?.['status'])
  if (begin === undefined) return 'done'
  if (isSuspended) return 'suspended'
  return hasFailed(part) || hasFailedBelow(part) ? 'failed' : 'unfinished'
}

function statusOfEffect({ ended, isOk, choice }: Part): PartStatus {
  if (isOk === true || choice === 'done' || choice === 'found') return 'done'
  return ended === undefined && choice === undefined ? 'unfinished' : 'failed'
}

/** Whether an unfinished part below has failed. */
function hasFailedBelow({ parts }: Part): boolean {
  return [...parts.values()].some((below) => below.done === undefined && (hasFailed(below) || hasFailedBelow(below)))
}

function hasFailed(part: Part): boolean {
  if (part.started !== undefined) return statusOfEffect(part) === 'failed'
  return part.failed !== undefined || part.failure !== undefined
}

/** Milliseconds of active work on it: a run that was resumed later has breaks. */
function durationOf({ begin, done, started, ended, failure }: Part, { source, breaks }: ViewContext): number | null {
  const [from, to] = [started ?? begin, ended ?? done ?? failure?.location]
  if (from === undefined || to === undefined) return null
  const within = breaks.filter(({ last, next }) => last >= from && next <= to)
  const idle = within.map(({ last, next }) => between(last, next, source)).reduce((sum, ms) => sum + ms, 0)
  return Math.max(0, between(from, to, source) - idle)
}

/** Never negative: clocks may have been set back. */
function between(from: Location, to: Location, source: RecordSource): number {
  return Math.max(0, timeOf(to, source) - timeOf(from, source))
}

/**
 * What went wrong at a part itself. Errors in finished parts were handled by their callers, and an error that came from
 * below is reported there.
 */
function failureIn(part: Part, source: RecordSource): RecordedFailure | undefined {
  const { place, done, started, ended, failed, failure } = part
  if (started !== undefined) {
    if (statusOfEffect(part) !== 'failed') return undefined
    if (part.choice === 'fail') return { message: 'it counts as failed, as chosen with --uncertain' }
    return ended === undefined ? undefined : failureOf(source.at(ended), source)
  }
  if (done !== undefined) {
    const isValue = isMember(place) || isGivenWork(place)
    return isValue ? memberFailure(taskValue(place, done, source)) : undefined
  }
  if (failure === undefined) return failed === undefined ? undefined : failureOf(source.at(failed), source)
  const own = failureOf(source.at(failure.location), source)
  return own !== undefined && isToldBelow(part, own.message, source) ? undefined : own
}

/** The end of a member or an agent is a value, even if it failed. */
function memberFailure(value: { readonly [key: string]: unknown } | undefined): RecordedFailure | undefined {
  const error = value?.['error']
  return isObject(error) && typeof error['message'] === 'string' ? { message: error['message'] } : undefined
}

/** A caller that passes on an error may add to the message, but never shortens it. */
function isToldBelow({ parts }: Part, message: string, source: RecordSource): boolean {
  return [...parts.values()].some((below) => {
    if (below.done !== undefined) return false
    const told = failureIn(below, source)
    return (told !== undefined && message.includes(told.message)) || isToldBelow(below, message, source)
  })
}

/** The effect whose start a record is. */
export function startedOf(
  { started }: Part,
  source: RecordSource,
): Extract<JournalRecord, { k: 'started' }> | undefined {
  const record = started === undefined ? undefined : source.at(started)
  return record?.k === 'started' ? record : undefined
}

/** An effect in a few words: the model, the command line, or the path and what happens to it. */
export function describeEffect(kind: string, request: unknown): string {
  if (!isObject(request)) return ''
  const text = (name: string): string => (typeof request[name] === 'string' ? request[name] : '')
  switch (kind) {
    case 'model':
      return text('provider')
    case 'command':
      return [text('command'), ...listOf(request['args'])].join(' ')
    case 'file':
      return [text('op'), ...(text('from') === '' ? [] : [text('from'), '→']), text('path')].join(' ')
    case 'http':
      return `${text('method') || 'GET'} ${text('url')}`
    case 'mcp':
      return [text('server'), text('tool') || text('resource') || text('prompt')].join(' ')
    default:
      return text('name') || text('path')
  }
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}
