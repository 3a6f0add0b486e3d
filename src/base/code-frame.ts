import { visibleLine } from './terminal-text.ts'
import { widthOf } from './width.ts'

export interface FramePosition {
  readonly line: number
  readonly column?: number
  /** The column after the last marked character. Only the first line of a range is marked. */
  readonly endLine?: number
  readonly endColumn?: number
}

export interface FrameOptions {
  /** Lines shown before and after the marked one; default 2. */
  readonly context?: number
  /** Characters shown of a line; longer lines are cut around the column. Default 100. */
  readonly width?: number
}

/**
 * The lines around a position with their numbers, a `>` before the marked line and carets below the range, or one below
 * the column (both count from 1). A line beyond the end marks the last one. No color; control characters are made
 * visible, so that a file cannot write escape sequences to the terminal.
 */
export function codeFrame(text: string, position: FramePosition, options: FrameOptions = {}): string {
  const { line, column } = position
  const { context = 2, width = 100 } = options
  const { lines, first, marked } = linesAround(text, Math.max(1, line), context)
  const last = first + lines.length - 1
  const gutter = String(last).length

  const frame: string[] = []
  for (let number = first; number <= last; number += 1) {
    const isMarked = number === marked
    const from = isMarked && column !== undefined ? column : 1
    // of a long line, of which there may be thousands of frames, only what is near
    const skipped = Math.max(0, from - 1 - 4 * width)
    const near = (lines[number - first] ?? '').slice(skipped, from + 4 * width).replace(/\r$/, '')
    const whole = visibleLine(near)
    const shown = cut(whole, from - skipped, width)
    frame.push(`${isMarked ? '>' : ' '} ${String(number).padStart(gutter)} | ${shown.text}`.trimEnd())
    if (!isMarked || column === undefined) continue
    const room = shown.text.slice(shown.before.length)
    const carets = '^'.repeat(Math.max(1, widthOf(room.slice(0, rangeLength(whole, position)).trimEnd())))
    frame.push(`  ${' '.repeat(gutter)} | ${blank(shown.before)}${carets}`)
  }
  return frame.join('\n')
}

/** The lines near one, and their numbers; splits only that part of a text, of which there may be thousands of frames. */
function linesAround(text: string, line: number, context: number) {
  const whole = text.endsWith('\n') ? text.slice(0, -1) : text
  /** Where the marked line and those before it start. */
  const starts = [0]
  let marked = 1
  for (; marked < line; marked += 1) {
    const next = whole.indexOf('\n', starts.at(-1))
    if (next === -1) break
    starts.push(next + 1)
    if (starts.length > context + 1) starts.shift()
  }
  let end = (starts.at(-1) ?? 0) - 1
  for (let after = 0; after <= context && end < whole.length; after += 1) {
    const next = whole.indexOf('\n', end + 1)
    end = next === -1 ? whole.length : next
  }
  return { lines: whole.slice(starts[0], end).split('\n'), first: marked - starts.length + 1, marked }
}

/** Length of the range on the line, in UTF-16 units. */
function rangeLength(
  text: string,
  { line, column = 1, endLine = line, endColumn = column + 1 }: FramePosition,
): number {
  return (endLine > line ? text.length + 1 : endColumn) - column
}

/** The part of a line that is shown, and its part before the column. */
function cut(line: string, column: number, width: number): { readonly text: string; readonly before: string } {
  const split = Math.max(0, column - 1)
  const before = Array.from(line.slice(Math.max(0, split - width), split))
  const isShort = split <= width * 0.8
  const start = isShort ? before.join('') : `…${before.slice(-Math.floor(width / 2)).join('')}`
  const after = Array.from(line.slice(split, split + 2 * width))
  const room = Math.max(0, width - start.length)
  const end = after.slice(0, room).join('')
  return { text: `${start}${end}${after.length > room ? '…' : ''}`, before: start }
}

/** Blanks as wide as the text on a terminal; tabs stay tabs, so they end at the same tab stops. */
function blank(text: string): string {
  return text.replaceAll(/[^\t]+/g, (part) => ' '.repeat(widthOf(part)))
}
