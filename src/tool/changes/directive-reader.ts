import { closingInRest, findClosing, type Closing } from './closing.ts'
import { type ContentDirective, type Directive, failDirective, type TransferDirective } from './directive.ts'
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
  readonly kind: ContentDirective['kind']
}

function readContent(lines: readonly string[], at: number, { tag, kind }: ContentTag): DirectiveReading {
  const filePath = attribute(tag, 'file_path')
  const made = (content: string): Directive =>
    filePath === undefined ? missing(tag, 'file_path') : { kind, filePath, content }

  if (tag.form === 'single') return { directive: made(''), next: at + 1, rest: tag.rest }
  const inline = closingInRest(tag.rest, tag)
  if (inline !== undefined) return { directive: made(inline.before), next: at + 1, rest: inline.rest }
  const closing = findClosing(lines, at + 1, tag)
  if (closing !== undefined) {
    return { directive: made(contentBetween(lines, at, { tag, closing })), next: closing.line + 1, rest: closing.rest }
  }
  const directive = failDirective(`${tag.name} is never closed with ${closingText(tag)}`, filePath)
  return { directive, next: at + 1, rest: '' }
}

function contentBetween(
  lines: readonly string[],
  at: number,
  { tag, closing }: { readonly tag: Tag; readonly closing: Closing },
): string {
  const first = tag.rest.trim() === '' ? [] : [tag.rest]
  const last = closing.before === '' ? [] : [closing.before]
  return withoutFence([...first, ...lines.slice(at + 1, closing.line), ...last]).join('')
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

function attribute({ attributes }: Tag, name: string): string | undefined {
  const value = attributes.get(name)?.trim()
  return value === '' ? undefined : value
}

function missing(tag: Tag, name: string, filePath?: string): Directive {
  return failDirective(`${tag.name} needs the attribute ${name}`, filePath)
}
