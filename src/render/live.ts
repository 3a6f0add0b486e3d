import { createProgress } from './progress.ts'
import type { Renderer, Write } from './renderer.ts'
import type { Paint } from './style.ts'
import { composeBelow, composeEnd, composeView, type Frame, type Line, totalsOf } from './view.ts'

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
  readonly below?: (() => readonly string[]) | undefined
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
    draw()
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
      const end = hasBegun ? composeEnd(progress.now(), frame()) : undefined
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
