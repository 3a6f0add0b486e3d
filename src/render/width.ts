/**
 * How wide text is on a terminal, without a table of the whole of Unicode: East Asian wide characters and emoji take
 * two columns, combining marks and invisible joiners none, everything else one. Where terminals differ (joined emoji,
 * variation selectors) the larger width counts, so that text is never wider than it is said to be. Text here has no
 * control characters.
 */
export function widthOf(text: string): number {
  if (isPlain.test(text)) return text.length
  return cellsOf(text).reduce((sum, { width }) => sum + width, 0)
}

/** At most `width` columns; what is cut off at the end becomes `…`. */
export function cutEnd(text: string, width: number): string {
  if (isPlain.test(text) && text.length <= width) return text
  const cells = cellsOf(text)
  return total(cells) <= width ? text : width < 1 ? '' : `${joined(fitting(cells, width - 1))}…`
}

/** At most `width` columns; what is cut off at the start becomes `…`. */
export function cutStart(text: string, width: number): string {
  if (isPlain.test(text) && text.length <= width) return text
  const cells = cellsOf(text)
  if (total(cells) <= width) return text
  return width < 1 ? '' : `…${joined(fitting(cells.toReversed(), width - 1).toReversed())}`
}

/** At most `width` columns; start and end stay, as both tell paths apart. */
export function cutMiddle(text: string, width: number): string {
  if (isPlain.test(text) && text.length <= width) return text
  const cells = cellsOf(text)
  if (total(cells) <= width) return text
  if (width < 5) return cutEnd(text, width)
  const end = fitting(cells.toReversed(), Math.floor((width - 1) / 2)).toReversed()
  const start = fitting(cells, width - 1 - total(end))
  return `${joined(start)}…${joined(end)}`
}

/** A character with the marks that belong to it: what a cut must not take apart. */
interface Cell {
  readonly text: string
  readonly width: number
}

const isPlain = /^[\u0020-\u007e]*$/
const isZero = /^[\p{Mn}\p{Me}\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]$/u
const isWide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}])$/u
const zeroWidthJoiner = '\u200d'
const emojiSelector = '\ufe0f'

function cellsOf(text: string): readonly Cell[] {
  const cells: Cell[] = []
  for (const character of text) {
    const last = cells.at(-1)
    if (last !== undefined && (isZero.test(character) || last.text.endsWith(zeroWidthJoiner))) {
      const width = character === emojiSelector ? Math.max(2, last.width) : last.width + widthOfOne(character)
      cells[cells.length - 1] = { text: last.text + character, width }
    } else cells.push({ text: character, width: widthOfOne(character) })
  }
  return cells
}

function widthOfOne(character: string): number {
  if (isZero.test(character)) return 0
  return isWide.test(character) ? 2 : 1
}

/** As many cells from the first on as fit. */
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
