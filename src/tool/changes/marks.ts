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
