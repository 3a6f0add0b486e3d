import { createBlock } from './block.ts'
import type { Frame } from './frame.ts'
import { createProgress } from './progress.ts'
import type { Renderer, Write } from './renderer.ts'
import type { Paint } from './style.ts'
import { composeEnd } from './totals.ts'
import { composeView } from './view.ts'

export interface LiveOptions {
  readonly paint: Paint
  /** Size of the terminal, asked at every frame. */
  readonly columns: () => number
  readonly rows: () => number
  /** A clock in milliseconds that never goes back. */
  readonly now: () => number
  /** Aborted once the run was told to stop. */
  readonly signal: AbortSignal
  /** Tells when the process goes on after a stop (Ctrl-Z), which leaves other text below the view. */
  readonly onContinue: (listener: () => void) => () => void
}

export interface LiveView extends Renderer {
  /** A writer for the same terminal whose whole lines scroll by above the view. */
  readonly above: (write: Write) => Write
}

const frameMs = 100
/** How often the view comes back at once after lines above it, before the next frame. */
const promptReturns = 3

/**
 * What goes on in a run, drawn in a few lines at the end of the terminal: ten times a second at most, and only what has
 * changed. Everything else scrolls by above it. The timer does not keep the process alive.
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
  let returns = 0
  let isReturning = false

  function frame(): Frame {
    return { columns: columns(), rows: rows(), paint, now: clock(), isStopping: signal.aborted }
  }

  function draw(): void {
    const here = frame()
    const lines = composeView(progress.now(), here)
    const looks = JSON.stringify([here.columns, here.rows, lines])
    if (looks === drawn && block.isShown()) return
    block.draw(lines)
    drawn = looks
  }

  /** Lines that come fast take the view away until the next frame; others do not let it flicker. */
  function comeBack(): void {
    if (!isOpen || !hasBegun || isReturning || returns >= promptReturns) return
    isReturning = true
    setImmediate(() => {
      isReturning = false
      returns += 1
      if (isOpen) draw()
    })
  }

  const timer = setInterval(() => {
    hasBegun = true
    returns = 0
    draw()
  }, frameMs)
  timer.unref()
  const stopListening = onContinue(() => block.forget())

  return {
    event: progress.add,
    above: (writeAbove) => (text) => {
      block.clear()
      writeAbove(text)
      comeBack()
    },
    close() {
      if (!isOpen) return
      isOpen = false
      clearInterval(timer)
      stopListening()
      block.clear()
      const end = hasBegun ? composeEnd(progress.now(), frame()) : undefined
      if (end !== undefined) write(`${end.text}\n`)
    },
  }
}
