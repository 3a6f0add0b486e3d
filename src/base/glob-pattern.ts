import { BatonError } from './error.ts'
import { matchWild, parseWild, type WildToken } from './glob-segment.ts'

/** One folder or file name of a glob: text as it is, `**` for any number of names, or a name with wildcards. */
export type GlobSegment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'globstar' }
  | { readonly kind: 'wild'; readonly tokens: readonly WildToken[] }

export interface GlobPattern {
  /** As it was written. */
  readonly text: string
  /** Written with a leading `!`. */
  readonly negated: boolean
  /** One list of names per alternative of its braces. An absolute glob starts with an empty name. */
  readonly alternatives: readonly (readonly GlobSegment[])[]
}

const mostAlternatives = 1024

/**
 * Reads a glob (spec/aipack.md 6.3): `*`, `?`, `[a-z]`, `[!a-z]` within one name, `**` across names, `{a,b}`, `\` before
 * a character that shall stand for itself, `!` in front to exclude. Parentheses are ordinary characters.
 * @throws BatonError USAGE for an unclosed `[` or `{`, or more than 1024 brace alternatives
 */
export function parseGlob(text: string): GlobPattern {
  const negated = text.startsWith('!')
  const alternatives = expandBraces(text.slice(negated ? 1 : 0), text).map((alternative) =>
    pathSteps(alternative).map((step) => parseSegment(step, text)),
  )
  return { text, negated, alternatives }
}

function parseSegment(step: string, glob: string): GlobSegment {
  if (step === '**') return { kind: 'globstar' }
  const tokens = parseWild(step, glob)
  const literal = tokens.every((token) => token.kind === 'character')
  return literal ? { kind: 'literal', text: tokens.map((token) => token.text).join('') } : { kind: 'wild', tokens }
}

/** The names of a path or glob: `.` and doubled slashes drop out; an absolute one starts with an empty name. */
export function pathSteps(path: string): string[] {
  const steps = path.split('/').filter((step) => step !== '' && step !== '.')
  return path.startsWith('/') ? ['', ...steps] : steps
}

function expandBraces(text: string, glob: string): string[] {
  const group = firstBraces(text, glob)
  if (group === undefined) return [text]
  const results = group.options.flatMap((option) => expandBraces(group.before + option + group.after, glob))
  if (results.length <= mostAlternatives) return results
  throw new BatonError('USAGE', `the glob "${glob}" stands for more than ${mostAlternatives} alternatives`, {
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
  const commas: number[] = []
  let open = -1
  let depth = 0
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index]
    if (character === '\\') index += 1
    else if (character === '{') {
      if (depth === 0) open = index
      depth += 1
    } else if (character === ',' && depth === 1) commas.push(index)
    else if (character === '}' && depth > 0) {
      depth -= 1
      if (depth > 0) continue
      const edges = [open, ...commas, index]
      const options = edges.slice(1).map((edge, at) => text.slice((edges[at] ?? 0) + 1, edge))
      return { before: text.slice(0, open), options, after: text.slice(index + 1) }
    }
  }
  if (open === -1) return undefined
  throw new BatonError('USAGE', `the glob "${glob}" has a { without its }`, {
    hint: 'Close it, or write \\{ for the character itself.',
  })
}

/** True when one name matches one segment; `**` is not a name and never does. */
export function matchSegment(segment: GlobSegment, name: string): boolean {
  switch (segment.kind) {
    case 'literal':
      return segment.text === name
    case 'wild':
      return name !== '' && matchWild(segment.tokens, name)
    case 'globstar':
      return false
  }
}

/**
 * Where in the alternative one can stand before the first name is read: at 0, and behind leading `**`, which also
 * stand for no name at all. A `**` at the end needs at least one name: `a/**` is not `a`.
 */
export function startPositions(segments: readonly GlobSegment[]): readonly number[] {
  return closure(segments, [0])
}

/** Where one can stand after reading one more name. The length of the alternative itself means: matched. */
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
    } else if (matchSegment(segment, name)) reached.push(position + 1)
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

/** True when the whole path (as steps) matches the alternative. */
export function matchSteps(segments: readonly GlobSegment[], steps: readonly string[]): boolean {
  let positions = startPositions(segments)
  for (const step of steps) {
    if (positions.length === 0) return false
    positions = nextPositions(segments, positions, step)
  }
  return positions.includes(segments.length)
}
