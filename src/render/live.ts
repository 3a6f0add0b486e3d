import { createProgress, type Progress } from './progress.ts'
import type { Renderer, Write } from './renderer.ts'
import type { Paint } from './style.ts'
import { formatClock, formatCost, formatCount, formatUsage, oneLine } from './format.ts'
import type { Lane } from './lane.ts'
import { outputLine } from './tool-text.ts'
import { cutEnd, cutMiddle, cutStart, widthOf } from '../base/width.ts'

export interface LiveOptions {
  readonly paint: Paint
  /** Size of the terminal, read for every frame. */
  readonly columns: () => number
  readonly rows: () => number
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
  /** Aborted once the run is being stopped. */
  readonly signal: AbortSignal
  /** Calls the listener when the process continues after Ctrl-Z, which leaves other text below the view. */
  readonly onContinue: (listener: () => void) => () => void
  /** Further lines at the end of the view; the last ones are shown if there is no room for all. */
  readonly below?: (() => readonly BelowLine[]) | undefined
}

/** A line below the view: what the user types, or one that waits for its turn. */
export interface BelowLine {
  readonly text: string
  readonly isQueued: boolean
}

export interface LiveView extends Required<Renderer> {
  /** A writer for whole lines that scroll by above the view, on the same terminal. */
  readonly above: (write: Write) => Write
  /** Hides the view while the terminal shows a prompt. Lines above it are held back too, until the result is called. */
  readonly hold: () => () => void
}

const frameMs = 100
/** How many times per frame the view is redrawn immediately after lines above it. */
const promptRedraws = 3

/**
 * Draws what is in progress in a few lines at the bottom of the terminal, at most ten times a second and only if
 * something has changed. All other output scrolls by above it. The timer does not keep the process alive.
 */
export function createLiveView(write: Write, options: LiveOptions): LiveView {
  const { paint, columns, rows, now, signal, onContinue, below = () => [] } = options
  const begin = now()
  const clock = (): number => now() - begin
  const progress = createProgress(clock)
  const block = createBlock(write, columns)
  let drawn = ''
  let isOpen = true
  let hasBegun = false
  let redraws = 0
  let isRedrawing = false
  let holds = 0
  /** Writes that arrived while a prompt was on the terminal. */
  const waiting: (() => void)[] = []

  function writeWaiting(): void {
    for (const write of waiting.splice(0)) write()
  }

  function frame(): Frame {
    return { columns: columns(), rows: rows(), paint, now: clock(), isStopping: signal.aborted }
  }

  function draw(): void {
    if (holds > 0) return
    const here = frame()
    const lines = [...composeView(progress.now(), here), ...composeBelow(below(), here)]
    const looks = JSON.stringify([here.columns, here.rows, lines])
    if (looks === drawn && block.isShown()) return
    block.draw(lines)
    drawn = looks
  }

  /** Redraws after single lines, to avoid flicker; fast output hides the view until the next frame. */
  function redraw(): void {
    if (!isOpen || !hasBegun || isRedrawing || redraws >= promptRedraws) return
    isRedrawing = true
    setImmediate(() => {
      isRedrawing = false
      redraws += 1
      if (isOpen) draw()
    })
  }

  const timer = setInterval(() => {
    hasBegun = true
    redraws = 0
    // after Ctrl-Z, the signal to continue is heard before that
    setImmediate(() => {
      if (isOpen) draw()
    })
  }, frameMs)
  timer.unref()
  const stopListening = onContinue(() => block.forget())

  return {
    event: progress.add,
    takesPieces: true,
    above: (writeAbove) => (text) => {
      if (holds > 0) return void waiting.push(() => writeAbove(text))
      block.clear()
      writeAbove(text)
      redraw()
    },
    hold() {
      holds += 1
      block.clear()
      return () => {
        holds -= 1
        if (holds === 0) writeWaiting()
      }
    },
    close() {
      if (!isOpen) return
      isOpen = false
      clearInterval(timer)
      stopListening()
      block.clear()
      writeWaiting()
      const end = composeEnd(progress.now(), frame())
      if (end !== undefined) write(`${end.text}\n`)
    },
  }
}

const escape = '\u001b['
const hideCursor = `${escape}?25l`
const showCursor = `${escape}?25h`
const wrapOff = `${escape}?7l`
const wrapOn = `${escape}?7h`
const clearLine = `${escape}K`
const clearBelow = `${escape}J`

/**
 * Lines at the end of the terminal's output that are redrawn in place. Between writes, the cursor is in the first
 * column below the last line. A single write hides the cursor, turns off wrapping and restores both, so the terminal is
 * left usable however the program ends. Nothing above the block is touched.
 */
function createBlock(write: Write, columns: () => number) {
  let widths: readonly number[] = []

  /** Moves to the first line of the block. A screen that has become narrower since then has wrapped the lines. */
  function start(): string {
    const width = Math.max(1, columns())
    const rows = widths.reduce((sum, length) => sum + Math.max(1, Math.ceil(length / width)), 0)
    return rows === 0 ? '\r' : `\r${escape}${rows}A`
  }

  return {
    draw(lines: readonly Line[]): void {
      const text = lines.map((line) => `${line.text}${clearLine}\n`).join('')
      write(`${hideCursor}${wrapOff}${start()}${text}${clearBelow}${wrapOn}${showCursor}`)
      widths = lines.map(({ width }) => width)
    },
    /** Removes the lines and leaves the cursor where they started. */
    clear(): void {
      if (widths.length === 0) return
      write(`${start()}${clearBelow}`)
      widths = []
    },
    /** Leaves the lines on the screen, because other text was written below them. */
    forget(): void {
      widths = []
    },
    isShown: () => widths.length > 0,
  }
}

const pulseMs = 30_000

/**
 * One plain line every 30 seconds, where a live view cannot be drawn: it shows progress, and keeps CI systems that
 * watch for output from ending the run. The timer does not keep the process alive.
 */
export function createPulseRenderer(
  write: Write,
  { now }: Pick<LiveOptions, 'now'>,
): Renderer & Required<Pick<Renderer, 'close'>> {
  const begin = now()
  const clock = (): number => now() - begin
  const progress = createProgress(clock)
  const timer = setInterval(() => {
    const parts = totalsOf(progress.now(), { now: clock(), isStopping: false })
    const texts = parts.map(({ text }) => text).filter((text) => text !== '')
    write(`running ${texts.join(', ')}\n`)
  }, pulseMs)
  timer.unref()
  return { event: progress.add, close: () => clearInterval(timer) }
}

/** The screen and the moment the live view is drawn for. */
interface Frame extends Room {
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
interface Line {
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

/** Lines of other origin below the view: the last ones, cut to the width; the end of what is being typed is shown. */
function composeBelow(all: readonly BelowLine[], { columns, rows, paint }: Frame): readonly Line[] {
  const most = Math.floor(rows / 3)
  if (most < 1 || columns < leastColumns) return []
  return all.slice(-most).map(({ text: whole, isQueued }) => {
    const text = (isQueued ? cutEnd : cutStart)(oneLine(whole), columns - 1)
    return { text: isQueued ? paint('dim', text) : text, width: widthOf(text) }
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

/** The only task of a run has further lines: the end of the streamed text, or of the output of its command. */
function onlyLane([lane]: readonly Lane[], most: number, frame: Frame): readonly Line[] {
  if (lane === undefined) return []
  const line = fitLine([indent, { text: cutMiddle(lane.label, frame.columns - 2) }, ...stepsOf(lane, frame)], frame)
  const tail = tailOf(lane, frame.columns - 2)
  const room = Math.min(most - 1, mostOutput)
  const below = tail === '' ? (room < 1 ? [] : outputOf(lane).slice(-room)) : [tail]
  return [line, ...below.map((text) => fitLine([indent, { text, format: 'dim' }], frame))].slice(0, most)
}

/** Maximum lines of a running command's output. */
const mostOutput = 4

/** What the only call in progress has printed. */
function outputOf({ calls, activity }: Lane): readonly string[] {
  const [call, ...others] = calls.values()
  const lines = activity.kind === 'none' && others.length === 0 ? (call?.output ?? []) : []
  return lines.map(outputLine).filter((line) => line.trim() !== '')
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
    ...(lane.items?.failed === undefined
      ? []
      : [{ text: ` (${formatCount(lane.items.failed)} failed)`, format: 'yellow' } as const]),
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
    case 'summarizing':
      return { text: 'summarizing the conversation' }
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
function totalsOf(progress: Progress, { now, isStopping }: Pick<Frame, 'now' | 'isStopping'>): readonly Segment[] {
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
function composeEnd(progress: Progress, frame: Frame): Line | undefined {
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
    case 'partial':
      return { text: 'partly failed', format: 'yellow' }
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
