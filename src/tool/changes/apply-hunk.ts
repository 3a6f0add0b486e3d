import { type Document, indentOf, Line } from './document.ts'
import { hasText } from './fence.ts'
import { type Hunk } from './hunk.ts'
import { withKeptText } from './kept-text.ts'
import { type MarkMap, markMap, translateMarks } from './marks.ts'
import type { Placement } from './place.ts'
import type { LineIndices } from './place-blanks.ts'

/** The result of applying a hunk to a document. */
export interface HunkResult {
  /** Indices of the removed lines: from `start`, up to but excluding `end`. */
  readonly start: number
  readonly end: number
  /** The lines that replace them. */
  readonly lines: readonly Line[]
  readonly hasFinalNewline: boolean
}

/**
 * Applies a hunk to a document at its place. Context lines keep the file's own text, even if they differ. Undefined if
 * it cannot be determined how the file would write the added lines.
 */
export function applyHunk(document: Document, hunk: Hunk, { tier, at }: Placement): HunkResult | undefined {
  const placed = at.filter((index) => index !== undefined)
  const start = placed.reduce((least, index) => Math.min(least, index), document.lines.length)
  const end = placed.reduce((most, index) => Math.max(most, index + 1), 0)
  const isMarked = tier === 'marks' || tier === 'fuzzy'
  const marks = isMarked ? marksOf(hunk, { at, lines: document.lines }) : undefined
  const added = tier === 'exact' ? hunk.lines.map(textOf) : keptTexts(hunk, { at, lines: document.lines, marks })
  if (added === undefined) return undefined
  const lines = rewritten(document, { hunk, at, start, added })
  return { start, end, lines, hasFinalNewline: finalNewline(document, hunk, end) }
}

/** Where the lines of a hunk are in the lines of a file. */
interface Placed {
  readonly at: LineIndices
  readonly lines: readonly Line[]
}

/**
 * The texts of the hunk with the indentation, and the added lines with the spaces and words, that the file has. With
 * `marks`, other quotes, dashes and entities are written as in the file; undefined if it is not clear how.
 */
function keptTexts(
  hunk: Hunk,
  { at, lines, marks }: Placed & { readonly marks: MarkMap | undefined },
): readonly string[] | undefined {
  const texts = indentedLines(hunk, at, lines)
  const removed = hunk.lines.flatMap((line, number) => {
    const found = lines[at[number] ?? -1]
    return line.kind === 'remove' && found !== undefined ? [{ written: line.text, found: found.text }] : []
  })
  const isAdded = (number: number): boolean => hunk.lines[number]?.kind === 'add'
  const kept = withKeptText(
    texts.filter((_, number) => isAdded(number)),
    removed,
    (text) => (marks === undefined ? text : translateMarks(text, marks)),
  )
  if (!kept.every((text) => text !== undefined)) return undefined
  let next = 0
  return texts.map((text, number) => (isAdded(number) ? (kept[next++] ?? text) : text))
}

/** How the file writes quotes, dashes and entities in the lines that both have. */
function marksOf(hunk: Hunk, { at, lines }: Placed): MarkMap {
  const pairs = hunk.lines.flatMap((line, number) => {
    const found = lines[at[number] ?? -1]
    return found === undefined || line.kind === 'gap' ? [] : [{ written: line.text, found: found.text }]
  })
  return markMap(pairs)
}

/** Appends the added lines of a hunk to a document, including blank context between them. */
export function appendHunk(document: Document, hunk: Hunk): HunkResult {
  const first = hunk.lines.findIndex(({ kind }) => kind === 'add')
  const last = hunk.lines.findLastIndex(({ kind }) => kind === 'add')
  const lines = hunk.lines.slice(first, last + 1).map((line) => newLine(textOf(line), document))
  const isEmpty = document.lines.length === 0
  const hasFinalNewline = isEmpty ? (hunk.finalNewline ?? true) : finalNewline(document, hunk, document.lines.length)
  return { start: document.lines.length, end: document.lines.length, lines, hasFinalNewline }
}

/** Inserts the added lines of a hunk at the start of a document. */
export function prependHunk(document: Document, hunk: Hunk): HunkResult {
  const lines = hunk.lines.map((line) => newLine(textOf(line), document))
  return { start: 0, end: 0, lines, hasFinalNewline: document.lines.length === 0 || document.hasFinalNewline }
}

function textOf(line: Hunk['lines'][number]): string {
  return line.kind === 'gap' ? '' : line.text
}

function newLine(text: string, { end }: Document): Line {
  return new Line(text, { end, number: undefined })
}

function finalNewline(document: Document, { finalNewline: wanted }: Hunk, end: number): boolean {
  return end === document.lines.length && wanted !== undefined ? wanted : document.hasFinalNewline
}

interface Rewriting {
  readonly hunk: Hunk
  readonly at: LineIndices
  /** Index of the first line of the file that the hunk mentions. */
  readonly start: number
  /** The text of each line of the hunk if it is added. */
  readonly added: readonly string[]
}

function rewritten(document: Document, { hunk, at, start, added }: Rewriting): readonly Line[] {
  const result: Line[] = []
  let next = start
  let previous: Hunk['lines'][number]['kind'] | undefined
  for (const [number, line] of hunk.lines.entries()) {
    const index = at[number]
    if (line.kind === 'add' || (index === undefined && isMissingPrefix(hunk, number))) {
      result.push(newLine(added[number] ?? '', document))
    } else if (index !== undefined) {
      const skipped = document.lines.slice(next, index)
      const dropsSkipped =
        line.kind === 'remove' && (previous === 'gap' || (previous === 'remove' && allBlank(skipped)))
      if (!dropsSkipped) for (const one of skipped) result.push(one)
      const kept = line.kind === 'context' ? document.lines[index] : undefined
      if (kept !== undefined) result.push(kept)
      next = index + 1
    }
    if (line.kind === 'gap' || index !== undefined) previous = line.kind
  }
  return result
}

function allBlank(lines: readonly Line[]): boolean {
  return lines.every(({ text }) => !hasText(text))
}

/** A blank line between added lines that the file does not have: its `+` was forgotten. */
function isMissingPrefix({ lines }: Hunk, number: number): boolean {
  return lines[number]?.kind === 'context' && lines[number - 1]?.kind === 'add' && lines[number + 1]?.kind === 'add'
}

function indentedLines(hunk: Hunk, at: LineIndices, lines: readonly Line[]): readonly string[] {
  const pairs = hunk.lines.map((line, number): IndentPair | undefined => {
    const found = lines[at[number] ?? -1]
    if (found === undefined || line.kind === 'gap' || !hasText(line.text)) return undefined
    return { written: indentOf(line.text), found: indentOf(found.text) }
  })
  const known = pairs.filter((pair) => pair !== undefined)
  const convert = converter(known)
  let beside = known[0]
  return hunk.lines.map((line, number) => {
    beside = pairs[number] ?? beside
    return reindent(textOf(line), beside, convert)
  })
}

/** Indentation of a line in the hunk and in the file. */
interface IndentPair {
  readonly written: string
  readonly found: string
}

/**
 * A line of the hunk with the indentation it has in the file: shifted by the same amount as the line next to it, with
 * the file's tabs or spaces. `beside` is the nearest line that both have.
 */
function reindent(line: string, beside: IndentPair | undefined, convert: (indent: string) => string): string {
  if (beside === undefined || line.trim() === '') return line
  const { written, found } = beside
  const indent = indentOf(line)
  const content = line.slice(indent.length)
  if (indent === written) return found + content
  return moved(convert(indent), convert(written), found) + content
}

function moved(indent: string, from: string, to: string): string {
  const more = to.length - from.length
  if (more >= 0) return to.slice(0, more) + indent
  return indent.slice(Math.min(-more, indent.length))
}

/** Converts spaces of the hunk to tabs of the file or vice versa, if the two differ in that. */
function converter(pairs: readonly IndentPair[]): (indent: string) => string {
  const usesTabs = ({ found, written }: IndentPair): boolean => found.includes('\t') && !written.includes('\t')
  const usesBlanks = ({ found, written }: IndentPair): boolean => written.includes('\t') && !found.includes('\t')
  if (pairs.some(usesTabs)) {
    const width = blanksPerTab(pairs.map(({ written, found }) => ({ blanks: written.length, tabs: found.length })))
    return (indent) => indent.replaceAll(' '.repeat(width), '\t')
  }
  if (pairs.some(usesBlanks)) {
    const width = blanksPerTab(pairs.map(({ written, found }) => ({ blanks: found.length, tabs: written.length })))
    return (indent) => indent.replaceAll('\t', ' '.repeat(width))
  }
  return (indent) => indent
}

const defaultWidth = 4

/** Derived from the change of indentation between two lines, or else from the indentation of one line. */
function blanksPerTab(lines: readonly { readonly blanks: number; readonly tabs: number }[]): number {
  const distinct = lines.toSorted((a, b) => a.tabs - b.tabs)
  const least = distinct[0]
  const most = distinct.at(-1)
  if (least === undefined || most === undefined) return defaultWidth
  const width =
    most.tabs > least.tabs
      ? (most.blanks - least.blanks) / (most.tabs - least.tabs)
      : most.blanks / Math.max(1, most.tabs)
  return Number.isInteger(width) && width >= 1 && width <= 8 ? width : defaultWidth
}
