/** Variants of characters that models and editors write differently, by the plain character. */
const variants: Readonly<Record<string, string>> = {
  '"': '“”„‟«»',
  "'": '‘’‚‛',
  '-': '‐‑‒–—−',
  ' ': '\u00A0\u2007\u202F',
}

const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#34;': '"',
  '&apos;': "'",
  '&#39;': "'",
  '&nbsp;': ' ',
  '&amp;': '&',
  '...': '…',
}

const plainOf = new Map([
  ...Object.entries(variants).flatMap(([plain, others]) => Array.from(plain + others, (one) => [one, plain] as const)),
  ...Object.entries(entities).map(([entity, plain]) => [entity, plain] as const),
])

const mark = new RegExp(
  `${Object.keys(entities).map(escaped).join('|')}|[<>&…${[...plainOf.keys()]
    .filter((key) => key.length === 1)
    .map(escaped)
    .join('')}]`,
  'gu',
)

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
}

/** A text with its quotes, dashes, spaces and entities in plain form. */
export function plainMarks(text: string): string {
  return text.replaceAll(mark, (found) => plainOf.get(found) ?? found)
}

/** How a hunk writes marks, and how the file writes them. */
export type MarkMap = ReadonlyMap<string, ReadonlySet<string>>

/** Derives the mapping from pairs of lines that are equal in the form `marks`. */
export function markMap(pairs: readonly { readonly written: string; readonly found: string }[]): MarkMap {
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
export function translateMarks(line: string, map: MarkMap): string | undefined {
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

/** A removed line as a hunk writes it, and as the file has it. */
interface RemovedLine {
  readonly written: string
  readonly found: string
}

/** Larger changes are not compared word by word: the cost is the product of the numbers of words. */
const mostCompared = 4_000_000

/**
 * The added lines of a hunk, with the spaces and words that stay as the file has them: a no-break space, a tab, a quote
 * or a decomposed letter is kept where the hunk has a usual one. All other text goes through `translate`; a line is
 * undefined if that is undefined for a part of it. Indentation and white space at the end are the hunk's.
 */
export function withKeptText(
  added: readonly string[],
  removed: readonly RemovedLine[],
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
type Token = RemovedLine

/** Words that differ in more than their composition and their marks are as written. */
function tokensOf({ written, found }: RemovedLine): readonly Token[] {
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
