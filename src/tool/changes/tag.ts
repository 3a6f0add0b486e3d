/**
 * A tag of the change format at the start of a line: `<NAME a="b">`, or `[[[NAME a="b"]]]`, which may also end with
 * `]]`.
 */
export interface Tag {
  readonly name: string
  readonly form: 'open' | 'close' | 'single'
  readonly style: '<' | '[[['
  readonly attributes: ReadonlyMap<string, string>
  /** Number of spaces before it. */
  readonly indent: number
  /** The rest of the line, with the line break. */
  readonly rest: string
}

const tagPattern =
  /^([ \t]*)(<|\[\[\[)(\/?)([A-Z][A-Z0-9_]*)((?:\s+[A-Za-z_][\w-]*\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)(>|\]\]\]?)/
const attributePattern = /([A-Za-z_][\w-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')/g
const tagStart = /^[ \t]*(?:<|\[\[\[)\/?(FILE_[A-Z_]*|[A-Z][A-Z0-9_]{2,}(?=[\s/>\]]))/

/** The tag at the start of a line. */
export function readTag(line: string): Tag | undefined {
  const match = tagPattern.exec(line)
  if (match === null) return undefined
  const [whole, indent = '', style, closing, name = '', attributes = '', slash, end] = match
  if ((style === '<') !== (end === '>')) return undefined
  return {
    name,
    form: closing === '/' ? 'close' : slash === '/' ? 'single' : 'open',
    style: style === '<' ? '<' : '[[[',
    attributes: new Map(
      [...attributes.matchAll(attributePattern)].map(([, key = '', double, single]) => [key, double ?? single ?? '']),
    ),
    indent: indent.length,
    rest: line.slice(whole.length),
  }
}

/** The name in a line that starts like a tag, even if the tag itself cannot be parsed. */
export function tagLikeName(line: string): string | undefined {
  return tagStart.exec(line)?.[1]
}

/** The closing tag for an opening one, as it is written. */
export function closingText({ style, name }: Tag): string {
  return style === '<' ? `</${name}>` : `[[[/${name}]]]`
}

/** Finds the closing tag for an opening one in a line, at any position. */
export function closingIn(
  line: string,
  { style, name }: Tag,
): { readonly start: number; readonly end: number } | undefined {
  const shortest = style === '<' ? `</${name}>` : `[[[/${name}]]`
  const start = line.indexOf(shortest)
  if (start === -1) return undefined
  const end = start + shortest.length
  return { start, end: style === '[[[' && line[end] === ']' ? end + 1 : end }
}

export type DirectiveName = keyof typeof directiveKinds

/** The directives by their tag names. */
export const directiveKinds = {
  FILE_NEW: 'New',
  FILE_PATCH: 'Patch',
  FILE_APPEND: 'Append',
  FILE_COPY: 'Copy',
  FILE_RENAME: 'Rename',
  FILE_DELETE: 'Delete',
} as const

export function isDirective(name: string): name is DirectiveName {
  return Object.hasOwn(directiveKinds, name)
}

/** The container; the long name is that of later versions of the format. */
export function isContainer(name: string): boolean {
  return name === 'FILE_CHANGES' || name === 'UDIFFX_FILE_CHANGES'
}
