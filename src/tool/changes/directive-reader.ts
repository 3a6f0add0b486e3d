import type { AnswerLines } from './answer-lines.ts'
import { type Directive, failDirective, type TransferDirective } from './directive.ts'
import { fenceEnd, withoutFence } from './fence.ts'
import { closingText, type DirectiveName, directiveKinds, isContainer, isDirective, readTag, type Tag } from './tag.ts'

/** Reads the directive whose tag begins the line. */
export function readDirective(lines: AnswerLines, tag: Tag, name: DirectiveName): Directive {
  const kind = directiveKinds[name]
  switch (kind) {
    case 'New':
    case 'Patch':
    case 'Append':
      return readContent(lines, tag, kind)
    case 'Copy':
    case 'Rename':
      passEmpty(lines, tag)
      return transfer(tag, kind)
    case 'Delete':
      passEmpty(lines, tag)
      return deletion(tag)
  }
}

function readContent(lines: AnswerLines, tag: Tag, kind: 'New' | 'Patch' | 'Append'): Directive {
  const filePath = attribute(tag, 'file_path')
  const content = readEnclosed(lines, tag)
  if (content === undefined) return neverClosed(tag, filePath)
  if (filePath === undefined) return missing(tag, 'file_path')
  return { kind, filePath, content: withoutFence(content).join('') }
}

/** Reads what stands between the tag that begins the line and its closing one; undefined when it is never closed. */
export function readEnclosed(lines: AnswerLines, tag: Tag): readonly string[] | undefined {
  if (tag.form === 'single') {
    lines.pass(tag.rest)
    return []
  }
  const inline = closingInRest(tag.rest, tag)
  if (inline !== undefined) {
    lines.pass(inline.rest)
    return inline.before === '' ? [] : [inline.before]
  }
  const start = lines.at + 1
  const closing = findClosing(lines.all, start, tag)
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
  return failDirective(`${tag.name} is never closed with ${closingText(tag)}`, filePath)
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

/** A directive without content may still be written with a closing tag. */
function passEmpty(lines: AnswerLines, tag: Tag): void {
  if (tag.form === 'single') return lines.pass(tag.rest)
  const inline = closingInRest(tag.rest, tag)
  if (inline?.before.trim() === '') return lines.pass(inline.rest)
  const following = readTag(lines.all[lines.at + 1] ?? '')
  const isClosed = tag.rest.trim() === '' && following?.form === 'close' && following.name === tag.name
  return isClosed ? lines.goTo(lines.at + 2, following.rest) : lines.pass(tag.rest)
}

/** The value of an attribute; an empty one counts as left out. */
export function attribute({ attributes }: Tag, name: string): string | undefined {
  const value = attributes.get(name)?.trim()
  return value === '' ? undefined : value
}

/** Stands for a tag that cannot be read. */
export function unreadable(line: string): Directive {
  return failDirective(`the tag ${line.trim()} cannot be read: attributes are written name="value"`)
}

/** Stands for a closing tag without an opening one. */
export function closesNothing(tag: Tag): Directive {
  return failDirective(`${closingText(tag)} closes nothing`)
}

/** Stands for a directive that lacks an attribute. */
export function missing(tag: Tag, name: string, filePath?: string): Directive {
  return failDirective(`${tag.name} needs the attribute ${name}`, filePath)
}

/** Where the content of a directive ends. */
interface Closing {
  /** Index of the line with the closing tag. */
  readonly line: number
  /** What stands before the tag on its line: content. */
  readonly before: string
  /** What stands behind it. */
  readonly rest: string
}

/**
 * Finds the closing tag of a directive that opened in the line before `start`. A file may hold tags of this format
 * itself, so the reading that keeps most of the content together wins: a fence that wraps the content first, then the
 * last closing tag on a line of its own before the next directive, with pairs inside it left alone. A tag that is
 * further right than the opening one is content. Only when nothing fits is a tag at another place taken.
 */
function findClosing(lines: readonly string[], start: number, open: Tag): Closing | undefined {
  return (
    closingBehindFence(lines, start, open) ??
    closingOnOwnLine(lines, start, { open, maxIndent: open.indent }) ??
    closingOnOwnLine(lines, start, { open, maxIndent: Number.POSITIVE_INFINITY }) ??
    closingAtLineEnd(lines, start, open)
  )
}

function closingBehindFence(lines: readonly string[], start: number, open: Tag): Closing | undefined {
  const first = nextWithText(lines, start)
  const end = fenceEnd(lines, first)
  if (end === undefined) return undefined
  const line = nextWithText(lines, end + 1)
  const tag = readTag(lines[line] ?? '')
  const isClosing = tag?.form === 'close' && tag.name === open.name && tag.style === open.style
  return isClosing ? { line, before: '', rest: tag.rest } : undefined
}

function closingOnOwnLine(
  lines: readonly string[],
  start: number,
  { open, maxIndent }: { readonly open: Tag; readonly maxIndent: number },
): Closing | undefined {
  let depth = 0
  let found: Closing | undefined
  for (let line = start; line < lines.length; line += 1) {
    const tag = readTag(lines[line] ?? '')
    if (tag === undefined || tag.indent > maxIndent) continue
    if (found !== undefined && endsReading(tag, open)) break
    if (tag.name !== open.name || tag.style !== open.style) continue
    if (tag.form === 'open') depth += 1
    else if (tag.form === 'close' && depth > 0) depth -= 1
    else if (tag.form === 'close') found = { line, before: '', rest: tag.rest }
  }
  return found
}

function closingAtLineEnd(lines: readonly string[], start: number, open: Tag): Closing | undefined {
  const closing = closingText(open)
  for (let line = start; line < lines.length; line += 1) {
    const text = lines[line] ?? ''
    const tag = readTag(text)
    if (tag !== undefined && endsReading(tag, open)) return undefined
    if (text.trimEnd().endsWith(closing)) return { line, before: text.slice(0, text.lastIndexOf(closing)), rest: '' }
  }
  return undefined
}

/** The content of a directive that opens and closes in one line. */
function closingInRest(rest: string, open: Tag): Omit<Closing, 'line'> | undefined {
  const closing = closingText(open)
  const at = rest.indexOf(closing)
  if (at === -1) return undefined
  const behind = rest.slice(at + closing.length)
  if (behind.trim() !== '' && readTag(behind) === undefined) return undefined
  return { before: rest.slice(0, at), rest: behind }
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
