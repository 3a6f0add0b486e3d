import { type Directive, failDirective } from './directive.ts'

interface Fence {
  readonly marks: string
  readonly info: string
}

/** The fence that a line opens or closes, with the text after its marks. */
export function readFence(line: string): Fence | undefined {
  const match = /^\s*(`{3,}|~{3,})(.*)$/s.exec(line)
  const [, marks = '', info = ''] = match ?? []
  if (match === null || (marks.startsWith('`') && info.includes('`'))) return undefined
  return { marks, info: info.trim() }
}

/**
 * The index of the line that closes the fence opened on line `start`. Skips nested fences that are at least as long and
 * name a language; shorter ones are ignored. Undefined if `start` opens no fence, or it is never closed.
 */
function fenceEnd(lines: readonly string[], start: number): number | undefined {
  const open = readFence(lines[start] ?? '')
  if (open === undefined) return undefined
  let depth = 1
  for (let at = start + 1; at < lines.length; at += 1) {
    const fence = readFence(lines[at] ?? '')
    if (fence === undefined || !fence.marks.startsWith(open.marks)) continue
    depth += fence.info === '' ? -1 : 1
    if (depth === 0) return at
  }
  return undefined
}

/** The lines without a fence that wraps all of them; blank lines around it are removed too. */
export function withoutFence(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex(hasText)
  const last = lines.findLastIndex(hasText)
  if (first === -1 || fenceEnd(lines, first) !== last) return lines
  return lines.slice(first + 1, last)
}

/**
 * The lines inside the fence that the first and the last line form, whatever fences are in between; the lines unchanged
 * if they do not start with one. Undefined if the last line does not close the fence that the first one opens.
 */
export function outerFenceContent(lines: readonly string[]): readonly string[] | undefined {
  const first = lines.findIndex(hasText)
  const last = lines.findLastIndex(hasText)
  const open = readFence(lines[first] ?? '')
  if (open === undefined) return lines
  const close = readFence(lines[last] ?? '')
  const isClosed = last > first && close?.info === '' && close.marks.startsWith(open.marks)
  return isClosed ? lines.slice(first + 1, last) : undefined
}

/** Whether a line contains more than white space. */
export function hasText(line: string): boolean {
  return line.trim() !== ''
}

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

/** The marker lines of search and replace blocks, as models write them. */
export const searchMark = /^<{5,9} ?SEARCH>?\s*$/
export const dividerMark = /^={5,9}\s*$/
export const replaceMark = /^>{5,9} ?REPLACE\s*$/

const tagMark =
  /^(<|\[\[\[)\/?((?:UDIFFX_)?FILE_(?:CHANGES|NEW|PATCH|APPEND|COPY|RENAME|DELETE)|AIP_FILE_CHANGE)(?=[\s/>\]])/

/** The form a change is written in: tags by their brackets, whole-file blocks, or search and replace blocks. */
type WrittenForm = Tag['style'] | 'block' | 'search'

/** The mark of another form at the start of a line, in the first column. */
export function foreignMark(line: string, form: WrittenForm): string | undefined {
  const isSearch = searchMark.test(line) || replaceMark.test(line)
  if (isSearch) return form === 'search' || form === 'block' ? undefined : line.trim()
  const [mark, style, name] = tagMark.exec(line) ?? []
  const found: WrittenForm = name === 'AIP_FILE_CHANGE' ? 'block' : style === '<' ? '<' : '[[['
  return mark === undefined || found === form ? undefined : mark
}

/** The first such mark in the content of a change. */
export function foreignMarkIn(content: string, form: WrittenForm): string | undefined {
  if (!/^(?:[<>]{5}|<\/?[AFU]|\[\[\[)/m.test(content)) return undefined
  for (const line of content.split('\n')) {
    const mark = foreignMark(line, form)
    if (mark !== undefined) return mark
  }
  return undefined
}

/** The fault for a change that contains a mark of another form: it is unclear where one ends and the other starts. */
export function mixedFault(name: string, mark: string, filePath?: string): Directive {
  const reason = `the line ${mark} is a mark of another form within ${name}: write each change in one form only. If the file should really contain this line, write it in a FILE_PATCH, with + before it`
  return failDirective('mixed', reason, { filePath })
}
