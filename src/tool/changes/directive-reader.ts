import { closingInRest, findClosing } from './closing.ts'
import { type Directive, failDirective, type TransferDirective } from './directive.ts'
import { withoutFence } from './fence.ts'
import { closingText, directiveKinds, type DirectiveName, readTag, type Tag } from './tag.ts'

/** A directive and the lines that are left after it. */
export interface DirectiveReading {
  readonly directive: Directive
  /** Index of the first line behind it. */
  readonly next: number
  /** What follows its closing tag on the same line. */
  readonly rest: string
}

/** Reads the directive whose tag begins line `at`. Lines hold their line breaks. */
export function readDirective(lines: readonly string[], at: number, { tag, name }: NamedTag): DirectiveReading {
  const kind = directiveKinds[name]
  switch (kind) {
    case 'New':
    case 'Patch':
    case 'Append':
      return readContent(lines, at, { tag, kind })
    case 'Copy':
    case 'Rename':
      return { directive: transfer(tag, kind), ...behindEmpty(lines, at, tag) }
    case 'Delete':
      return { directive: deletion(tag), ...behindEmpty(lines, at, tag) }
  }
}

interface NamedTag {
  readonly tag: Tag
  readonly name: DirectiveName
}

interface ContentTag {
  readonly tag: Tag
  readonly kind: 'New' | 'Patch' | 'Append'
}

function readContent(lines: readonly string[], at: number, { tag, kind }: ContentTag): DirectiveReading {
  const filePath = attribute(tag, 'file_path')
  const made = (content: string): Directive =>
    filePath === undefined ? missing(tag, 'file_path') : { kind, filePath, content }

  const { lines: content, next, rest } = readEnclosed(lines, at, tag)
  const directive = content === undefined ? neverClosed(tag, filePath) : made(withoutFence(content).join(''))
  return { directive, next, rest }
}

/** What stands between a tag and its closing one. */
export interface Enclosed {
  /** Undefined when the tag is never closed. */
  readonly lines: readonly string[] | undefined
  /** Index of the first line behind it. */
  readonly next: number
  /** What follows the closing tag on the same line. */
  readonly rest: string
}

/** Reads the content of the tag that begins line `at`. */
export function readEnclosed(lines: readonly string[], at: number, tag: Tag): Enclosed {
  if (tag.form === 'single') return { lines: [], next: at + 1, rest: tag.rest }
  const inline = closingInRest(tag.rest, tag)
  if (inline !== undefined) {
    return { lines: inline.before === '' ? [] : [inline.before], next: at + 1, rest: inline.rest }
  }
  const closing = findClosing(lines, at + 1, tag)
  if (closing === undefined) return { lines: undefined, next: at + 1, rest: '' }
  const first = tag.rest.trim() === '' ? [] : [tag.rest]
  const last = closing.before === '' ? [] : [closing.before]
  return {
    lines: [...first, ...lines.slice(at + 1, closing.line), ...last],
    next: closing.line + 1,
    rest: closing.rest,
  }
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
function behindEmpty(lines: readonly string[], at: number, tag: Tag): { readonly next: number; readonly rest: string } {
  if (tag.form === 'single') return { next: at + 1, rest: tag.rest }
  const inline = closingInRest(tag.rest, tag)
  if (inline?.before.trim() === '') return { next: at + 1, rest: inline.rest }
  const following = readTag(lines[at + 1] ?? '')
  if (tag.rest.trim() === '' && following?.form === 'close' && following.name === tag.name) {
    return { next: at + 2, rest: following.rest }
  }
  return { next: at + 1, rest: tag.rest }
}

/** The value of an attribute; an empty one counts as left out. */
export function attribute({ attributes }: Tag, name: string): string | undefined {
  const value = attributes.get(name)?.trim()
  return value === '' ? undefined : value
}

/** Stands for a directive that lacks an attribute. */
export function missing(tag: Tag, name: string, filePath?: string): Directive {
  return failDirective(`${tag.name} needs the attribute ${name}`, filePath)
}
