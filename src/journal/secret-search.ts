/** Finds many fixed texts in one pass. */
export interface TextSearch {
  /** The text with each of them replaced: at each place the longest one that begins there. */
  readonly replace: (text: string, by: (found: string) => string) => string
  /** How many characters at the end of a text may be the beginning of one whose rest is still to come. */
  readonly begun: (text: string) => number
}

/**
 * Looks at each pair of characters once, in a table of those that some text begins with; so a pass costs the same for one
 * text as for a thousand. Empty texts are never found.
 */
export function createTextSearch(texts: Iterable<string>): TextSearch {
  const longestFirst = [...new Set(texts)].filter((text) => text !== '').toSorted((a, b) => b.length - a.length)
  const longest = longestFirst[0]?.length ?? 0
  const byPair = new Map<number, string[]>()
  const single = new Set<number>()
  const first = new Uint8Array(65_536)
  const pairs = new Uint8Array(65_536)
  for (const text of longestFirst) {
    const code = text.charCodeAt(0)
    first[code] = 1
    if (text.length === 1) {
      single.add(code)
      continue
    }
    const key = pairKey(code, text.charCodeAt(1))
    pairs[(code * 31 + text.charCodeAt(1)) & 0xffff] = 1
    const known = byPair.get(key)
    if (known === undefined) byPair.set(key, [text])
    else known.push(text)
  }

  /** The longest one that begins at a position. */
  function at(text: string, position: number): string | undefined {
    const code = text.charCodeAt(position)
    if (first[code] === 0) return undefined
    const pair = byPair.get(pairKey(code, text.charCodeAt(position + 1)))
    const found = pair?.find((one) => text.startsWith(one, position))
    if (found !== undefined) return found
    return single.has(code) ? text.charAt(position) : undefined
  }

  function replace(text: string, by: (found: string) => string): string {
    if (longest === 0) return text
    let result = ''
    let done = 0
    let next = text.charCodeAt(0)
    for (let position = 0; position < text.length; position += 1) {
      const code = next
      next = text.charCodeAt(position + 1)
      // most places end here
      if (pairs[(code * 31 + next) & 0xffff] === 0 && (single.size === 0 || !single.has(code))) continue
      const found = at(text, position)
      if (found === undefined) continue
      result += text.slice(done, position) + by(found)
      done = position + found.length
      position = done - 1
      next = text.charCodeAt(done)
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

  /** Never further back than the longest one is long. Inside of one that is there as a whole none begins: it would be cut. */
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

function pairKey(one: number, other: number): number {
  return one * 65_536 + other
}
