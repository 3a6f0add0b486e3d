import { isObject } from '../base/json.ts'
import { scoreIn } from '../base/score.ts'
import type { ApprovalView } from '../event/action-view.ts'
import { parsePlace } from '../event/place.ts'
import { isUnfinished, type RunSummary } from '../journal/summary.ts'
import { boundaryAt, type IterationFacts } from './boundary-kinds.ts'
import { endedOf, endOf, labelOf, type PartStatus, type PartView, viewBelow } from './node-view.ts'
import { pendingApprovals, pendingEffects, type PendingView } from './pending.ts'
import { valueOf } from './recorded.ts'
import { type RunNode, type RunView, nodesIn, type ViewOptions } from './run-view.ts'

/** What happened in a run, for somebody who was not there. */
export interface RunFindings {
  readonly run: RunSummary
  /** Iterations; in a run without them, its tasks with their steps, items, members and agents. In their order. */
  readonly rows: readonly ReportRow[]
  /** Null without scores. */
  readonly scores: ScoreCurve | null
  readonly failures: readonly ReportFailure[]
  readonly waiting: readonly ApprovalView[]
  readonly uncertain: readonly PendingView[]
  /** Damaged parts of the journal: what they contained is missing. */
  readonly damages: number
}

export interface ReportRow {
  readonly place: string
  /** 0 for the rows of the run itself. */
  readonly depth: number
  readonly kind: 'iteration' | 'task' | 'step' | 'item' | 'member' | 'agent'
  /** What it is about; empty if the place says everything. */
  readonly label: string
  readonly status: PartStatus
  readonly duration_ms: number | null
  readonly calls: number
  /** US dollars; null if a price is unknown. */
  readonly cost_usd: number | null
  /** For an iteration. */
  readonly score: number | null
  readonly files: readonly string[]
  readonly commit: string | null
}

export interface ScoreCurve {
  /** Before the first iteration; null if it was not measured. */
  readonly before: number | null
  /** One for each iteration; null where there is none. */
  readonly points: readonly { readonly place: string; readonly score: number | null }[]
}

export interface ReportFailure {
  /** Empty for the run as a whole. */
  readonly place: string
  readonly label: string
  readonly message: string
  /** The last lines of what it printed or of a long message. */
  readonly last: readonly string[]
  readonly hint: string | null
}

/** The view that a report is made from: all parts, without host calls. */
export const reportOptions: ViewOptions = { most: Number.POSITIVE_INFINITY, keepsOpen: true }

/** `hint`: what the error that ended the run recommends. */
export function findingsIn(view: RunView, run: RunSummary, hint: string | null): RunFindings {
  const nodes = new Map([...nodesIn(view.root)].map((node) => [node.place, node]))
  const parts = viewBelow(view.root, view)
  const isOpen = isUnfinished(run.status)
  const stopped = run.status === 'cancelled' ? (run.error ?? undefined) : undefined
  const all = parts.flatMap((part) => rowsOf(part, { depth: 0, nodes, view, stopped }))
  const isIterated = all.some(({ kind }) => kind === 'iteration')
  const rows = isIterated ? all.filter(({ kind }) => kind === 'iteration') : all
  return {
    run,
    rows,
    scores: scoresIn(rows, view),
    failures: failuresIn(parts, { nodes, view, stopped, run, hint }),
    waiting: isOpen ? pendingApprovals(view.open) : [],
    uncertain: isOpen ? pendingEffects(view.open).filter(({ kind }) => kind !== 'approval') : [],
    damages: view.damages,
  }
}

interface Around {
  readonly nodes: ReadonlyMap<string, RunNode>
  readonly view: RunView
  /** The error of work that was stopped because the run was; undefined if it was not. */
  readonly stopped: string | undefined
}

function rowsOf(part: PartView, around: Around & { readonly depth: number }): readonly ReportRow[] {
  const { nodes, view, stopped, depth } = around
  const { place, status, duration_ms, calls, cost_usd } = part
  const kind = rowKind(part)
  const inside = (below: number): readonly ReportRow[] =>
    part.parts.flatMap((one) => rowsOf(one, { ...around, depth: below }))
  if (kind === undefined) return inside(depth)
  const node = nodes.get(place)
  const end = node && endOf(node, view.source)
  const text = kind === 'iteration' ? '' : ((node && labelOf(node, view.source)) ?? part.text)
  const { changed = [], commit }: Partial<IterationFacts> = end?.iteration ?? {}
  const row: ReportRow = {
    place,
    depth,
    kind,
    label: rowLabel({ place, kind, text }),
    status: status === 'failed' && wasOnlyStopped(part, stopped) ? 'unfinished' : status,
    duration_ms,
    calls,
    cost_usd,
    score: end?.score ?? null,
    files: changed,
    commit: commit ?? null,
  }
  return kind === 'iteration' ? [row] : [row, ...inside(depth + 1)]
}

/** Steps and members have names; which agent works on them says less. */
function rowLabel({
  place,
  kind,
  text,
}: {
  readonly place: string
  readonly kind: ReportRow['kind']
  readonly text: string
}): string {
  const last = parsePlace(place).at(-1)
  if (last?.kind === 'workflow_step') return last.id
  if (last?.kind === 'member') return last.name
  return kind === 'item' && text === '' ? `item ${place.slice(place.lastIndexOf('/') + 1)}` : text
}

/** Undefined for what is no work of its own: a call, a section, a sub-agent of a chain. */
function rowKind({ place, kind }: PartView): ReportRow['kind'] | undefined {
  if (/(?:^|\/)step\/[^/]+\/item\/\d+$/.test(place)) return 'item'
  if (kind === 'iteration' || kind === 'task' || kind === 'step' || kind === 'member') return kind
  return kind === 'agent' && boundaryAt(place).hasLabel ? 'agent' : undefined
}

function scoresIn(rows: readonly ReportRow[], { root, source }: RunView): ScoreCurve | null {
  const measured = [...nodesIn(root)].filter(({ place }) => /^(?:redo\/\d+\/)?before\/score$/.test(place)).at(-1)
  const ended = measured && endedOf(measured, source)
  const end = ended?.status === 'ok' ? valueOf(ended.value, source) : undefined
  const before =
    isObject(end) && typeof end['stdout'] === 'string'
      ? scoreIn({ code: Number(end['code']), stdout: end['stdout'] })
      : undefined
  const points = rows.flatMap(({ kind, place, score }) => (kind === 'iteration' ? [{ place, score }] : []))
  if (before === undefined && points.every(({ score }) => score === null)) return null
  return { before: before ?? null, points }
}

function failuresIn(
  parts: readonly PartView[],
  { run, hint, ...around }: Around & { readonly run: RunSummary; readonly hint: string | null },
): readonly ReportFailure[] {
  const last = parts.findLast(({ kind }) => kind === 'iteration')?.place
  const found = parts.flatMap((part) => failuresOf(part, { ...around, last }))
  if (around.stopped !== undefined) return found.filter(({ message }) => message !== around.stopped)
  // what a run waits for is listed beside the failures
  if (run.error === null || run.status === 'waiting_for_approval' || run.status === 'suspended') return found
  const { error } = run
  const told = found.find(
    ({ message, last }) => error.includes([message, ...last].join('\n')) || error.includes(message),
  )
  if (told === undefined) return [{ place: '', label: '', ...messageAndLast(error), hint }, ...found]
  return found.map((one) => (one === told ? { ...one, hint } : one))
}

/** A part that went on after a failure inside of it has handled it. */
function failuresOf(part: PartView, around: Around & { readonly last: string | undefined }): readonly ReportFailure[] {
  const node = around.nodes.get(part.place)
  const facts = node && endOf(node, around.view.source)?.iteration
  // the others were followed by another try
  if (facts !== undefined)
    return part.status === 'failed' || part.place === around.last ? iterationFailure(part, facts) : []
  const own =
    part.error === null ? [] : [{ place: part.place, label: part.text, ...messageAndLast(part.error), hint: null }]
  if (part.status === 'done' && part.kind !== 'task' && part.kind !== 'step') return own
  // an error that is passed on says what it was below
  const below = part.parts.flatMap((one) => failuresOf(one, around))
  return [...own, ...below.filter(({ message, last }) => part.error?.includes([message, ...last].join('\n')) !== true)]
}

/** Whether nothing in a part failed but by the end of the run. */
function wasOnlyStopped({ error, parts }: PartView, stopped: string | undefined): boolean {
  if (stopped === undefined || (error !== null && error !== stopped)) return false
  return parts.every((one) => one.status !== 'failed' || wasOnlyStopped(one, stopped))
}

/** Of an iteration, also one that only has not met its condition. */
function iterationFailure(
  { place, status }: PartView,
  { error, check, untilMet }: IterationFacts,
): readonly ReportFailure[] {
  const at = { place, label: '', hint: null }
  const { message: checked = '', last = [] } = check === undefined ? {} : messageAndLast(check)
  if (status === 'failed')
    return [{ ...at, ...(error === undefined ? { message: checked || 'it failed', last } : withLast(error, last)) }]
  return untilMet === false ? [{ ...at, message: `until was not met: ${checked}`, last }] : []
}

function withLast(error: string, last: readonly string[]): Pick<ReportFailure, 'message' | 'last'> {
  const own = messageAndLast(error)
  return own.last.length > 0 ? own : { ...own, last }
}

const mostLast = 10

/** The first line of a text, and its last ones. */
function messageAndLast(text: string): Pick<ReportFailure, 'message' | 'last'> {
  const [message = '', ...rest] = text.trimEnd().split('\n')
  return { message, last: rest.slice(-mostLast) }
}
