import { posix } from 'node:path'
import { AnswerLines } from './answer-lines.ts'
import { type Directive, failDirective } from './directive.ts'
import { closesNothing, nextWithText, readDirective, unreadable } from './directive-reader.ts'
import { parseHunks } from './hunk.ts'
import { directivesOf, type Piece, restOf, textPiece, withoutQuotations } from './pieces.ts'
import { closingText, directiveKinds, isContainer, isDirective, readTag, type Tag, tagLikeName } from './tag.ts'

export interface ParsedChanges {
  readonly directives: readonly Directive[]
  /** The text without the containers. */
  readonly rest: string
}

/**
 * Reads the file changes of an answer: all containers `<FILE_CHANGES>` or `[[[FILE_CHANGES]]]` with their directives,
 * but for those that are quoted. Nothing is thrown and nothing is lost: what cannot be read becomes a directive of the kind
 * Fail that says why. Of a container that is never closed, the directives that are complete still count.
 */
export function parseChanges(text: string): ParsedChanges {
  const { directives, pieces } = takeChanges(text)
  return { directives, rest: restOf(pieces) }
}

/** An answer taken apart. */
export interface TakenChanges {
  readonly directives: readonly Directive[]
  /** The answer without quotations, which are text, and without fences that held nothing but changes. */
  readonly pieces: readonly Piece[]
}

/** The same with the answer in pieces. */
export function takeChanges(text: string): TakenChanges {
  const lines = new AnswerLines(text)
  const written: Piece[] = []
  while (!lines.isOver) {
    const opening = readOpening(lines)
    if (opening === undefined) {
      written.push(textPiece(lines.line))
      lines.pass()
      continue
    }
    if (opening.before !== '') written.push(textPiece(opening.before))
    const start = lines.position + opening.before.length
    lines.pass(opening.tag.rest)
    const { directives, isClosed } = readContainer(lines, opening.tag)
    const change = text.slice(start, lines.position)
    const isBare = !isClosed && directives.length === 1
    if (isBare) written.push(textPiece(change))
    written.push({ kind: 'change', text: isBare ? '' : change, directives })
  }
  const pieces = withoutQuotations(written)
  return { directives: refuseRepeatedPatches(directivesOf(pieces)), pieces }
}

const containerTag = /(?:<|\[\[\[)(?:UDIFFX_)?FILE_CHANGES\s*(?:>|\]\]\])/g

/** The opening tag of a container: alone on its line, or followed by a directive. All else is a mention in prose. */
function readOpening({ all, at, line }: AnswerLines) {
  for (const { index } of line.matchAll(containerTag)) {
    const tag = readTag(line.slice(index))
    if (tag?.form !== 'open') continue
    const isAlone = line.slice(0, index).trim() === '' && tag.rest.trim() === ''
    if (
      isAlone ||
      readTag(tag.rest.trim() === '' ? (all[nextWithText(all, at + 1)] ?? '') : tag.rest)?.name.startsWith('FILE_') ===
        true
    ) {
      return { tag, before: line.slice(0, index).trim() === '' ? '' : line.slice(0, index) }
    }
  }
  return undefined
}

/** Reads up to behind the closing tag, else up to behind the last directive. */
function readContainer(lines: AnswerLines, open: Tag) {
  const directives: Directive[] = []
  let used = lines.at
  while (!lines.isOver) {
    const tag = readTag(lines.line)
    if (tag !== undefined && isContainer(tag.name)) {
      if (tag.form === 'open') break
      lines.pass(tag.rest)
      return { directives, isClosed: true }
    }
    const directive =
      tag !== undefined && tag.form !== 'close' && isDirective(tag.name)
        ? readDirective(lines, tag, tag.name)
        : readUnknown(lines, tag, directives.at(-1))
    if (directive === undefined) {
      lines.pass()
      continue
    }
    directives.push(directive)
    used = lines.at
  }
  lines.goTo(used)
  directives.push(failDirective(`${open.name} is never closed with ${closingText(open)}`))
  return { directives, isClosed: false }
}

/** What looks like a directive and is none. Prose between directives is passed over. */
function readUnknown(lines: AnswerLines, tag: Tag | undefined, previous: Directive | undefined): Directive | undefined {
  const { line } = lines
  const name = tagLikeName(line)
  // the end of content that could not be read is no second fault
  if (name === undefined || (tag?.form === 'close' && previous?.kind === 'Fail')) return undefined
  lines.goTo(tag?.form === 'open' ? behindUnknown(lines, tag) : lines.at + 1)
  if (tag?.form === 'close') return closesNothing(tag)
  if (isDirective(name)) return unreadable(line)
  const reason = `there is no directive ${name}; there are ${Object.keys(directiveKinds).join(', ')}`
  return failDirective(reason, tag?.attributes.get('file_path'))
}

function behindUnknown({ all, at }: AnswerLines, { name }: Tag): number {
  for (let line = at + 1; line < all.length; line += 1) {
    const found = readTag(all[line] ?? '')
    if (found === undefined) continue
    if (found.form === 'close' && found.name === name) return line + 1
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
