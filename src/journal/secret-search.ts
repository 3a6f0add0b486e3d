/** Finds many fixed texts in one pass. */
export interface TextSearch {
  /**
   * The text with each of them replaced: at each position the longest one that starts there. Replacements by `by` are
   * not searched.
   */
  readonly replace: (text: string, by: (found: string) => string) => string
  /** How many characters at the end of a text may be the start of one that is not complete yet. */
  readonly begun: (text: string) => number
}

/** Number of characters that are processed together. */
const atOnce = 16 * 1024
/** Texts up to this length are copied character by character: a native call would take longer. */
const shortText = 128
const few = 2
const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1

/** The characters of a text as numbers: `charCodeAt` on a text of several megabytes takes ten times as long. */
interface Units {
  readonly units: Uint16Array
  /** Loads the characters from a position on, including the one after the last: 0 at the end of the text. */
  readonly load: (text: string, start: number) => void
}

function createUnits(): Units {
  const units = new Uint16Array(atOnce + 1)
  const bytes = Buffer.from(units.buffer)
  return {
    units,
    load(text, start) {
      const end = Math.min(text.length, start + units.length)
      const count = end - start
      if (count < units.length) units[count] = 0
      if (isLittleEndian && count > shortText) bytes.write(text.slice(start, end), 'utf16le')
      else for (let index = 0; index < count; index += 1) units[index] = text.charCodeAt(start + index)
    },
  }
}

/**
 * Looks up each pair of characters once, in a table of the pairs that some text starts with, so a pass costs the same
 * for one text as for a thousand. Empty texts are never found.
 */
export function createTextSearch(texts: Iterable<string>): TextSearch {
  const longestFirst = [...new Set(texts)].filter((text) => text !== '').toSorted((a, b) => b.length - a.length)
  const longest = longestFirst[0]?.length ?? 0
  const byPair = new Map<number, string[]>()
  const single = new Set<number>()
  const first = new Uint8Array(65_536)
  const pairs = new Uint8Array(65_536)
  let scratch: Units | undefined
  for (const text of longestFirst) {
    const code = text.charCodeAt(0)
    first[code] = 1
    if (text.length === 1) {
      single.add(code)
      continue
    }
    const key = pairKey(code, text.charCodeAt(1))
    pairs[pairSlot(code, text.charCodeAt(1))] = 1
    const known = byPair.get(key)
    if (known === undefined) byPair.set(key, [text])
    else known.push(text)
  }

  const hasSingle = single.size > 0

  /** The longest one that starts at a position. */
  function at(text: string, position: number): string | undefined {
    const code = text.charCodeAt(position)
    if (first[code] === 0) return undefined
    const pair = byPair.get(pairKey(code, text.charCodeAt(position + 1)))
    const found = pair?.find((one) => text.startsWith(one, position))
    if (found !== undefined) return found
    return single.has(code) ? text.charAt(position) : undefined
  }

  /** A few texts are searched one by one with a native search, which does not look at each character. */
  function mayHold(text: string): boolean {
    return longestFirst.length > few || longestFirst.some((one) => text.includes(one))
  }

  function replace(text: string, by: (found: string) => string): string {
    if (!mayHold(text)) return text
    let result = ''
    let done = 0
    const { units, load } = (scratch ??= createUnits())
    for (let start = 0; start < text.length; start += atOnce) {
      load(text, start)
      const end = Math.min(atOnce, text.length - start)
      for (let index = Math.max(0, done - start); index < end; index += 1) {
        const code = units[index] ?? 0
        // most positions end here
        if (pairs[pairSlot(code, units[index + 1] ?? 0)] === 0 && (!hasSingle || !single.has(code))) continue
        const found = at(text, start + index)
        if (found === undefined) continue
        result += text.slice(done, start + index) + by(found)
        done = start + index + found.length
        index = done - start - 1
      }
    }
    return done === 0 ? text : result + text.slice(done)
  }

  function begins(text: string, start: number): boolean {
    const rest = text.length - start
    const code = text.charCodeAt(start)
    if (rest === 1) return first[code] === 1 && longestFirst.some((one) => one.length > 1 && one.charCodeAt(0) === code)
    const candidates = byPair.get(pairKey(code, text.charCodeAt(start + 1))) ?? []
    const tail = text.slice(start)
    return candidates.some((one) => one.length > rest && one.startsWith(tail))
  }

  /**
   * Looks back at most the length of the longest text. A text cannot start inside another one that is complete: that
   * one would be cut.
   */
  function begun(text: string): number {
    const earliest = Math.max(0, text.length - longest + 1)
    for (let start = earliest; start < text.length; start += 1) {
      if (first[text.charCodeAt(start)] === 1 && begins(text, start) && !isInside(text, start))
        return text.length - start
    }
    return 0
  }

  function isInside(text: string, place: number): boolean {
    for (let position = 0; position < place;) {
      const length = at(text, position)?.length ?? 1
      if (position + length > place) return true
      position += length
    }
    return false
  }

  return { replace, begun }
}

/** Every pair of Latin characters has its own slot. */
function pairSlot(one: number, other: number): number {
  return ((one << 8) ^ other) & 0xffff
}

function pairKey(one: number, other: number): number {
  return one * 65_536 + other
}
