import type { AnswerLines } from './answer-lines.ts'
import { type Directive, failDirective, type TransferDirective } from './directive.ts'
import { withoutFence } from './fence.ts'
import { foreignMarkIn, mixedFault } from './foreign-marks.ts'
import {
  closingIn,
  closingText,
  type DirectiveName,
  directiveKinds,
  isContainer,
  isDirective,
  readTag,
  type Tag,
} from './tag.ts'

/**
 * What counts as a change. `pack`: what AIPack accepts, for scripts. `answer`: only what is clearly meant as one, for
 * prompt files: it starts in the first column, is closed, and contains no mark of another form.
 */
export type ReadingPolicy = 'pack' | 'answer'

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
export function nextWithText(lines: readonly string[], start: number): number {
  let line = start
  while (line < lines.length && lines[line]?.trim() === '') line += 1
  return line
}
