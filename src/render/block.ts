import type { Line } from './line.ts'
import type { Write } from './renderer.ts'

const escape = '\u001b['
const hideCursor = `${escape}?25l`
const showCursor = `${escape}?25h`
const wrapOff = `${escape}?7l`
const wrapOn = `${escape}?7h`
const clearLine = `${escape}K`
const clearBelow = `${escape}J`

/** Lines at the end of what a terminal shows that are drawn again in place. */
export interface Block {
  readonly draw: (lines: readonly Line[]) => void
  /** Takes the lines away; the cursor is where they began. */
  readonly clear: () => void
  /** Leaves the lines where they are: something else was written below them. */
  readonly forget: () => void
  readonly isShown: () => boolean
}

/**
 * A block whose cursor rests below its last line, at the first column. The cursor is hidden, and wrapping is off, only
 * within one write, so that no way out of the program can leave the terminal so. Nothing above the block is touched.
 */
export function createBlock(write: Write, columns: () => number): Block {
  let widths: readonly number[] = []

  /**
   * To the first line of the block. A screen that has become narrower since has wrapped its lines, as terminals do that
   * keep what does not fit.
   */
  function start(): string {
    const width = Math.max(1, columns())
    const rows = widths.reduce((sum, length) => sum + Math.max(1, Math.ceil(length / width)), 0)
    return rows === 0 ? '\r' : `\r${escape}${rows}A`
  }

  return {
    draw(lines) {
      const text = lines.map((line) => `${line.text}${clearLine}\n`).join('')
      write(`${hideCursor}${wrapOff}${start()}${text}${clearBelow}${wrapOn}${showCursor}`)
      widths = lines.map(({ width }) => width)
    },
    clear() {
      if (widths.length === 0) return
      write(`${start()}${clearBelow}`)
      widths = []
    },
    forget() {
      widths = []
    },
    isShown: () => widths.length > 0,
  }
}
