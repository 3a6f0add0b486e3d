import { createProgress } from './progress.ts'
import type { Renderer, Write } from './renderer.ts'
import type { Paint } from './style.ts'
import { composeEnd, composeView, type Frame, type Line, totalsOf } from './view.ts'

export interface LiveOptions {
  readonly paint: Paint
  /** Size of the terminal, asked at every frame. */
  readonly columns: () => number
  readonly rows: () => number
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
  /** Aborted once the run is being stopped. */
  readonly signal: AbortSignal
  /** Calls the listener when the process continues after a stop (Ctrl-Z), which leaves other text below the view. */
  readonly onContinue: (listener: () => void) => () => void
}

export interface LiveView extends Required<Renderer> {
  /** A writer for the same terminal whose whole lines scroll by above the view. */
  readonly above: (write: Write) => Write
  /** Takes the view away, for a question on the terminal: lines above it wait, too, until what is returned is called. */
  readonly hold: () => () => void
}

const frameMs = 100
/** How often the view is redrawn at once after lines above it, before the next frame. */
const promptRedraws = 3

/**
 * What is in progress in a run, drawn in a few lines at the end of the terminal: ten times a second at most, and only
 * what has changed. Everything else scrolls by above it. The timer does not keep the process alive.
 */
export function createLiveView(write: Write, options: LiveOptions): LiveView {
  const { paint, columns, rows, now, signal, onContinue } = options
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
  /** What came while a question stood on the terminal. */
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
    const lines = composeView(progress.now(), here)
    const looks = JSON.stringify([here.columns, here.rows, lines])
    if (looks === drawn && block.isShown()) return
    block.draw(lines)
    drawn = looks
  }

  /** Fast output hides the view until the next frame; single lines do not make it flicker. */
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
 * Lines at the end of the terminal's output that are redrawn in place. The cursor rests below its last line, at the first column. The cursor is hidden, and wrapping is off, only
 * within one write, so that the terminal is never left so, however the program ends. Nothing above the block is touched.
 */
function createBlock(write: Write, columns: () => number) {
  let widths: readonly number[] = []

  /** To the first line of the block. A screen that has become narrower since then has wrapped its lines. */
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
    /** Removes the lines; the cursor is where they began. */
    clear(): void {
      if (widths.length === 0) return
      write(`${start()}${clearBelow}`)
      widths = []
    },
    /** Leaves the lines where they are: something else was written below them. */
    forget(): void {
      widths = []
    },
    isShown: () => widths.length > 0,
  }
}

const pulseMs = 30_000

/**
 * One plain line every half minute where no live view can be drawn: it shows the progress of a long run, and tells CI that
 * watches for output that the run is alive. The timer does not keep the process alive.
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
