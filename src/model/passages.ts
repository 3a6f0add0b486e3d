import type { ContextFile } from './context-files.ts'

/** Some lines of a file that belong together. Lines count from 1; both ends are included and not blank. */
export interface Passage {
  readonly path: string
  readonly first: number
  readonly last: number
  readonly text: string
}

/** Fewer lines than `small` are joined with what follows; more than `large` are cut. */
const small = 4
const large = 40

interface Span {
  /** Indices into the lines; `end` is not included. */
  readonly start: number
  readonly end: number
}

/**
 * Cuts a file where its text does: a heading, or an unindented line after a blank one, begins a passage. So a function
 * stays whole, with the comment above it; short pieces are joined; long ones are cut at a blank line near the limit.
 */
export function splitPassages({ path, lines }: ContextFile): readonly Passage[] {
  const spans = joinSmall(naturalSpans(lines), lines).flatMap((span) => cutLarge(span, lines))
  return spans.flatMap((span) => {
    const { start, end } = trim(span, lines)
    if (start >= end) return []
    return [{ path, first: start + 1, last: end, text: lines.slice(start, end).join('\n') }]
  })
}

function naturalSpans(lines: readonly string[]): Span[] {
  const starts = lines.flatMap((_, index) => (index === 0 || beginsSpan(lines, index) ? [index] : []))
  return starts.map((start, index) => ({ start, end: starts[index + 1] ?? lines.length }))
}

function beginsSpan(lines: readonly string[], index: number): boolean {
  const line = lines[index] ?? ''
  return isHeading(line) || (isBlank(lines[index - 1]) && /^[^\s)\]}]/.test(line))
}

function joinSmall(spans: readonly Span[], lines: readonly string[]): Span[] {
  const joined: Span[] = []
  for (const span of spans) {
    const before = joined.at(-1)
    if (before !== undefined && isSmall(before, lines) && !startsSection(before, { next: span, lines })) {
      joined[joined.length - 1] = { start: before.start, end: span.end }
      continue
    }
    joined.push(span)
  }
  return joined
}

function isSmall({ start, end }: Span, lines: readonly string[]): boolean {
  return lines.slice(start, end).filter((line) => !isBlank(line)).length < small
}

/** A heading begins something new, except below another heading that has no text of its own. */
function startsSection(
  before: Span,
  { next, lines }: { readonly next: Span; readonly lines: readonly string[] },
): boolean {
  if (!isHeading(lines[next.start])) return false
  return lines.slice(before.start, before.end).some((line) => !isBlank(line) && !isHeading(line))
}

function cutLarge(span: Span, lines: readonly string[]): Span[] {
  const pieces: Span[] = []
  let { start } = span
  while (span.end - start > large) {
    const end = cutNear(start + large, { from: start + large / 2, lines })
    pieces.push({ start, end })
    start = end
  }
  return [...pieces, { start, end: span.end }]
}

function cutNear(limit: number, { from, lines }: { readonly from: number; readonly lines: readonly string[] }): number {
  for (let index = limit; index > from; index -= 1) if (isBlank(lines[index])) return index
  return limit
}

function trim({ start, end }: Span, lines: readonly string[]): Span {
  let first = start
  let last = end
  while (first < last && isBlank(lines[first])) first += 1
  while (last > first && isBlank(lines[last - 1])) last -= 1
  return { start: first, end: last }
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === ''
}

function isHeading(line: string | undefined): boolean {
  return /^#{1,6} \S/.test(line ?? '')
}
