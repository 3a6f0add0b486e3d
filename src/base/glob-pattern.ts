import { BatonError } from './error.ts'
import { cutEnd } from './width.ts'

/** One folder or file name of a glob: fixed text, `**` for any number of names, or a name with wildcards. */
export type GlobSegment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'globstar' }
  | { readonly kind: 'wild'; readonly pattern: RegExp }

export interface GlobPattern {
  /** As written. */
  readonly text: string
  /** Written with a leading `!`. */
  readonly negated: boolean
  /** One list of names per alternative of its braces. An absolute glob starts with an empty name. */
  readonly alternatives: readonly (readonly GlobSegment[])[]
}

const mostAlternatives = 1024
/** Twice the longest path on Linux. */
const mostCharacters = 8192
/** Characters in all alternatives: a pattern takes many times their memory. */
const mostExpanded = 128 * 1024

/**
 * Parses a glob: `*`, `?`, `[a-z]`, `[!a-z]` within one name, `**` across names, `{a,b}`, `\` to escape a character, a
 * leading `!` to exclude (docs/aipack.md "Globs"). Parentheses are ordinary characters.
 * @throws BatonError USAGE for an unclosed `[` or `{`, more than 8192 characters, 1024 brace alternatives or 128 kB of them
 */
export function parseGlob(text: string): GlobPattern {
  refuseLong(text)
  const negated = text.startsWith('!')
  const alternatives = expandBraces(text.slice(negated ? 1 : 0), text).map((alternative) =>
    pathSteps(alternative).map((step) => parseSegment(step, text)),
  )
  return { text, negated, alternatives }
}

/**
 * A glob as patterns for whole paths, of which any may match. Wildcards match `/` too: this is for ordering, not for
 * selecting. A leading `!` is an ordinary character.
 * @throws BatonError USAGE as `parseGlob`
 */
export function crossingPatterns(glob: string): readonly RegExp[] {
  refuseLong(glob)
  // `**/` may stand for no folder at all
  const written = glob.replaceAll(/(^|[/{,])(?:\*\*\/)+/g, '$1{,*/}')
  return expandBraces(written, glob).map((alternative) => namePattern(nameParts(alternative, glob).parts))
}

/** An escaped character, a class (a leading `]` is one of its characters), stars, or any other character. */
const token = /\\(?<escaped>[^])|\[(?<negated>[!^]?)(?<members>\]?[^\]]*)(?<end>\]?)|(?<stars>\*+)|[^]/gu

function parseSegment(step: string, glob: string): GlobSegment {
  if (step === '**') return { kind: 'globstar' }
  if (!/[*?[\\]/.test(step)) return { kind: 'literal', text: step }
  const { parts, literal } = nameParts(step, glob)
  return literal === undefined ? { kind: 'wild', pattern: namePattern(parts) } : { kind: 'literal', text: literal }
}

interface NameParts {
  /** Pattern sources of the text between the stars. */
  readonly parts: readonly string[]
  /** The name, if it has no wildcard. */
  readonly literal: string | undefined
}

function nameParts(step: string, glob: string): NameParts {
  let literal: string | undefined = ''
  const parts = ['']
  for (const [text, escaped, negated, members, end, stars] of step.matchAll(token)) {
    if (end === '') throw unclosed(glob, '[')
    const isPlain = members === undefined && stars === undefined && text !== '?'
    if (stars !== undefined) parts.push('')
    else parts[parts.length - 1] += isPlain ? exactly(escaped ?? text) : oneOf(negated, members)
    literal = isPlain && literal !== undefined ? literal + (escaped ?? text) : undefined
  }
  return { parts, literal }
}

/** Letters and digits are written unescaped: the engine keeps patterns, and an escape takes six times the memory. */
function exactly(character: string): string {
  if (/\w/.test(character)) return character
  return `\\u{${character.codePointAt(0)?.toString(16)}}`
}

/** A class of these members, or any character. A range whose end comes before its start has no characters. */
function oneOf(negated: string | undefined, members = ''): string {
  const ranges = Array.from(members.matchAll(/([^])-([^])|[^]/gu), ([text, first = text, last = text]) =>
    (first.codePointAt(0) ?? 0) <= (last.codePointAt(0) ?? 0) ? `${exactly(first)}-${exactly(last)}` : '',
  )
  return negated === undefined ? '[^]' : `[${negated === '' ? '' : '^'}${ranges.join('')}]`
}

/**
 * The parts of a name between its stars. Each `*` but the last matches as little as possible, and the lookahead
 * prevents backtracking into it, so the pattern is fast with any number of stars.
 */
function namePattern([first = '', ...parts]: readonly string[]): RegExp {
  const last = parts.pop()
  const middle = parts.map((part, index) => `(?=([^]*?${part}))\\${index + 1}`).join('')
  return new RegExp(`^${first}${middle}${last === undefined ? '' : `[^]*${last}`}$`, 'u')
}

function unclosed(glob: string, bracket: '[' | '{'): BatonError {
  return new BatonError('USAGE', `the glob "${glob}" has an unclosed ${bracket}`, {
    hint: `Close it, or write \\${bracket} for the character itself.`,
  })
}

/** The names of a path or glob, without `.` and empty ones; an absolute one starts with an empty name. */
export function pathSteps(path: string): string[] {
  const steps = path.split('/').filter((step) => step !== '' && step !== '.')
  return path.startsWith('/') ? ['', ...steps] : steps
}

/** Whether a path is longer than any that can exist: no glob matches it. */
export function isTooLong(path: string): boolean {
  return path.length > mostCharacters
}

function refuseLong(glob: string): void {
  if (!isTooLong(glob)) return
  const message = `the glob "${glob.slice(0, 40)}…" has more than ${mostCharacters} characters`
  throw new BatonError('USAGE', message, { hint: 'Write it as several globs.' })
}

function expandBraces(text: string, glob: string): string[] {
  const group = firstBraces(text, glob)
  if (group === undefined) return [text]
  const results: string[] = []
  let size = 0
  for (const option of group.options) {
    for (const result of expandBraces(group.before + option + group.after, glob)) {
      results.push(result)
      size += result.length
    }
    if (results.length > mostAlternatives) throw tooMany(glob, `more than ${mostAlternatives} alternatives`)
    if (size > mostExpanded) throw tooMany(glob, `alternatives of more than ${mostExpanded} characters`)
  }
  return results
}

function tooMany(glob: string, what: string): BatonError {
  return new BatonError('USAGE', `the glob "${cutEnd(glob, 200)}" has ${what}`, {
    hint: 'Write it as several globs.',
  })
}

interface Braces {
  readonly before: string
  readonly options: readonly string[]
  readonly after: string
}

/** The first group `{a,b}` at the outermost level. */
function firstBraces(text: string, glob: string): Braces | undefined {
  // where the group opens, its commas, and where it closes
  const edges: number[] = []
  let depth = 0
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index)
    if (character === '\\') index += 1
    if (character === '{') depth += 1
    if (depth === 1 && '{,}'.includes(character)) edges.push(index)
    if (character === '}' && depth > 0) depth -= 1
    if (depth > 0 || edges.length === 0) continue
    const options = edges.slice(1).map((edge, at) => text.slice((edges[at] ?? 0) + 1, edge))
    return { before: text.slice(0, edges[0]), options, after: text.slice(index + 1) }
  }
  if (depth === 0) return undefined
  throw unclosed(glob, '{')
}

/**
 * The positions in an alternative before the first name is read: 0, and those after leading `**`, which may match no
 * name at all. A `**` at the end needs at least one name: `a/**` does not match `a`.
 */
export function startPositions(segments: readonly GlobSegment[]): readonly number[] {
  return closure(segments, [0])
}

/** The positions after reading one more name. The length of the alternative itself means: matched. */
export function nextPositions(
  segments: readonly GlobSegment[],
  positions: readonly number[],
  name: string,
): readonly number[] {
  const reached: number[] = []
  for (const position of positions) {
    const segment = segments[position]
    if (segment === undefined) continue
    if (segment.kind === 'globstar') {
      reached.push(position)
      if (position === segments.length - 1) reached.push(segments.length)
    } else if (takes(segment, name)) reached.push(position + 1)
  }
  return closure(segments, reached)
}

function closure(segments: readonly GlobSegment[], positions: readonly number[]): readonly number[] {
  const passes = (position: number): boolean =>
    segments[position]?.kind === 'globstar' && position < segments.length - 1
  if (!positions.some(passes)) return positions
  const all = new Set(positions)
  for (const position of all) if (passes(position)) all.add(position + 1)
  return [...all]
}

/**
 * True if the whole path (as steps) matches the alternative. Anything an earlier `**` could still match, the latest one
 * reached matches too, so only that one is retried.
 */
export function matchSteps(segments: readonly GlobSegment[], steps: readonly string[]): boolean {
  if (!mayMatch(segments, steps)) return false
  let [position, step] = [0, 0]
  let star: { readonly position: number; step: number } | undefined
  while (step < steps.length) {
    const segment = segments[position]
    if (segment?.kind === 'globstar') {
      if (position === segments.length - 1) return true
      star = { position, step }
      position += 1
    } else if (segment !== undefined && takes(segment, steps[step] ?? '')) {
      position += 1
      step += 1
    } else if (star !== undefined) {
      star.step += 1
      step = star.step
      position = star.position + 1
    } else return false
  }
  return position === segments.length
}

function takes(segment: Exclude<GlobSegment, { readonly kind: 'globstar' }>, name: string): boolean {
  return segment.kind === 'literal' ? segment.text === name : name !== '' && segment.pattern.test(name)
}

/** Most paths match no glob: this usually shows at their last name, or at a name in the glob that they lack. */
function mayMatch(segments: readonly GlobSegment[], steps: readonly string[]): boolean {
  const last = segments.at(-1)
  const name = steps.at(-1)
  if (last !== undefined && last.kind !== 'globstar' && (name === undefined || !takes(last, name))) return false
  return segments.every((segment) => segment.kind !== 'literal' || steps.includes(segment.text))
}

/** A glob that matches exactly this path. */
export function escapeGlob(path: string): string {
  return path.replaceAll(/[\\*?[\]{},!]/g, String.raw`\$&`)
}
