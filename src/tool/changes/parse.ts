import { posix } from 'node:path'
import { AnswerLines } from './answer-lines.ts'
import { type Directive, failDirective } from './directive.ts'
import { closesNothing, nextWithText, readDirective, type ReadingPolicy, unreadable } from './directive-reader.ts'
import { foreignMark, mixedFault } from './foreign-marks.ts'
import { parseHunks } from './hunk.ts'
import { directivesOf, type Piece, restOf, textPiece, withoutQuotations } from './pieces.ts'
import { closingText, directiveKinds, isContainer, isDirective, readTag, type Tag, tagLikeName } from './tag.ts'

export interface ParsedChanges {
  readonly directives: readonly Directive[]
  /** The text without the containers. */
  readonly rest: string
}

/**
 * Reads the file changes of an answer for a pack: all containers `<FILE_CHANGES>` or `[[[FILE_CHANGES]]]` with their
 * directives, except quoted ones. Never throws and drops nothing: what cannot be read becomes a directive of the kind
 * Fail with the reason. In a container that is never closed, complete directives still count.
 */
export function parseChanges(text: string): ParsedChanges {
  if (text.length > mostCharacters) return { directives: [tooLong(text)], rest: text }
  const lines = new AnswerLines(text)
  const written: Piece[] = []
  while (!lines.isOver) {
    const { at, line } = lines
    if (readContainer(lines, written, { text, policy: 'pack' })) continue
    written.push(textPiece(line))
    lines.goTo(at + 1)
  }
  const pieces = withoutQuotations(written)
  return { directives: withinLimits(refuseRepeatedPatches(directivesOf(pieces))), rest: restOf(pieces) }
}

/** Longer answers are not parsed: this is far more than any model writes at once. */
export const mostCharacters = 32 * 1024 * 1024
/** Maximum number of changes in one answer. */
const mostDirectives = 100_000

/** The fault for an answer that is too long to be read. */
export function tooLong({ length }: string): Directive {
  const reason = `the answer has ${length} characters, but changes are read from at most ${mostCharacters}: send fewer changes at once`
  return failDirective('limit', reason)
}

/** The changes, or the fault for too many of them. */
export function withinLimits(directives: readonly Directive[]): readonly Directive[] {
  if (directives.length <= mostDirectives) return directives
  const reason = `the answer contains ${directives.length} changes, but at most ${mostDirectives} are allowed: send fewer changes at once`
  return [failDirective('limit', reason)]
}

interface ContainerOptions {
  readonly text: string
  readonly policy: ReadingPolicy
}

/** Reads the container that starts on the line, with the text before it; false if there is none. */
export function readContainer(lines: AnswerLines, written: Piece[], { text, policy }: ContainerOptions): boolean {
  const opening = readOpening(lines, policy)
  if (opening === undefined) return false
  if (opening.before !== '') written.push(textPiece(opening.before))
  const start = lines.position + opening.before.length
  lines.pass(opening.tag.rest)
  const { directives, isClosed } = readDirectives(lines, opening.tag, policy)
  const change = text.slice(start, lines.position)
  const isBare = !isClosed && directives.length === 1
  if (isBare) written.push(textPiece(change))
  written.push({ kind: 'change', text: isBare ? '' : change, directives })
  return true
}

const containerTag = /(?:<|\[\[\[)(?:UDIFFX_)?FILE_CHANGES\s*(?:>|\]\]\]?)/g

/** Longer than any tag of a container. */
const mostTag = 200

/**
 * The opening tag of a container: alone on its line, or followed by a directive. Anything else is a mention in prose.
 */
function readOpening(lines: AnswerLines, policy: ReadingPolicy) {
  const { all, at, line } = lines
  // a line may be as long as the answer, and is parsed again after each tag
  if (policy === 'answer' && !/^(?:<|\[\[\[)[UF]/.test(line)) return undefined
  for (const { index } of (policy === 'answer' ? line.slice(0, mostTag) : line).matchAll(containerTag)) {
    if (policy === 'answer' && index > 0) return undefined
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

/** Reads until after the closing tag, or else until after the last directive. */
function readDirectives(lines: AnswerLines, open: Tag, policy: ReadingPolicy) {
  const directives: Directive[] = []
  let used = lines.at
  let hasProse = false
  while (!lines.isOver) {
    const tag = lines.tagAt(lines.at)
    if (tag !== undefined && isContainer(tag.name) && (policy === 'pack' || tag.style === open.style)) {
      if (tag.form === 'open') break
      lines.pass(tag.rest)
      const isNone = policy === 'answer' && directives.length === 0 && hasProse
      return { directives: isNone ? [proseOnly(open)] : directives, isClosed: true }
    }
    const directive = readEntry(lines, { open, tag, policy, previous: directives.at(-1) })
    if (directive === undefined) {
      hasProse ||= lines.line.trim() !== ''
      lines.pass()
      continue
    }
    directives.push(directive)
    used = lines.at
  }
  lines.goTo(used)
  directives.push(failDirective('malformed', `${open.name} is never closed with ${closingText(open)}`))
  return { directives, isClosed: false }
}

/** The fault for a container with only text: the text would be lost, and may be a change in an unknown form. */
function proseOnly({ name }: Tag): Directive {
  return failDirective('malformed', `${name} contains text but no file change; leave it out if nothing needs to change`)
}

interface Entry {
  /** The tag of the container. */
  readonly open: Tag
  readonly tag: Tag | undefined
  readonly policy: ReadingPolicy
  readonly previous: Directive | undefined
}

function readEntry(lines: AnswerLines, { open, tag, policy, previous }: Entry): Directive | undefined {
  const mark = policy === 'answer' ? foreignMark(lines.line, open.style) : undefined
  if (mark !== undefined) {
    // consecutive lines of the same foreign change are one fault
    if (previous?.kind === 'Fail' && previous.fault === 'mixed') return undefined
    lines.pass()
    return mixedFault(open.name, mark)
  }
  if (tag !== undefined && tag.form !== 'close' && isDirective(tag.name)) {
    return readDirective(lines, tag, { name: tag.name, policy })
  }
  return readUnknown(lines, tag, previous)
}

/** The fault for something that looks like a directive but is not one. Prose between directives is skipped. */
function readUnknown(lines: AnswerLines, tag: Tag | undefined, previous: Directive | undefined): Directive | undefined {
  const { line } = lines
  const name = tagLikeName(line)
  // the end of unreadable content is not reported as a second fault
  if (name === undefined || (tag?.form === 'close' && previous?.kind === 'Fail')) return undefined
  lines.goTo(tag?.form === 'open' ? behindUnknown(lines, tag) : lines.at + 1)
  if (tag?.form === 'close') return closesNothing(tag)
  if (isDirective(name)) return unreadable(line)
  const reason = `there is no directive ${name}; known ones: ${Object.keys(directiveKinds).join(', ')}`
  return failDirective('malformed', reason, { filePath: tag?.attributes.get('file_path') })
}

function behindUnknown(lines: AnswerLines, open: Tag): number {
  const { at, all } = lines
  const closing = lines.closingTag(at + 1, open, Number.POSITIVE_INFINITY) ?? all.length
  const next = lines.next('directive', at + 1, (index) => {
    const name = lines.tagAt(index)?.name
    return name !== undefined && (isContainer(name) || isDirective(name))
  })
  return closing < (next ?? all.length) ? closing + 1 : at + 1
}

/** All hunks of a file belong into one patch, because each is searched for after the previous one. */
export function refuseRepeatedPatches(directives: readonly Directive[]): readonly Directive[] {
  const patched = new Set<string>()
  return directives.map((directive) => {
    if (directive.kind !== 'Patch') return directive
    const path = posix.normalize(directive.filePath)
    if (!patched.has(path)) {
      patched.add(path)
      return directive
    }
    const cause = `${directive.filePath} already has a FILE_PATCH; put all hunks of a file into one`
    const hunks = parseHunks(directive.content).map(({ body }) => ({ body, cause }))
    return failDirective('repeated', cause, { filePath: directive.filePath, hunks })
  })
}
