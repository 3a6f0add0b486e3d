import { type AipFence, linesOf, nextAipFence } from '../../prompt/lines.ts'
import { lineSpans } from './text-lines.ts'

export interface MarkdownBlock {
  /** The text after the opening fence; may be empty. */
  readonly lang: string
  /** Its lines, each with a newline. */
  readonly content: string
}

/**
 * The fenced blocks of a text, or those of one language, and the text without them. An unclosed fence starts no block
 * and removes no text.
 */
export function extractBlocks(
  text: string,
  lang?: string,
): { readonly blocks: MarkdownBlock[]; readonly rest: string } {
  const blocks: MarkdownBlock[] = []
  const rest: string[] = []
  let fence: AipFence = 'out'
  let open: string[] = []
  for (const line of linesOf(text)) {
    const before = fence
    fence = nextAipFence(fence, line)
    if (before === 'out' && fence === 'out') rest.push(line)
    else open.push(line)
    if (before === 'out' || fence !== 'out') continue
    const [opening = '', ...inner] = open.slice(0, -1)
    const found = opening.replace(/^`{3,4}/, '').trim()
    if (lang === undefined || lang === found) {
      blocks.push({ lang: found, content: inner.map((content) => `${content}\n`).join('') })
    } else addAll(open, rest)
    open = []
  }
  addAll(open, rest)
  return { blocks, rest: rest.map((line) => `${line}\n`).join('') }
}

/** There may be more lines than a call can take arguments. */
function addAll(lines: readonly string[], to: string[]): void {
  for (const line of lines) to.push(line)
}

export interface MetaBlock {
  readonly lang: 'toml' | 'json' | 'yaml'
  readonly content: string
  /** Line of the first content line in the text, from 1. */
  readonly firstLine: number
}

const metaOpening = /^```\s*(toml|json|yaml|yml)\s*$/
const metaMark = /^\s*(?:#|\/\/)!meta/

/**
 * The fenced `toml`, `json` and `yaml` blocks whose first line starts with `#!meta` or `//!meta`, and the text without
 * them. As in AIPack, a newline at the end of the text is dropped.
 */
export function extractMetaBlocks(text: string): { readonly blocks: MetaBlock[]; readonly rest: string } {
  const lines = linesOf(text)
  const blocks: MetaBlock[] = []
  const rest: string[] = []
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    if (!line.startsWith('```')) {
      rest.push(line)
      continue
    }
    const end = fenceBehind(lines, index)
    const lang = metaOpening.exec(line)?.[1]
    const last = end === -1 ? lines.length - 1 : end
    if (lang !== undefined && end !== -1 && metaMark.test(lines[index + 1] ?? '')) {
      const content = lines.slice(index + 2, end).join('\n')
      blocks.push({ lang: lang === 'yml' ? 'yaml' : (lang as MetaBlock['lang']), content, firstLine: index + 3 })
    } else addAll(lines.slice(index, last + 1), rest)
    index = last
  }
  return { blocks, rest: rest.join('\n') }
}

/** The line of the next fence, or -1. */
function fenceBehind(lines: readonly string[], index: number): number {
  for (let at = index + 1; at < lines.length; at += 1) if (lines[at]?.startsWith('```') === true) return at
  return -1
}

/** The content between the first and last fence if the text starts with a fence; otherwise the text unchanged. */
export function outerBlockContent(text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('```')) return text
  const lines = linesOf(trimmed)
  const last = lines.findLastIndex((line) => line.startsWith('```'))
  return last > 0 ? `${lines.slice(1, last).join('\n')}\n` : trimmed
}

export interface MarkdownReference {
  readonly target: string
  /** Undefined when the brackets are empty. */
  readonly text: string | undefined
  readonly inline: boolean
  readonly kind: 'Anchor' | 'File' | 'Url'
}

/** Links and images outside fences and inline code. */
export function extractReferences(text: string): MarkdownReference[] {
  let fence: AipFence = 'out'
  return linesOf(text).flatMap((line) => {
    const before = fence
    fence = nextAipFence(fence, line)
    return before === 'out' && fence === 'out' ? referencesOf(line) : []
  })
}

function referencesOf(line: string): MarkdownReference[] {
  const references: MarkdownReference[] = []
  let backticks = 0
  let counted = 0
  for (let open = line.indexOf('['); open !== -1;) {
    const close = line.indexOf(']', open + 1)
    if (close === -1) break
    const end = line[close + 1] === '(' ? line.indexOf(')', close + 2) : -1
    if (end <= close + 2) {
      open = line.indexOf('[', close + 1)
      continue
    }
    for (; counted < open; counted += 1) if (line[counted] === '`') backticks += 1
    if (backticks % 2 === 0) {
      const target = line.slice(close + 2, end)
      const label = line.slice(open + 1, close)
      references.push({
        target,
        text: label === '' ? undefined : label,
        inline: line[open - 1] === '!',
        kind: kindOf(target),
      })
    }
    open = line.indexOf('[', end + 1)
  }
  return references
}

function kindOf(target: string): MarkdownReference['kind'] {
  if (target.startsWith('#')) return 'Anchor'
  return /^(?:https?:)?\/\//.test(target) ? 'Url' : 'File'
}

interface MarkdownHeading {
  /** The whole line without its line break. */
  readonly line: string
  /** 1 to 6. */
  readonly level: number
  readonly name: string
}

export interface MarkdownSection {
  /** Undefined for the text before the first heading. */
  readonly heading: MarkdownHeading | undefined
  /** The heading line with its line break; empty without a heading. */
  readonly headingRaw: string
  /** The text after the heading line, verbatim. */
  readonly content: string
}

/** The level and name that a heading must match; level 0 is the text before the first heading. */
export type HeadingPattern = Pick<MarkdownHeading, 'level' | 'name'>

/** A pattern such as `## Name`; the empty string stands for the text before the first heading. */
export function headingPattern(text: string): HeadingPattern | undefined {
  return text === '' ? { level: 0, name: '' } : parseHeading(text)
}

/** `#` to `######` at the start of the line, whitespace, a name. */
function parseHeading(line: string): MarkdownHeading | undefined {
  const match = /^(#{1,6})\s+(\S.*)$/.exec(line)
  if (match === null) return undefined
  const [, marks = '', name = ''] = match
  return { line, level: marks.length, name: name.trimEnd() }
}

/**
 * The sections of a Markdown text. Without patterns, every heading starts its own section. With patterns, a section
 * starts at a heading of that level and name, and includes the deeper headings below it. Headings inside fences are
 * ignored.
 */
export function markdownSections(text: string, patterns: readonly HeadingPattern[] = []): MarkdownSection[] {
  const parts = splitAtHeadings(text)
  if (patterns.length === 0) return parts
  const sections: MarkdownSection[] = []
  let open = false
  for (const part of parts) {
    const last = sections.at(-1)
    const level = part.heading?.level ?? 0
    if (open && last?.heading !== undefined && level > last.heading.level) {
      sections[sections.length - 1] = { ...last, content: last.content + part.headingRaw + part.content }
      continue
    }
    open = patterns.some((pattern) => pattern.level === level && pattern.name === (part.heading?.name ?? ''))
    if (open) sections.push(part)
  }
  return sections
}

/** The first section and everything after it. Together they are the whole text. */
export function splitFirstSection(text: string): {
  readonly first: MarkdownSection | undefined
  readonly after: string
} {
  const [first] = splitAtHeadings(text)
  if (first === undefined) return { first, after: '' }
  return { first, after: text.slice(first.headingRaw.length + first.content.length) }
}

function splitAtHeadings(text: string): MarkdownSection[] {
  const parts: MarkdownSection[] = []
  let fence: AipFence = 'out'
  let part = { heading: undefined as MarkdownHeading | undefined, headingRaw: '', contentStart: 0 }
  const close = (end: number): void => {
    if (part.heading === undefined && end === 0) return
    parts.push({ heading: part.heading, headingRaw: part.headingRaw, content: text.slice(part.contentStart, end) })
  }
  for (const { start, end, next } of lineSpans(text)) {
    const line = text.slice(start, end)
    fence = nextAipFence(fence, line)
    const heading = fence === 'out' ? parseHeading(line) : undefined
    if (heading !== undefined) {
      close(start)
      part = { heading, headingRaw: text.slice(start, next), contentStart: next }
    }
  }
  close(text.length)
  return parts
}
