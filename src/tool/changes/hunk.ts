import { hasText, withoutFence } from './syntax.ts'

type HunkLine =
  | { readonly kind: 'context' | 'remove' | 'add'; readonly text: string }
  /** `~`: removes everything between the removed lines around it. */
  | { readonly kind: 'gap' }

/** A hunk of a patch: lines of the file (context, remove) and lines to add (add). */
export interface Hunk {
  /** The text as written, with its header. */
  readonly body: string
  readonly lines: readonly HunkLine[]
  readonly hint: Hint
  /** Set by `\ No newline at end of file`: whether a file that ends with this hunk has a final line break. */
  readonly finalNewline?: boolean
  /** Added lines without context go to the start of the file, not the end. */
  readonly isAtStart?: true
}

/** Where a hunk is in the file, according to its header; often wrong or missing. */
export interface Hint {
  /** Number of its first line, from 1, in the file as the model saw it. */
  readonly number?: number
  /** A line further up that names the section containing the hunk. */
  readonly heading?: string
}

const header = /^@@(?:\s|$)/
const numbers = /^-(\d+)(?:,\d+)?(?:\s+\+\d+(?:,\d+)?)?(?:\s|$)/
/** Lines that other patch formats write around hunks. */
const wrapper = /^(?:\*\*\* (?:Begin Patch|End Patch|End of File|Update File:)|diff --git |index [0-9a-f]+\.\.)/
const fileHeader = /^(?:--- |\+\+\+ )/
const noNewline = /^\\ No newline/

/**
 * Parses the hunks of a patch. A hunk starts with a line `@@`, which may be followed by a number and a heading. Without
 * any `@@`, the whole text is one hunk. Lines start with a space, `-` or `+`; other lines are context, verbatim. Text
 * before the first `@@` counts if it adds or removes something. Hunks without lines are skipped.
 */
export function parseHunks(patch: string): readonly Hunk[] {
  const lines = withoutFence(patch.split('\n').map((line) => line.replace(/\r$/, '')))
  const starts = lines.flatMap((line, index) => (header.test(line) ? [index] : []))
  const first = starts[0] ?? lines.length
  const before = lines.slice(0, first).filter((line) => !fileHeader.test(line))
  const hunks = starts.map((start, index) => lines.slice(start, starts[index + 1] ?? lines.length))
  return [...(before.some(isChange) ? [before] : []), ...hunks].flatMap((part) => readHunk(part) ?? [])
}

function isChange(line: string): boolean {
  return line.startsWith('+') || line.startsWith('-')
}

function readHunk(lines: readonly string[]): Hunk | undefined {
  const body = withoutBlankEnd(lines)
  const content = withoutLooseFence(body.filter((line) => !header.test(line) && !wrapper.test(line)))
  if (!content.some(hasText)) return undefined
  const finalNewline = finalNewlineOf(content)
  return {
    body: body.join('\n'),
    lines: content.filter((line) => !noNewline.test(line)).map(readLine),
    hint: readHint(lines[0] ?? ''),
    ...(finalNewline === undefined ? {} : { finalNewline }),
  }
}

/** Forms: `@@`, `@@ -6,2 +6,3 @@`, `@@ -6,2 +6,3 @@ heading`, `@@ heading`, `@@ heading @@`. */
function readHint(line: string): Hint {
  if (!header.test(line)) return {}
  const text = line.slice(2).trim()
  const found = numbers.exec(text)
  const number = Number(found?.[1] ?? 0)
  const heading = text
    .slice(found?.[0].length ?? 0)
    .replace(/^@@|@@$/g, '')
    .trim()
  return { ...(number === 0 ? {} : { number }), ...(heading === '' ? {} : { heading }) }
}

function readLine(line: string): HunkLine {
  if (line.trimEnd() === '~') return { kind: 'gap' }
  const text = line.slice(1)
  switch (line[0]) {
    case '+':
      return { kind: 'add', text }
    case '-':
      return { kind: 'remove', text }
    case ' ':
      return { kind: 'context', text }
    default:
      return { kind: 'context', text: line }
  }
}

function withoutBlankEnd(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1)
}

/**
 * Removes a fence around a patch of which only one end was written: context lines start with a space, so it cannot be
 * one.
 */
function withoutLooseFence(lines: readonly string[]): readonly string[] {
  const start = looseFence.test(lines[0] ?? '') ? 1 : 0
  const content = withoutBlankEnd(lines)
  return content.slice(start, looseFence.test(content.at(-1) ?? '') ? -1 : undefined)
}

const looseFence = /^`{3,}\w*$/

function finalNewlineOf(lines: readonly string[]): boolean | undefined {
  const marked = lines.flatMap((line, index) => (noNewline.test(line) ? [lines[index - 1] ?? ''] : []))
  if (marked.some((line) => line.startsWith('+'))) return false
  return marked.some((line) => line.startsWith('-')) ? true : undefined
}

/** A line of a hunk that is in the file, with its index in the hunk. */
export interface OldLine {
  readonly kind: 'context' | 'remove'
  readonly text: string
  readonly index: number
}

/** The lines of a hunk that are in the file, split at gaps into consecutive parts. */
export function oldParts(hunk: Hunk): readonly (readonly OldLine[])[] {
  const parts: OldLine[][] = [[]]
  for (const [index, line] of hunk.lines.entries()) {
    if (line.kind === 'gap') parts.push([])
    else if (line.kind !== 'add') parts.at(-1)?.push({ kind: line.kind, text: line.text, index })
  }
  return parts
}
