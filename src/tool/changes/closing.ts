import { fenceEnd } from './fence.ts'
import { closingText, isContainer, isDirective, readTag, type Tag } from './tag.ts'

/** Where the content of a directive ends. */
export interface Closing {
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
export function findClosing(lines: readonly string[], start: number, open: Tag): Closing | undefined {
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
  return tag !== undefined && closes(tag, open) ? { line, before: '', rest: tag.rest } : undefined
}

interface OwnLineSearch {
  readonly open: Tag
  readonly maxIndent: number
}

function closingOnOwnLine(
  lines: readonly string[],
  start: number,
  { open, maxIndent }: OwnLineSearch,
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
export function closingInRest(rest: string, open: Tag): Omit<Closing, 'line'> | undefined {
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

function closes(tag: Tag, open: Tag): boolean {
  return tag.form === 'close' && tag.name === open.name && tag.style === open.style
}

function nextWithText(lines: readonly string[], start: number): number {
  let line = start
  while (line < lines.length && lines[line]?.trim() === '') line += 1
  return line
}
