import type { Paint } from './style.ts'
import { cutEnd, widthOf } from './width.ts'

/** A piece of a line: one line's worth of harmless text. */
export interface Segment {
  readonly text: string
  readonly format?: Parameters<Paint>[0]
}

/** A line as it is written, and how many columns it takes without its colours. */
export interface Line {
  readonly text: string
  readonly width: number
}

export interface Room {
  readonly columns: number
  readonly paint: Paint
}

/** Segments one after the other; what does not fit is cut off. */
export function fitLine(segments: readonly Segment[], { columns, paint }: Room): Line {
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

/** Segments with ` · ` between them, in order of importance: one that does not fit as a whole is left out. */
export function joinWhole(segments: readonly Segment[], { columns, paint }: Room): Line {
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
