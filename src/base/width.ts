import { eastAsianWidth } from 'get-east-asian-width'

/**
 * Columns that text takes on a terminal: two for East Asian wide characters and emoji, none for combining marks and
 * invisible joiners, one for everything else. Where terminals differ (joined emoji, variation selectors) the larger
 * width counts, so that text is never wider than computed. The text must contain no control characters.
 */
export function widthOf(text: string): number {
  return isPlain.test(text) ? text.length : total(cellsOf(text))
}

/** At most `width` columns; text cut off at the end becomes `…`. */
export function cutEnd(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  return width < 1 ? '' : `${joined(fitting(cellsOf(text), width - 1))}…`
}

/** At most `width` columns; text cut off at the start becomes `…`. */
export function cutStart(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  return width < 1 ? '' : `…${joined(fitting(cellsOf(text).toReversed(), width - 1).toReversed())}`
}

/** At most `width` columns; start and end are kept, because both distinguish paths. */
export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  if (width < 5) return cutEnd(text, width)
  const cells = cellsOf(text)
  const end = fitting(cells.toReversed(), Math.floor((width - 1) / 2)).toReversed()
  const start = fitting(cells, width - 1 - total(end))
  return `${joined(start)}…${joined(end)}`
}

/**
 * Breaks the lines of a text at spaces, so that each has at most `columns`; a longer word stays whole. A line goes on
 * below its indentation or, if two spaces end a first column, below the second one. The text may contain colors.
 */
export function wrapped(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => (widthOf(line.replaceAll(colors, '')) <= columns ? line : wrappedLine(line, columns)))
    .join('\n')
}

// oxlint-disable-next-line no-control-regex
const colors = /\u001b\[[\d;]*m/g

function wrappedLine(line: string, columns: number): string {
  const [margin = ''] = /^ */.exec(line) ?? []
  const [head = ''] = /^ *(?:\S+(?: \S+)* {2,})?/.exec(line) ?? []
  const first = widthOf(head.replaceAll(colors, '')) > columns / 2 ? margin : head
  const indent = ' '.repeat(widthOf(first.replaceAll(colors, '')))
  let text = first
  let width = indent.length
  let gap = ''
  for (const part of line.slice(first.length).split(/( +)/)) {
    if (part.trim() === '') {
      gap += part
      continue
    }
    const wide = widthOf(part.replaceAll(colors, ''))
    const isNext = width > indent.length && width + gap.length + wide > columns
    text += isNext ? `\n${indent}${part}` : gap + part
    width = (isNext ? indent.length : width + gap.length) + wide
    gap = ''
  }
  // what is typed after a question
  return text + gap
}

/** A character with its combining marks, which a cut must not separate. */
interface Cell {
  readonly text: string
  readonly width: number
}

const isPlain = /^[\u0020-\u007e]*$/
const zeroWidthJoiner = '\u200d'
const emojiSelector = '\ufe0f'

function cellsOf(text: string): readonly Cell[] {
  const cells: Cell[] = []
  for (const character of text) {
    const last = cells.at(-1)
    if (last !== undefined && (isZero(character) || last.text.endsWith(zeroWidthJoiner))) {
      const width = character === emojiSelector ? Math.max(2, last.width) : last.width + widthOfOne(character)
      cells[cells.length - 1] = { text: last.text + character, width }
    } else cells.push({ text: character, width: widthOfOne(character) })
  }
  return cells
}

function widthOfOne(character: string): number {
  if (isZero(character)) return 0
  return /^\p{Emoji_Presentation}$/u.test(character) ? 2 : eastAsianWidth(character.codePointAt(0) ?? 0)
}

/** Compiled lazily because the pattern is slow to compile and most text is plain. */
function isZero(character: string): boolean {
  return /^[\p{Mn}\p{Me}\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]$/u.test(
    character,
  )
}

/** As many cells from the start as fit. */
function fitting(cells: readonly Cell[], width: number): readonly Cell[] {
  let room = width
  const end = cells.findIndex((cell) => (room -= cell.width) < 0)
  return end === -1 ? cells : cells.slice(0, end)
}

function total(cells: readonly Cell[]): number {
  return cells.reduce((sum, { width }) => sum + width, 0)
}

function joined(cells: readonly Cell[]): string {
  return cells.map(({ text }) => text).join('')
}
