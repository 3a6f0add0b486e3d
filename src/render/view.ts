import { formatClock, formatCost, formatCount, formatUsage, oneLine } from './format.ts'
import type { Lane } from './lane.ts'
import type { Progress } from './progress.ts'
import type { Paint } from './style.ts'
import { cutEnd, cutMiddle, cutStart, widthOf } from '../base/width.ts'

/** The screen and the moment the live view is drawn for. */
export interface Frame extends Room {
  readonly rows: number
  /** Milliseconds since the run started, on the same clock as the times of lanes. */
  readonly now: number
  /** Whether the run is being stopped. */
  readonly isStopping: boolean
}

interface Room {
  readonly columns: number
  readonly paint: Paint
}

/** A line as written, and its width in columns without color codes. */
export interface Line {
  readonly text: string
  readonly width: number
}

/** A piece of a line: harmless text without line breaks. */
interface Segment {
  readonly text: string
  readonly format?: Parameters<Paint>[0]
}

const mostLines = 8
const leastColumns = 10

/**
 * The live view: a header with the totals, then what is in progress, oldest first. It takes at most a third of the
 * screen, and each line is narrower than the screen; nothing is drawn on a screen that is too small.
 */
export function composeView(progress: Progress, frame: Frame): readonly Line[] {
  const most = Math.min(mostLines, Math.floor(frame.rows / 3))
  if (most < 1 || frame.columns < leastColumns) return []
  const all = [...progress.lanes.values()]
  // the agent that is the target has no line while its inputs have one
  const begun = all.length > 1 ? all.filter(({ key }) => !/(?:^|\/)main$/.test(key)) : all
  // queued agents come last: if there is no room, they are only counted
  const lanes = [
    ...begun.filter(({ isQueued }) => isQueued !== true),
    ...begun.filter(({ isQueued }) => isQueued === true),
  ]
  const isStarting = lanes.length === 0 && progress.finished === 0
  // the last column stays free: some terminals wrap once it is written to
  const room = { columns: frame.columns - 1, paint: frame.paint }
  const head = joinWhole([...totalsOf(progress, frame), { text: isStarting ? 'starting' : '' }], room)
  const lines = progress.planned > 1 || lanes.length > 1 ? manyLanes : onlyLane
  return [head, ...lines(lanes, most - 1, { ...frame, ...room })]
}

/** Lines of other origin below the view: the last ones, each cut at its start to the width. */
export function composeBelow(texts: readonly string[], { columns, rows }: Frame): readonly Line[] {
  const most = Math.floor(rows / 3)
  if (most < 1 || columns < leastColumns) return []
  return texts.slice(-most).map((whole) => {
    const text = cutStart(oneLine(whole), columns - 1)
    return { text, width: widthOf(text) }
  })
}

function manyLanes(lanes: readonly Lane[], most: number, frame: Frame): readonly Line[] {
  if (most < 1) return []
  const shown = lanes.length <= most ? lanes : lanes.slice(0, most - 1)
  const longest = Math.max(0, ...shown.map(({ label }) => widthOf(label)))
  const labelWidth = Math.min(longest, Math.floor(frame.columns * 0.4))
  const lines = shown.map((lane) => laneLine(lane, labelWidth, frame))
  return shown.length === lanes.length ? lines : [...lines, moreLine(lanes.slice(shown.length), frame)]
}

const indent: Segment = { text: '  ' }

/** The only task of a run has a second line: the end of the streamed text. */
function onlyLane([lane]: readonly Lane[], most: number, frame: Frame): readonly Line[] {
  if (lane === undefined) return []
  const line = fitLine([indent, { text: cutMiddle(lane.label, frame.columns - 2) }, ...stepsOf(lane, frame)], frame)
  const tail = tailOf(lane, frame.columns - 2)
  const lines = tail === '' ? [line] : [line, fitLine([indent, { text: tail, format: 'dim' }], frame)]
  return lines.slice(0, most)
}

const leastTail = 12
/** Maximum columns of a call that shows its progress. */
const mostOfCall = 40

function laneLine(lane: Lane, labelWidth: number, frame: Frame): Line {
  const label = cutMiddle(lane.label, labelWidth)
  const padding = ' '.repeat(Math.max(0, labelWidth - widthOf(label)))
  const segments = [indent, { text: label + padding }, ...stepsOf(lane, frame)]
  const left = frame.columns - segments.reduce((sum, { text }) => sum + widthOf(text), 0) - 2
  const tail = left < leastTail ? '' : tailOf(lane, left)
  return fitLine([...segments, ...(tail === '' ? [] : [{ text: `  ${tail}`, format: 'dim' } as const])], frame)
}

function moreLine(lanes: readonly Lane[], frame: Frame): Line {
  const waiting = lanes.filter(({ activity }) => activity.kind === 'retry').length
  const retries = waiting === 0 ? '' : `, ${formatCount(waiting)} waiting to retry`
  const queued = lanes.filter(({ isQueued }) => isQueued === true).length
  const turns = queued === 0 ? '' : `, ${formatCount(queued)} queued`
  return fitLine([{ text: `  + ${formatCount(lanes.length)} more${turns}${retries}`, format: 'dim' }], frame)
}

/** `  pre_task code-map answering 12s`. */
function stepsOf(lane: Lane, { now }: Frame): readonly Segment[] {
  const stage = lane.stage === lane.label ? '' : lane.stage
  const steps = `${stage} ${agentPart(lane)}`.trim()
  const activity = activityOf(lane, now)
  return [
    ...(lane.items === undefined ? [] : [{ text: `  ${countsText(lane.items)}` }]),
    ...(steps === '' ? [] : [{ text: `  ${steps}`, format: 'cyan' } as const]),
    { text: `  ${formatClock(now - lane.since)}`, format: 'dim' },
    ...(lane.costUsd === undefined || lane.costUsd === 0 ? [] : [{ text: `  ${formatCost(lane.costUsd)}` }]),
    ...(activity.text === '' ? [] : [{ ...activity, text: `  ${activity.text}` }]),
  ]
}

/** The agent that started last, and how many enclose it. */
function agentPart({ key, agents }: Lane): string {
  const names = [...agents].filter(([place, name]) => place !== key && name !== '').map(([, name]) => name)
  const last = names.at(-1)
  if (last === undefined) return ''
  const outer = names.length - 1
  return outer === 0 ? last : `${last} (+${outer})`
}

function activityOf({ activity, calls, isQueued }: Lane, now: number): Segment {
  if (isQueued === true) return { text: 'queued', format: 'dim' }
  switch (activity.kind) {
    case 'none': {
      const [call] = calls.values()
      if (call === undefined) return { text: '' }
      const text = call.progress === undefined ? call.text : `${cutEnd(call.text, mostOfCall)}: ${call.progress}`
      return { text: calls.size > 1 ? `${text} (+${calls.size - 1})` : text }
    }
    case 'asking':
      return { text: activity.model === undefined ? 'asking the model' : `asking ${activity.model}` }
    case 'thinking':
      return { text: 'thinking' }
    case 'answering':
      return { text: 'answering' }
    case 'retry': {
      const wait = activity.until - now
      if (wait <= 0) return { text: 'retrying' }
      return { text: `retry in ${formatClock(wait + 999)}: ${activity.message}`, format: 'yellow' }
    }
  }
}

function tailOf({ tail }: Lane, columns: number): string {
  return cutStart(oneLine(tail).trim(), columns)
}

/** `41s · 37/1,000 tasks · 2 failed · $0.013 · 45,120 tokens in, 3,201 out`. */
export function totalsOf(
  progress: Progress,
  { now, isStopping }: Pick<Frame, 'now' | 'isStopping'>,
): readonly Segment[] {
  const { title, failed, skipped, costUsd, usage } = progress
  return [
    { text: formatClock(now), format: 'dim' },
    { text: isStopping ? 'stopping' : '', format: 'yellow' },
    { text: progress.iteration, format: 'cyan' },
    { text: donePart(progress), format: 'bold' },
    { text: progress.team },
    { text: failed > 0 ? `${formatCount(failed)} failed` : '', format: 'red' },
    { text: skipped > 0 ? `${formatCount(skipped)} skipped` : '', format: 'yellow' },
    { text: formatCost(costUsd) },
    { text: formatUsage(usage) },
    { text: title, format: 'dim' },
  ]
}

function countsText({ planned, finished }: { readonly planned: number; readonly finished: number }): string {
  return `${formatCount(finished)}/${formatCount(planned)}`
}

function donePart({ target, planned, finished, steps }: Progress): string {
  if (steps !== undefined) return `${countsText(steps)} steps`
  if (target === 'agent') return finished > 0 ? `${formatCount(finished)} done` : ''
  return planned > 1 ? `${countsText({ planned, finished })} tasks` : ''
}

/**
 * The line that remains after the run: its outcome and totals. Undefined for a run without models and tasks, and for a
 * skipped one, whose reason is reported elsewhere.
 */
export function composeEnd(progress: Progress, frame: Frame): Line | undefined {
  const [clock, ...totals] = totalsOf(progress, { ...frame, isStopping: false }).filter(({ text }) => text !== '')
  const outcome = outcomeOf(progress)
  if (outcome === undefined || clock === undefined || totals.length === 0) return undefined
  return joinWhole([outcome, clock, ...totals], { columns: frame.columns - 1, paint: frame.paint })
}

function outcomeOf({ ending }: Progress): Segment | undefined {
  switch (ending) {
    case undefined:
    case 'skipped':
      return undefined
    case 'done':
      return { text: 'done', format: 'green' }
    case 'cancelled':
      return { text: 'stopped', format: 'yellow' }
    case 'suspended':
      return { text: 'suspended', format: 'yellow' }
    case 'waiting_for_approval':
      return { text: 'waiting for approval', format: 'yellow' }
    case 'limit':
    case 'budget':
    case 'error':
    case 'until_not_met':
      return { text: 'failed', format: 'red' }
  }
}

/** Joins segments and truncates the line to the width. */
function fitLine(segments: readonly Segment[], { columns, paint }: Room): Line {
  let text = ''
  let width = 0
  for (const { text: whole, format } of segments) {
    const piece = cutEnd(whole, columns - width)
    width += widthOf(piece)
    text += format === undefined || piece.trim() === '' ? piece : paint(format, piece)
    if (piece !== whole) break
  }
  return { text, width }
}

const separator = ' · '

/** Joins segments with ` · `, in order of importance, and omits those that do not fit as a whole. */
function joinWhole(segments: readonly Segment[], { columns, paint }: Room): Line {
  const shown: Segment[] = []
  let left = columns + separator.length
  for (const segment of segments.filter(({ text }) => text !== '')) {
    const needed = widthOf(segment.text) + separator.length
    if (needed > left) continue
    left -= needed
    shown.push(...(shown.length === 0 ? [] : [{ text: separator, format: 'dim' } as const]), segment)
  }
  return fitLine(shown, { columns, paint })
}
