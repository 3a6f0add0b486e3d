import { posix } from 'node:path'
import { type Directive, failDirective } from './directive.ts'
import { readDirective } from './directive-reader.ts'
import { parseHunks } from './hunk.ts'
import { directivesOf, type Piece, restOf, textPiece } from './pieces.ts'
import { withoutQuotations } from './quotation.ts'
import { closingText, directiveKinds, isContainer, isDirective, readTag, type Tag, tagLikeName } from './tag.ts'

export interface ParsedChanges {
  /** In the order they are written. */
  readonly directives: readonly Directive[]
  /** The text without the containers. */
  readonly rest: string
}

/**
 * Reads the file changes of an answer: all containers `<FILE_CHANGES>` or `[[[FILE_CHANGES]]]` with their directives
 * (spec/aipack.md 6.5, P-D5), but for those that are quoted. Nothing is thrown and nothing is lost: what cannot be read
 * becomes a directive of the kind Fail that says why. Of a container that is never closed, the directives that are
 * complete still count.
 */
export function parseChanges(text: string): ParsedChanges {
  const { directives, pieces } = takeChanges(text)
  return { directives, rest: restOf(pieces) }
}

/** An answer taken apart. */
export interface TakenChanges {
  /** In the order they are written. */
  readonly directives: readonly Directive[]
  /** The answer without quotations, which are text, and without fences that held nothing but changes. */
  readonly pieces: readonly Piece[]
}

/** The same with the answer in pieces. */
export function takeChanges(text: string): TakenChanges {
  const lines = linesWithBreaks(text)
  const position = positions(lines)
  const written: Piece[] = []
  for (let at = 0; at < lines.length;) {
    const opening = readOpening(lines, at)
    if (opening === undefined) {
      written.push(textPiece(lines[at] ?? ''))
      at += 1
      continue
    }
    if (opening.before !== '') written.push(textPiece(opening.before))
    const start = position(at) + opening.before.length
    at = putBack(lines, at + 1, opening.tag.rest)
    const { directives, isClosed, next } = readContainer(lines, at, opening.tag)
    const isBare = !isClosed && directives.length === 1
    const end = position(isBare ? at : next)
    if (isBare) written.push(textPiece(text.slice(start, end)))
    written.push({ kind: 'change', text: isBare ? '' : text.slice(start, end), directives })
    at = next
  }
  const pieces = withoutQuotations(written)
  return { directives: refuseRepeatedPatches(directivesOf(pieces)), pieces }
}

/** The lines of a text, each with its line break. */
export function linesWithBreaks(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/)
}

/** Makes what follows a tag the next line to read. `lines` belongs to the caller, who made them for this reading. */
export function putBack(lines: string[], next: number, rest: string): number {
  if (rest.trim() === '') return next
  lines[next - 1] = rest
  return next - 1
}

/**
 * Gives where in the text a line begins. `putBack` leaves of a line its end, so that this is also where the reading of
 * the line goes on.
 */
export function positions(lines: readonly string[]): (at: number) => number {
  let end = 0
  const ends = lines.map((line) => (end += line.length))
  return (at) => (ends[at] ?? end) - (lines[at] ?? '').length
}

interface Opening {
  readonly tag: Tag
  /** Text before the tag on its line. */
  readonly before: string
}

const containerTag = /(?:<|\[\[\[)(?:UDIFFX_)?FILE_CHANGES\s*(?:>|\]\]\])/g

/** The opening tag of a container: alone on its line, or followed by a directive. All else is a mention in prose. */
function readOpening(lines: readonly string[], at: number): Opening | undefined {
  const line = lines[at] ?? ''
  for (const { index } of line.matchAll(containerTag)) {
    const tag = readTag(line.slice(index))
    if (tag?.form !== 'open') continue
    const isAlone = line.slice(0, index).trim() === '' && tag.rest.trim() === ''
    if (isAlone || readTag(followingText(lines, at, tag))?.name.startsWith('FILE_') === true) {
      return { tag, before: line.slice(0, index).trim() === '' ? '' : line.slice(0, index) }
    }
  }
  return undefined
}

function followingText(lines: readonly string[], at: number, { rest }: Tag): string {
  if (rest.trim() !== '') return rest
  let next = at + 1
  while (next < lines.length && lines[next]?.trim() === '') next += 1
  return lines[next] ?? ''
}

interface ContainerReading {
  readonly directives: readonly Directive[]
  /** Index of the first line behind it. */
  readonly next: number
  readonly isClosed: boolean
}

function readContainer(lines: string[], start: number, open: Tag): ContainerReading {
  const directives: Directive[] = []
  let used = start
  for (let at = start; at < lines.length;) {
    const line = lines[at] ?? ''
    const tag = readTag(line)
    if (tag !== undefined && isContainer(tag.name)) {
      if (tag.form === 'open') break
      return { directives, next: putBack(lines, at + 1, tag.rest), isClosed: true }
    }
    if (tag !== undefined && tag.form !== 'close' && isDirective(tag.name)) {
      const { directive, next, rest } = readDirective(lines, at, { tag, name: tag.name })
      directives.push(directive)
      at = putBack(lines, next, rest)
      used = at
    } else {
      const unknown = readUnknown(lines, at, directives.at(-1))
      if (unknown !== undefined) directives.push(unknown.directive)
      at = unknown?.next ?? at + 1
      if (unknown !== undefined) used = at
    }
  }
  const unclosed = failDirective(`${open.name} is never closed with ${closingText(open)}`)
  return { directives: [...directives, unclosed], next: used, isClosed: false }
}

/** What looks like a directive and is none. Prose between directives is passed over. */
function readUnknown(
  lines: readonly string[],
  at: number,
  previous: Directive | undefined,
): { readonly directive: Directive; readonly next: number } | undefined {
  const line = lines[at] ?? ''
  const name = tagLikeName(line)
  if (name === undefined) return undefined
  const tag = readTag(line)
  if (tag?.form === 'close') {
    // the end of content that could not be read is no second fault
    if (previous?.kind === 'Fail') return undefined
    return { directive: failDirective(`${closingText(tag)} closes nothing`), next: at + 1 }
  }
  if (isDirective(name)) {
    const reason = `the tag ${line.trim()} cannot be read: attributes are written name="value"`
    return { directive: failDirective(reason), next: at + 1 }
  }
  const reason = `there is no directive ${name}; there are ${Object.keys(directiveKinds).join(', ')}`
  return { directive: failDirective(reason, tag?.attributes.get('file_path')), next: behindUnknown(lines, at, tag) }
}

function behindUnknown(lines: readonly string[], at: number, tag: Tag | undefined): number {
  if (tag?.form !== 'open') return at + 1
  for (let line = at + 1; line < lines.length; line += 1) {
    const found = readTag(lines[line] ?? '')
    if (found === undefined) continue
    if (found.form === 'close' && found.name === tag.name) return line + 1
    if (isContainer(found.name) || isDirective(found.name)) break
  }
  return at + 1
}

/** All hunks of a file belong into one patch, because each is looked for behind the one before. */
function refuseRepeatedPatches(directives: readonly Directive[]): readonly Directive[] {
  const patched = new Set<string>()
  return directives.map((directive) => {
    if (directive.kind !== 'Patch') return directive
    const path = posix.normalize(directive.filePath)
    if (!patched.has(path)) {
      patched.add(path)
      return directive
    }
    const cause = `${directive.filePath} has a FILE_PATCH already; all hunks of a file belong into one`
    const hunks = parseHunks(directive.content).map(({ body }) => ({ body, cause }))
    return failDirective(cause, directive.filePath, hunks)
  })
}
