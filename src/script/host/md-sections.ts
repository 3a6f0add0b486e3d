import { nextAipFence, type AipFence } from '../../prompt/fences.ts'

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
  /** What follows the heading line, exactly as it is written. */
  readonly content: string
}

/** What a heading must be to match; level 0 is the text before the first heading. */
export type HeadingPattern = Pick<MarkdownHeading, 'level' | 'name'>

/** A pattern such as `## Name`; the empty text stands for the text before the first heading. */
export function headingPattern(text: string): HeadingPattern | undefined {
  return text === '' ? { level: 0, name: '' } : parseHeading(text)
}

/** `#` to `######` at the start of the line, white space, a name. */
function parseHeading(line: string): MarkdownHeading | undefined {
  const match = /^(#{1,6})\s+(\S.*)$/.exec(line)
  if (match === null) return undefined
  const [, marks = '', name = ''] = match
  return { line, level: marks.length, name: name.trimEnd() }
}

/**
 * The sections of a Markdown text (spec/aipack.md 6.2 `load_md_sections`, vector 72). Without patterns every heading
 * begins its own section. With patterns a section begins at a heading of that level and name, and holds the deeper
 * headings below it. Headings inside fences do not count.
 */
export function markdownSections(text: string, patterns?: readonly HeadingPattern[]): MarkdownSection[] {
  const parts = splitAtHeadings(text)
  if (patterns === undefined) return parts
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

/** The first section, and all that comes behind it. Together they are the whole text (vector 73). */
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
  let start = 0
  let part = { heading: undefined as MarkdownHeading | undefined, headingRaw: '', contentStart: 0 }
  const close = (end: number): void => {
    if (part.heading === undefined && end === 0) return
    parts.push({ heading: part.heading, headingRaw: part.headingRaw, content: text.slice(part.contentStart, end) })
  }
  while (start < text.length) {
    const newline = text.indexOf('\n', start)
    const next = newline === -1 ? text.length : newline + 1
    const line = text.slice(start, next).replace(/\r?\n$/, '')
    fence = nextAipFence(fence, line)
    const heading = fence === 'out' ? parseHeading(line) : undefined
    if (heading !== undefined) {
      close(start)
      part = { heading, headingRaw: text.slice(start, next), contentStart: next }
    }
    start = next
  }
  close(text.length)
  return parts
}
