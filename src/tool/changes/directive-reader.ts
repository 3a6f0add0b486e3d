import { posix } from 'node:path'
import { AnswerLines } from './answer-lines.ts'
import { type Directive, failDirective, type TransferDirective } from './directive.ts'
import {
  closingIn,
  closingText,
  directiveKinds,
  type DirectiveName,
  foreignMark,
  foreignMarkIn,
  isContainer,
  isDirective,
  mixedFault,
  readTag,
  type Tag,
  tagLikeName,
  withoutFence,
} from './syntax.ts'
import { parseHunks } from './hunk.ts'
import { directivesOf, type Piece, restOf, textPiece, withoutQuotations } from './pieces.ts'

/**
 * What counts as a change. `pack`: what AIPack accepts, for scripts. `answer`: only what is clearly meant as one, for
 * prompt files: it starts in the first column, is closed, and contains no mark of another form.
 */
type ReadingPolicy = 'pack' | 'answer'

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

interface DirectiveOptions {
  readonly name: DirectiveName
  readonly policy: ReadingPolicy
}

/** Reads the directive whose tag starts the line. */
export function readDirective(lines: AnswerLines, tag: Tag, { name, policy }: DirectiveOptions): Directive {
  const kind = directiveKinds[name]
  switch (kind) {
    case 'New':
    case 'Patch':
    case 'Append':
      return readContent(lines, tag, { kind, policy })
    case 'Copy':
    case 'Rename':
      passEmpty(lines, tag)
      return transfer(tag, kind)
    case 'Delete':
      passEmpty(lines, tag)
      return deletion(tag)
  }
}

interface ContentOptions {
  readonly kind: 'New' | 'Patch' | 'Append'
  readonly policy: ReadingPolicy
}

function readContent(lines: AnswerLines, tag: Tag, { kind, policy }: ContentOptions): Directive {
  const filePath = attribute(tag, 'file_path')
  const enclosed = readEnclosed(lines, tag) ?? (policy === 'pack' ? readUpToNext(lines, tag) : undefined)
  if (enclosed === undefined) return neverClosed(tag, filePath)
  if (filePath === undefined) return missing(tag, 'file_path')
  const content = withoutFence(enclosed).join('')
  const mark = policy === 'answer' ? foreignMarkIn(content, tag.style) : undefined
  if (mark !== undefined) return mixedFault(tag.name, mark, filePath)
  return { kind: kind === 'Append' && policy === 'answer' ? 'AppendLines' : kind, filePath, content }
}

/**
 * The content of an unclosed directive whose container is closed: everything up to the next directive, as in AIPack.
 */
function readUpToNext(lines: AnswerLines, open: Tag): readonly string[] | undefined {
  const start = lines.at
  const end = lines.next('end of an open directive', start, (index) => {
    const tag = lines.tagAt(index)
    return tag !== undefined && (isContainer(tag.name) || (tag.form !== 'close' && isDirective(tag.name)))
  })
  const container = lines.next('end of a container', start, (index) => {
    const tag = lines.tagAt(index)
    return tag?.form === 'close' && isContainer(tag.name)
  })
  if (end === undefined || container === undefined) return undefined
  lines.goTo(end)
  return [...(open.rest.trim() === '' ? [] : [open.rest]), ...lines.all.slice(start, end)]
}

/** Reads what is between the tag that starts the line and its closing tag; undefined if it is never closed. */
export function readEnclosed(lines: AnswerLines, tag: Tag): readonly string[] | undefined {
  if (tag.form === 'single') {
    lines.pass(tag.rest)
    return []
  }
  const inline = closingInRest(lines, tag.rest, tag)
  if (inline !== undefined) {
    lines.pass(inline.rest)
    return inline.before === '' ? [] : [inline.before]
  }
  const start = lines.at + 1
  const closing = findClosing(lines, start, tag)
  if (closing === undefined) {
    lines.pass()
    return undefined
  }
  lines.goTo(closing.line + 1, closing.rest)
  const first = tag.rest.trim() === '' ? [] : [tag.rest]
  const last = closing.before === '' ? [] : [closing.before]
  return [...first, ...lines.all.slice(start, closing.line), ...last]
}

export function neverClosed(tag: Tag, filePath: string | undefined): Directive {
  return failDirective('malformed', `${tag.name} is never closed with ${closingText(tag)}`, { filePath })
}

function deletion(tag: Tag): Directive {
  const filePath = attribute(tag, 'file_path')
  return filePath === undefined ? missing(tag, 'file_path') : { kind: 'Delete', filePath }
}

function transfer(tag: Tag, kind: TransferDirective['kind']): Directive {
  const fromPath = attribute(tag, 'from_path')
  const filePath = attribute(tag, 'to_path')
  if (fromPath === undefined) return missing(tag, 'from_path', filePath)
  return filePath === undefined ? missing(tag, 'to_path', fromPath) : { kind, fromPath, filePath }
}

/** A directive without content may still have a closing tag. */
function passEmpty(lines: AnswerLines, tag: Tag): void {
  if (tag.form === 'single') return lines.pass(tag.rest)
  const inline = closingInRest(lines, tag.rest, tag)
  if (inline?.before.trim() === '') return lines.pass(inline.rest)
  const following = lines.tagAt(lines.at + 1)
  const isClosed = tag.rest.trim() === '' && following?.form === 'close' && following.name === tag.name
  return isClosed ? lines.goTo(lines.at + 2, following.rest) : lines.pass(tag.rest)
}

/** The value of an attribute; an empty one counts as missing. */
export function attribute({ attributes }: Tag, name: string): string | undefined {
  const value = attributes.get(name)?.trim()
  return value === '' ? undefined : value
}

/** The fault for a tag that cannot be parsed. */
export function unreadable(line: string): Directive {
  return failDirective('malformed', `the tag ${line.trim()} cannot be read: attributes are written name="value"`)
}

/** The fault for a closing tag without an opening one. */
export function closesNothing(tag: Tag): Directive {
  return failDirective('malformed', `${closingText(tag)} closes nothing`)
}

/** The fault for a directive that lacks an attribute. */
export function missing(tag: Tag, name: string, filePath?: string): Directive {
  return failDirective('malformed', `${tag.name} needs the attribute ${name}`, { filePath })
}

/** Where the content of a directive ends. */
interface Closing {
  /** Index of the line with the closing tag. */
  readonly line: number
  /** Text before the tag on its line, which is content. */
  readonly before: string
  /** Text after it. */
  readonly rest: string
}

/**
 * Finds the closing tag of a directive opened on the line before `start`. A file may itself contain tags of this
 * format, so the reading that keeps most of the content together takes precedence: first a fence that wraps the
 * content, then the last closing tag on a separate line before the next directive, skipping pairs inside. A tag
 * indented more than the opening one is content. A tag at any other position is used only if nothing else fits.
 */
function findClosing(lines: AnswerLines, start: number, open: Tag): Closing | undefined {
  return (
    closingBehindFence(lines, start, open) ??
    closingOnOwnLine(lines, start, { open, maxIndent: open.indent }) ??
    closingOnOwnLine(lines, start, { open, maxIndent: Number.POSITIVE_INFINITY }) ??
    closingAtLineEnd(lines, start, open)
  )
}

function closingBehindFence(lines: AnswerLines, start: number, open: Tag): Closing | undefined {
  const end = lines.closingFence(nextWithText(lines.all, start))
  if (end === undefined) return undefined
  const line = nextWithText(lines.all, end + 1)
  const tag = lines.tagAt(line)
  const isClosing = tag?.form === 'close' && tag.name === open.name && tag.style === open.style
  return isClosing ? { line, before: '', rest: tag.rest } : undefined
}

function closingOnOwnLine(
  lines: AnswerLines,
  start: number,
  { open, maxIndent }: { readonly open: Tag; readonly maxIndent: number },
): Closing | undefined {
  let line = lines.closingTag(start, open, maxIndent)
  if (line === undefined) return undefined
  const end = nextEnd(lines, line + 1, { open, maxIndent })
  for (let next: number | undefined = line; next !== undefined && next < end;) {
    line = next
    next = lines.closingTag(next + 1, open, maxIndent)
  }
  return { line, before: '', rest: lines.tagAt(line)?.rest ?? '' }
}

/** The first line with a tag beyond which content cannot extend once it could end. */
function nextEnd(
  lines: AnswerLines,
  start: number,
  { open, maxIndent }: { readonly open: Tag; readonly maxIndent: number },
): number {
  let line = start
  for (; line < lines.all.length; line += 1) {
    const tag = lines.tagAt(line)
    if (tag !== undefined && tag.indent <= maxIndent && endsReading(tag, open)) break
  }
  return line
}

function closingAtLineEnd(lines: AnswerLines, start: number, open: Tag): Closing | undefined {
  for (let line = start; line < lines.all.length; line += 1) {
    const text = lines.all[line] ?? ''
    const tag = lines.tagAt(line)
    if (tag !== undefined && endsReading(tag, open)) return undefined
    const closing = closingIn(text, open)
    if (closing !== undefined && text.slice(closing.end).trim() === '') {
      return { line, before: text.slice(0, closing.start), rest: '' }
    }
  }
  return undefined
}

/** The content of a directive that opens and closes on one line. */
function closingInRest(lines: AnswerLines, rest: string, open: Tag): Omit<Closing, 'line'> | undefined {
  const closing = lines.closingInRest(rest, open)
  if (closing === undefined) return undefined
  const behind = rest.slice(closing.end)
  if (behind.trim() !== '' && readTag(behind) === undefined) return undefined
  return { before: rest.slice(0, closing.start), rest: behind }
}

function endsReading(tag: Tag, { name }: Tag): boolean {
  return tag.form === 'close' ? isContainer(tag.name) : isDirective(tag.name) || tag.name === name
}

/** Index of the next line that is not blank. */
function nextWithText(lines: readonly string[], start: number): number {
  let line = start
  while (line < lines.length && lines[line]?.trim() === '') line += 1
  return line
}
