import { formsOf, inForm, type SecretForm, secretForms } from './secret-forms.ts'
import { type Environment, type MaskOptions, secretValues } from './secret-values.ts'

export type { Environment, MaskOptions } from './secret-values.ts'

/** Hides secret values in text and restores them. */
export interface SecretMask {
  /**
   * Each secret value becomes `«secret:NAME»`, also inside longer text, and `«secret:NAME:FORM»` if it is in base64,
   * URL-encoded, escaped for JSON, or written in another mixture of such encodings. For records, error texts and rendering.
   */
  readonly mask: (text: string) => string
  /** Like `mask`, for display: only the values are replaced, so it cannot be reversed. */
  readonly hide: (text: string) => string
  /** Reverses `mask`. A name that is no longer in the environment is left unchanged. */
  readonly unmask: (text: string) => string
}

/** A mask that also handles incomplete text, and can learn more secrets over time. */
export interface LiveMask extends SecretMask {
  /** Hides these as well from now on. A known name keeps its value. */
  readonly add: (options: MaskOptions) => void
  /** How many characters at the end of a text may be the start of an incomplete secret. */
  readonly begun: (text: string) => number
}

const opening = '«secret:'
/** Stands for the opening itself if it occurs in the text; no environment variable can have this name. */
const literalName = '='
const written = new RegExp(`${opening}([^»]*)»`, 'g')
const spelling = 'spelled.'
const spellingEnd = /:spelled\.([0-9a-z]+)$/
const formEnd = new RegExp(`:(${secretForms.map((form) => form.replace('.', '\\.')).join('|')})$`)

/**
 * A mask for the secrets of an environment (`secretValues`), as they are and in other forms. One pass over a text finds
 * them all; the search table is built on first use.
 */
export function createMask(environment: Environment, options: MaskOptions = {}): LiveMask {
  let secrets = secretValues(environment, options)
  let search = once(() => prepared(secrets))

  function unmasked(found: string, label: string): string {
    if (label === literalName) return opening
    const value = secrets.get(label)
    if (value !== undefined) return value
    const digits = spellingEnd.exec(label)
    if (digits !== null) {
      const spelled = secrets.get(label.slice(0, digits.index))
      return spelled === undefined ? found : (inSpelling(spelled, digits[1] ?? '') ?? found)
    }
    const form = formEnd.exec(label)
    const inner = form === null ? undefined : secrets.get(label.slice(0, form.index))
    return inner === undefined ? found : (inForm(inner, form?.[1] as SecretForm) ?? found)
  }

  /** What is found as it is and in the forms takes precedence over values in other spellings. */
  function marked(text: string, by: 'all' | 'shown'): string {
    const { labels, spellings, [by]: texts } = search()
    const done = texts.replace(text, (found) => `${opening}${labels.get(found) ?? literalName}»`)
    if (!hasEscapes(done)) return done
    return spellings().replace(done, (value, digits) => `${opening}${labels.get(value)}:${spelling}${digits}»`)
  }

  return {
    add(more) {
      secrets = new Map([...secretValues(environment, more), ...secrets])
      search = once(() => prepared(secrets))
    },
    mask: (text) => marked(text, 'all'),
    hide: (text) => marked(text, 'shown'),
    unmask: (text) => (text.includes(opening) ? text.replace(written, unmasked) : text),
    begun(text) {
      const { shown, spellings } = search()
      const least = shown.begun(text)
      if (!hasEscapes(text)) return least
      // what is complete is not searched again
      const rest = shown.replace(text, (found) => '\0'.repeat(found.length))
      return spellings().begun(rest, least)
    },
  }
}

interface Prepared {
  /** The label of each text that is found. */
  readonly labels: ReadonlyMap<string, string>
  readonly shown: TextSearch
  /** Also finds the opening of a mask itself. */
  readonly all: TextSearch
  /** Created when a text contains encoded characters. */
  readonly spellings: () => SpellingSearch
}

/**
 * A value that several variables have is labeled with the first; a plain value takes precedence over an encoded form of
 * another one.
 */
function prepared(secrets: ReadonlyMap<string, string>): Prepared {
  const labels = new Map<string, string>()
  for (const [name, value] of secrets) if (!labels.has(value)) labels.set(value, name)
  for (const [name, value] of secrets) {
    for (const [text, form] of formsOf(value)) if (!labels.has(text)) labels.set(text, `${name}:${form}`)
  }
  return {
    labels,
    shown: createTextSearch(labels.keys()),
    all: createTextSearch([...labels.keys(), opening]),
    spellings: once(() => createSpellingSearch(secrets.values())),
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

/** The variables of the secrets in masked text; `mask` writes nothing else that looks like one. */
export function secretNames(masked: string): readonly string[] {
  const labels = [...masked.matchAll(written)].map(([, label = '']) => label)
  const names = labels.map((label) => label.replace(formEnd, '').replace(spellingEnd, '').replace(/#\d+$/, ''))
  return [...new Set(names)].filter((name) => name !== literalName)
}

/** Hides nothing. */
export const noMask: SecretMask = createMask({})

/** A pattern that matches exactly this text. */
export function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}

/** Finds many fixed texts in one pass. */
interface TextSearch {
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
function createTextSearch(texts: Iterable<string>): TextSearch {
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
function inSpelling(value: string, digits: string): string | undefined {
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
interface SpellingSearch {
  /** The text with each of them replaced. */
  readonly replace: (text: string, by: (value: string, digits: string) => string) => string
  /**
   * How many characters at the end of a text may be the start of one that is not complete yet: at least as many as
   * given, and more if these start within one that is complete.
   */
  readonly begun: (text: string, least: number) => number
}

/** Whether a text may contain encoded characters. */
function hasEscapes(text: string): boolean {
  return text.includes('%') || text.includes('\\') || text.includes('&') || text.includes('+')
}

/**
 * Looks only at characters that can start an encoded one: what precedes the first encoded character of a value must be
 * the start of the value as it is.
 */
function createSpellingSearch(values: Iterable<string>): SpellingSearch {
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
