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
 * directives, but for those that are quoted. Nothing is thrown and nothing is lost: what cannot be read becomes a
 * directive of the kind Fail that says why. Of a container that is never closed, the directives that are complete still count.
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

/** Longer answers are not looked through: far more than any model writes at once. */
export const mostCharacters = 32 * 1024 * 1024
/** So many changes one answer may hold. */
const mostDirectives = 100_000

/** Stands for an answer that is not read. */
export function tooLong({ length }: string): Directive {
  const reason = `the answer has ${length} characters, and changes are read from ${mostCharacters} at most: send fewer changes at once`
  return failDirective('limit', reason)
}

/** The changes, or the fault of too many. */
export function withinLimits(directives: readonly Directive[]): readonly Directive[] {
  if (directives.length <= mostDirectives) return directives
  const reason = `the answer holds ${directives.length} changes, and ${mostDirectives} are the most: send fewer changes at once`
  return [failDirective('limit', reason)]
}

interface ContainerOptions {
  readonly text: string
  readonly policy: ReadingPolicy
}

/** Reads the container that begins in the line, with what stands before it; false when there is none. */
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

/** More than the tag of a container is long. */
const mostTag = 200

/** The opening tag of a container: alone on its line, or followed by a directive. All else is a mention in prose. */
function readOpening(lines: AnswerLines, policy: ReadingPolicy) {
  const { all, at, line } = lines
  // a line may be as long as the answer, and is read again behind each tag
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

/** Reads up to behind the closing tag, else up to behind the last directive. */
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

/** The text of such a container would be lost, and may be a change in a form that nobody knows. */
function proseOnly({ name }: Tag): Directive {
  return failDirective('malformed', `${name} holds text and no file change; leave it out if nothing is to be changed`)
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
    // what belongs to the same foreign change is one fault
    if (previous?.kind === 'Fail' && previous.fault === 'mixed') return undefined
    lines.pass()
    return mixedFault(open.name, mark)
  }
  if (tag !== undefined && tag.form !== 'close' && isDirective(tag.name)) {
    return readDirective(lines, tag, { name: tag.name, policy })
  }
  return readUnknown(lines, tag, previous)
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

/** All hunks of a file belong into one patch, because each is looked for behind the one before. */
export function refuseRepeatedPatches(directives: readonly Directive[]): readonly Directive[] {
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
    return failDirective('repeated', cause, { filePath: directive.filePath, hunks })
  })
}
