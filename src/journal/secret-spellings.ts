/**
 * All the ways in which a character may be written in a URL, JSON, HTML and form data, also twice encoded. Records
 * refer to them by index: only add at the end.
 */
function spellingsOf(character: string): readonly (string | undefined)[] {
  const upper = percentEncoded(character)
  const lower = upper?.toLowerCase()
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at).toString(16))
  const escaped = units.map((unit) => String.raw`\u${unit.padStart(4, '0')}`).join('')
  const escapedUpper = units.map((unit) => String.raw`\u${unit.toUpperCase().padStart(4, '0')}`).join('')
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16)
  const short = character === '/' ? String.raw`\/` : JSON.stringify(character).slice(1, -1)
  return [
    character,
    upper,
    lower,
    upper?.replaceAll('%', '%25'),
    lower?.replaceAll('%', '%25'),
    escaped,
    escapedUpper,
    escaped.replaceAll('\\', '\\\\'),
    escapedUpper.replaceAll('\\', '\\\\'),
    short,
    JSON.stringify(short).slice(1, -1),
    character === ' ' ? '+' : undefined,
    entities[character],
    `&#${code};`,
    `&#x${hex};`,
    `&#x${hex.toUpperCase()};`,
  ]
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** Each byte, also of characters that need no encoding. Undefined for half of a surrogate pair. */
function percentEncoded(character: string): string | undefined {
  if (/^[\ud800-\udfff]$/.test(character)) return undefined
  const bytes = [...Buffer.from(character)]
  return bytes.map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
}

/** The base of the digits that say how each character is written. */
const base = 36

/** A value with each character written as its digit says; undefined if they do not belong to the value. */
export function inSpelling(value: string, digits: string): string | undefined {
  const characters = Array.from(value)
  if (characters.length !== digits.length) return undefined
  const written = characters.map((character, at) => spellingsOf(character)[Number.parseInt(digits.charAt(at), base)])
  return written.every((text) => text !== undefined) ? written.join('') : undefined
}

/** A value, and how each of its characters can be written. */
interface Spelled {
  readonly value: string
  /** Where each character starts. */
  readonly offsets: readonly number[]
  readonly spellings: readonly (readonly (string | undefined)[])[]
}

interface Found {
  readonly start: number
  /** `cut`: the text ends before the value does. */
  readonly end: number | 'cut'
  readonly value: string
  readonly digits: string
}

/** The characters that start an encoded one. */
const escapes = /[%\\&+]/g
/** Longer values are documents. */
const longestValue = 2_048

/** Finds values of which characters are encoded, in any mixture of encodings. */
export interface SpellingSearch {
  /** The text with each of them replaced. */
  readonly replace: (text: string, by: (value: string, digits: string) => string) => string
  /**
   * How many characters at the end of a text may be the start of one that is not complete yet: at least as many as
   * given, and more if these start within one that is complete.
   */
  readonly begun: (text: string, least: number) => number
}

/** Whether a text may contain encoded characters. */
export function hasEscapes(text: string): boolean {
  return text.includes('%') || text.includes('\\') || text.includes('&') || text.includes('+')
}

/**
 * Looks only at characters that can start an encoded one: what precedes the first encoded character of a value must be
 * the start of the value as it is.
 */
export function createSpellingSearch(values: Iterable<string>): SpellingSearch {
  const ofCharacter = new Map<string, readonly (string | undefined)[]>()
  const all = [...new Set(values)].filter((value) => value !== '' && value.length <= longestValue).map(spelled)
  /** Where encoded characters occur in values. */
  const places = new Map<string, { readonly of: Spelled; readonly at: number }[]>()
  /** The lengths of those with the same first two characters. */
  const lengths = new Map<string, Set<number>>()
  for (const of of all) {
    for (const [at, texts] of of.spellings.entries()) {
      for (const text of new Set(texts)) {
        if (text === undefined || text === texts[0]) continue
        const start = text.slice(0, 2)
        lengths.set(start, (lengths.get(start) ?? new Set()).add(text.length))
        const known = places.get(text)
        if (known === undefined) places.set(text, [{ of, at }])
        else known.push({ of, at })
      }
    }
  }
  const longestOne = Math.max(0, ...[...places.keys()].map((text) => text.length))
  const longest = longestOne * Math.max(0, ...all.map(({ offsets }) => offsets.length))

  function spelled(value: string): Spelled {
    const offsets: number[] = []
    const spellings: (readonly (string | undefined)[])[] = []
    let offset = 0
    for (const character of value) {
      const texts = ofCharacter.get(character) ?? spellingsOf(character)
      ofCharacter.set(character, texts)
      offsets.push(offset)
      spellings.push(texts)
      offset += character.length
    }
    return { value, offsets, spellings }
  }

  /** The values of which a character may be encoded at a position. */
  function candidatesAt(text: string, position: number): readonly { readonly of: Spelled; readonly at: number }[] {
    if (text.length - position < longestOne) {
      const rest = text.slice(position)
      return [...places].flatMap(([one, found]) => (one.startsWith(rest) || rest.startsWith(one) ? found : []))
    }
    const found: { readonly of: Spelled; readonly at: number }[] = []
    for (const start of [text.slice(position, position + 2), text.charAt(position)]) {
      for (const length of lengths.get(start) ?? []) {
        found.push(...(places.get(text.slice(position, position + length)) ?? []))
      }
    }
    return found
  }

  /** The value whose first encoded character is at a position: the longest that is complete, or else one that is cut. */
  function foundAt(text: string, position: number, earliest: number): Found | undefined {
    let best: Found | undefined
    for (const { of, at } of candidatesAt(text, position)) {
      const offset = of.offsets[at] ?? 0
      const start = position - offset
      if (start < earliest || !text.startsWith(of.value.slice(0, offset), start)) continue
      const read = readOn(of, { text, position, at })
      if (read === undefined) continue
      const found = { start, ...read, value: of.value, digits: '0'.repeat(at) + read.digits }
      if (best === undefined || isBetter(found, best)) best = found
    }
    return best
  }

  return {
    replace(text, by) {
      let result = ''
      let done = 0
      for (const { index } of text.matchAll(escapes)) {
        if (index < done) continue
        const found = foundAt(text, index, done)
        if (found === undefined || found.end === 'cut') continue
        result += text.slice(done, found.start) + by(found.value, found.digits)
        done = found.end
      }
      return done === 0 ? text : result + text.slice(done)
    },
    begun(text, least) {
      const tail = text.slice(Math.max(0, text.length - longest - least))
      const latest = tail.length - least
      let done = 0
      for (const { index } of tail.matchAll(escapes)) {
        if (index < done) continue
        const found = foundAt(tail, index, done)
        if (found === undefined) continue
        const { start, end } = found
        if (end === 'cut' || end > latest) return Math.max(least, tail.length - start)
        done = end
      }
      return least
    },
  }
}

/** A way of reading: the digit of its last character, and the way before. */
interface Way {
  readonly digit: string
  readonly before: Way | undefined
}

/** The rest of a value from its character `at` on, as it is written at a position. All ways are followed at once. */
function readOn(
  { spellings }: Spelled,
  { text, position, at }: { readonly text: string; readonly position: number; readonly at: number },
): { readonly end: number | 'cut'; readonly digits: string } | undefined {
  let ways = new Map<number, Way | undefined>([[position, undefined]])
  let isCut = false
  for (const texts of spellings.slice(at)) {
    const next = new Map<number, Way | undefined>()
    for (const [place, before] of ways) {
      for (const [index, one] of texts.entries()) {
        if (one === undefined) continue
        if (text.startsWith(one, place)) {
          const end = place + one.length
          if (!next.has(end)) next.set(end, { digit: index.toString(base), before })
        } else if (text.length - place < one.length && one.startsWith(text.slice(place))) isCut = true
      }
    }
    if (next.size === 0) return isCut ? { end: 'cut', digits: '' } : undefined
    ways = next
  }
  const end = Math.max(...ways.keys())
  const digits: string[] = []
  for (let way = ways.get(end); way !== undefined; way = way.before) digits.push(way.digit)
  return { end, digits: digits.toReversed().join('') }
}

function isBetter(one: Found, other: Found): boolean {
  if (one.end === 'cut') return other.end === 'cut' && one.start < other.start
  return other.end === 'cut' || one.end > other.end
}
