import type { Hunk } from './hunk.ts'
import { indentOf, type Line, mark, plainMarks, plainOf } from './lines.ts'
import type { LineIndices } from './match-lines.ts'
import { hasText } from './syntax.ts'

interface Placed {
  /** Where the lines of the hunk are in the file. */
  readonly at: LineIndices
  readonly lines: readonly Line[]
  /** Whether the hunk may write quotes, dashes and entities in another way than the file. */
  readonly hasOtherMarks: boolean
}

/** A line of a hunk as it is written there, and as the file has it. */
interface LinePair {
  readonly kind: 'context' | 'remove' | 'add'
  readonly written: string
  readonly found: string
}

/**
 * The texts of a hunk as the file would write them: with its indentation, and the added lines with the spaces, words,
 * quotes, dashes and entities that it has. Undefined if it is not clear how the file writes a quote, dash or entity.
 */
export function textsInStyle(hunk: Hunk, { at, lines, hasOtherMarks }: Placed): readonly string[] | undefined {
  const pairs = hunk.lines.map((line, number): LinePair | undefined => {
    const found = lines[at[number] ?? -1]
    return found === undefined || line.kind === 'gap'
      ? undefined
      : { kind: line.kind, written: line.text, found: found.text }
  })
  const known = pairs.filter((pair) => pair !== undefined)
  const texts = indentedTexts(hunk, pairs)
  const marks = hasOtherMarks ? markMap(known) : undefined
  const isAdded = (number: number): boolean => hunk.lines[number]?.kind === 'add'
  const kept = withFileText(
    texts.filter((_, number) => isAdded(number)),
    known.filter(({ kind }) => kind === 'remove'),
    (text) => (marks === undefined ? text : translateMarks(text, marks)),
  )
  if (!kept.every((text) => text !== undefined)) return undefined
  let next = 0
  return texts.map((text, number) => (isAdded(number) ? (kept[next++] ?? text) : text))
}

/** How a hunk writes marks, and how the file writes them. */
type MarkMap = ReadonlyMap<string, ReadonlySet<string>>

/** Derives the mapping from pairs of lines that are equal in the form `marks`. */
function markMap(pairs: readonly WrittenPair[]): MarkMap {
  const map = new Map<string, Set<string>>()
  for (const { written, found } of pairs) {
    const from = written.trim().match(mark) ?? []
    const to = found.trim().match(mark) ?? []
    // white space is converted separately
    const [left, right] = [from, to].map((marks) => marks.filter((one) => plainOf.get(one) !== ' '))
    if (left === undefined || right === undefined || left.length !== right.length) continue
    for (const [index, one] of left.entries()) {
      const other = right[index] ?? one
      map.set(one, (map.get(one) ?? new Set()).add(other))
    }
  }
  return map
}

/** The line with marks as the file writes them; undefined if that cannot be determined. */
function translateMarks(line: string, map: MarkMap): string | undefined {
  let isClear = true
  const text = line.replaceAll(mark, (found, at: number) => {
    const others = [...(map.get(found) ?? [])]
    const [only] = others
    if (others.length <= 1) return only ?? translatedLikeOthers(found, map)
    const opening = at === 0 || /[\s([{<=]/.test(line[at - 1] ?? '')
    const quote = others.find((other) => (opening ? '“‘«„' : '”’»').includes(other))
    const isPair = others.length === 2 && quote !== undefined
    if (!isPair) isClear = false
    return isPair ? quote : found
  })
  return isClear ? text : undefined
}

/** A mark without an example in the file: entities of one text are written consistently. */
function translatedLikeOthers(found: string, map: MarkMap): string {
  const pairs = [...map].flatMap(([from, others]) => [...others].map((to) => ({ from, to })))
  const isDecoded = pairs.some(({ from, to }) => from.startsWith('&') && from.length > 1 && !to.startsWith('&'))
  if (isDecoded && found.startsWith('&') && found.length > 1) return plainOf.get(found) ?? found
  const isEncoded = pairs.some(({ from, to }) => !from.startsWith('&') && to.startsWith('&') && to.length > 1)
  if (isEncoded && found === '<') return '&lt;'
  if (isEncoded && found === '>') return '&gt;'
  return isEncoded && found === '&' ? '&amp;' : found
}

type WrittenPair = Pick<LinePair, 'written' | 'found'>

/** Larger changes are not compared word by word: the cost is the product of the numbers of words. */
const mostCompared = 4_000_000

/**
 * The added lines of a hunk, with the spaces and words that stay as the file has them: a no-break space, a tab, a quote
 * or a decomposed letter is kept where the hunk has a usual one. All other text goes through `translate`; a line is
 * undefined if that is undefined for a part of it. Indentation and white space at the end are the hunk's.
 */
function withFileText(
  added: readonly string[],
  removed: readonly WrittenPair[],
  translate: (text: string) => string | undefined,
): readonly (string | undefined)[] {
  const known = removed.flatMap(tokensOf)
  if (known.every(({ written, found }) => written === found)) return added.map(translate)
  const parts = added.map((line) => ({ line, tokens: [...wordsOf(line), '\n'] }))
  const wanted = parts.flatMap(({ tokens }) => tokens)
  if (known.length * wanted.length > mostCompared) return added.map(translate)
  const pairs = commonTokens(known, wanted)
  const isKept = (index: number): boolean => pairs.has(index) && wanted[index] !== '\n'
  let index = 0
  return parts.map(({ line, tokens }) => {
    const texts = tokens.slice(0, -1).map((token) => {
      const place = index
      index += 1
      const found = known[pairs.get(place) ?? -1]?.found
      const isBeside = [-1, 1].some(
        (step) => isKept(place + step) && pairs.get(place + step) === (pairs.get(place) ?? 0) + step,
      )
      return found === undefined || (token.trim() === '' && !isBeside) ? translate(token) : found
    })
    index += 1
    if (texts.includes(undefined)) return undefined
    return line.slice(0, line.length - line.trimStart().length) + texts.join('') + line.slice(line.trimEnd().length)
  })
}

/** Words and the white space between them, which may be written as an entity. */
function wordsOf(line: string): readonly string[] {
  return line.trim().match(/(?:\s|&nbsp;)+|(?:(?!&nbsp;)\S)+/g) ?? []
}

/** A word or white space of a removed line, and what the file has there. */
type Token = WrittenPair

/** Words that differ in more than their composition and their marks are as written. */
function tokensOf({ written, found }: WrittenPair): readonly Token[] {
  const [left, right] = [wordsOf(written), wordsOf(found)]
  const isAligned = left.length === right.length
  const tokens = left.map((word, index): Token => {
    const other = isAligned ? (right[index] ?? word) : word
    const isSame =
      word.trim() === '' ? isSpecial(other) : plainMarks(word.normalize()) === plainMarks(other.normalize())
    return { written: word, found: isSame ? other : word }
  })
  return [...tokens, { written: '\n', found: '\n' }]
}

/** Whether white space has more in it than usual spaces, of which the hunk decides how many there are. */
function isSpecial(text: string): boolean {
  return plainMarks(text).trim() === '' && /[^ ]/.test(text)
}

/** The longest common subsequence: for the index of each wanted token in it, that of the known one. */
function commonTokens(known: readonly Token[], wanted: readonly string[]): ReadonlyMap<number, number> {
  const width = wanted.length + 1
  const lengths = new Uint32Array((known.length + 1) * width)
  const lengthAt = (row: number, column: number): number => lengths[row * width + column] ?? 0
  for (let row = known.length - 1; row >= 0; row -= 1) {
    for (let column = wanted.length - 1; column >= 0; column -= 1) {
      lengths[row * width + column] =
        known[row]?.written === wanted[column]
          ? lengthAt(row + 1, column + 1) + 1
          : Math.max(lengthAt(row + 1, column), lengthAt(row, column + 1))
    }
  }
  const pairs = new Map<number, number>()
  for (let [row, column] = [0, 0]; row < known.length && column < wanted.length;) {
    if (known[row]?.written === wanted[column]) {
      pairs.set(column, row)
      row += 1
      column += 1
    } else if (lengthAt(row + 1, column) >= lengthAt(row, column + 1)) row += 1
    else column += 1
  }
  return pairs
}

function indentedTexts({ lines }: Hunk, placed: readonly (LinePair | undefined)[]): readonly string[] {
  const pairs = placed.map((pair): IndentPair | undefined =>
    pair && hasText(pair.written) ? { written: indentOf(pair.written), found: indentOf(pair.found) } : undefined,
  )
  const known = pairs.filter((pair) => pair !== undefined)
  const convert = converter(known)
  let beside = known[0]
  return lines.map((line, number) => {
    beside = pairs[number] ?? beside
    return reindent(line.kind === 'gap' ? '' : line.text, beside, convert)
  })
}

/** Indentation of a line in the hunk and in the file. */
interface IndentPair {
  readonly written: string
  readonly found: string
}

/**
 * A line of the hunk with the indentation it has in the file: shifted by the same amount as the line next to it, with
 * the file's tabs or spaces. `beside` is the nearest line that both have.
 */
function reindent(line: string, beside: IndentPair | undefined, convert: (indent: string) => string): string {
  if (beside === undefined || line.trim() === '') return line
  const { written, found } = beside
  const indent = indentOf(line)
  const content = line.slice(indent.length)
  if (indent === written) return found + content
  return moved(convert(indent), convert(written), found) + content
}

function moved(indent: string, from: string, to: string): string {
  const more = to.length - from.length
  if (more >= 0) return to.slice(0, more) + indent
  return indent.slice(Math.min(-more, indent.length))
}

/** Converts spaces of the hunk to tabs of the file or vice versa, if the two differ in that. */
function converter(pairs: readonly IndentPair[]): (indent: string) => string {
  const usesTabs = ({ found, written }: IndentPair): boolean => found.includes('\t') && !written.includes('\t')
  const usesBlanks = ({ found, written }: IndentPair): boolean => written.includes('\t') && !found.includes('\t')
  if (pairs.some(usesTabs)) {
    const width = blanksPerTab(pairs.map(({ written, found }) => ({ blanks: written.length, tabs: found.length })))
    return (indent) => indent.replaceAll(' '.repeat(width), '\t')
  }
  if (pairs.some(usesBlanks)) {
    const width = blanksPerTab(pairs.map(({ written, found }) => ({ blanks: found.length, tabs: written.length })))
    return (indent) => indent.replaceAll('\t', ' '.repeat(width))
  }
  return (indent) => indent
}

const defaultWidth = 4

/** Derived from the change of indentation between two lines, or else from the indentation of one line. */
function blanksPerTab(lines: readonly { readonly blanks: number; readonly tabs: number }[]): number {
  const distinct = lines.toSorted((a, b) => a.tabs - b.tabs)
  const least = distinct[0]
  const most = distinct.at(-1)
  if (least === undefined || most === undefined) return defaultWidth
  const width =
    most.tabs > least.tabs
      ? (most.blanks - least.blanks) / (most.tabs - least.tabs)
      : most.blanks / Math.max(1, most.tabs)
  return Number.isInteger(width) && width >= 1 && width <= 8 ? width : defaultWidth
}
