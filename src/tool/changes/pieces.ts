import type { Directive } from './directive.ts'
import { hasText, readFence } from './fence.ts'

/** A part of an answer: a line that stays, or part of one, or changes with their text as it was written. */
export type Piece = TextPiece | ChangePiece

export interface TextPiece {
  readonly kind: 'text'
  readonly text: string
}

interface ChangePiece {
  readonly kind: 'change'
  /** Empty for a fault of the text before it, which stays. */
  readonly text: string
  readonly directives: readonly Directive[]
}

export function textPiece(text: string): TextPiece {
  return { kind: 'text', text }
}

/** The directives in their order. */
export function directivesOf(pieces: readonly Piece[]): readonly Directive[] {
  return pieces.flatMap((piece) => (piece.kind === 'change' ? piece.directives : []))
}

/** What is left without the changes, as it was written. */
export function restOf(pieces: readonly Piece[]): string {
  return pieces.map((piece) => (piece.kind === 'text' ? piece.text : '')).join('')
}

/** The same with an empty line in place of each hole; exactly the text when there is none. */
export function tidyRestOf(pieces: readonly Piece[]): string {
  const parts: string[][] = [[]]
  for (const { kind, text } of pieces) {
    if (kind === 'text') parts.at(-1)?.push(text)
    else if (text !== '') parts.push([])
  }
  if (parts.length === 1) return restOf(pieces)
  return parts
    .map((lines) => {
      const from = lines.findIndex(hasText)
      return lines
        .slice(from, lines.findLastIndex(hasText) + 1)
        .join('')
        .trimEnd()
    })
    .filter((part) => part !== '')
    .join('\n\n')
}

interface Fenced {
  readonly kind: 'fenced'
  readonly marks: string
  readonly opening: Piece
  readonly children: Part[]
  readonly closing: Piece
}

type Part = Piece | Fenced

/**
 * Tells changes that are shown from those that are meant. A fence that holds changes and anything else is a quotation:
 * all of it becomes text. A fence that holds nothing but changes is how models wrap them: it goes. A fence that is never
 * closed says nothing of what stands in it, because an earlier end may have been forgotten.
 */
export function withoutQuotations(pieces: readonly Piece[]): readonly Piece[] {
  return partsOf(pieces).flatMap(meantIn)
}

type OpenFence = Omit<Fenced, 'closing'>

/** The pieces with those of a fence together. A fence in a fence must be as long and name a language. */
function partsOf(pieces: readonly Piece[]): readonly Part[] {
  const outside: Part[] = []
  const open: OpenFence[] = []
  for (const piece of pieces) {
    const fence = piece.kind === 'text' ? readFence(piece.text) : undefined
    const innermost = open.at(-1)
    const isMark = fence !== undefined && fence.marks.startsWith(innermost?.marks ?? '')
    if (innermost !== undefined && isMark && fence.info === '') {
      open.pop()
      listIn(open, outside).push({ ...innermost, closing: piece })
    } else if (isMark) {
      open.push({ kind: 'fenced', marks: fence.marks, opening: piece, children: [] })
    } else {
      listIn(open, outside).push(piece)
    }
  }
  return [...outside, ...open.flatMap(({ opening, children }) => [opening, ...children])]
}

function listIn(open: readonly OpenFence[], outside: Part[]): Part[] {
  return open.at(-1)?.children ?? outside
}

function meantIn(part: Part): readonly Piece[] {
  if (part.kind !== 'fenced') return [part]
  return part.children.some(holdsMore) ? writtenIn(part).map(({ text }) => textPiece(text)) : changesIn(part)
}

function holdsMore(part: Part): boolean {
  return part.kind === 'fenced' || (part.kind === 'text' && hasText(part.text))
}

/** Those of a fence that holds nothing else; a fence that holds nothing at all stays. */
function changesIn(fenced: Fenced): readonly Piece[] {
  const changes = fenced.children.filter((part) => part.kind === 'change')
  return changes.length > 0 ? changes : writtenIn(fenced)
}

function writtenIn(part: Part): readonly Piece[] {
  return part.kind === 'fenced' ? [part.opening, ...part.children.flatMap(writtenIn), part.closing] : [part]
}
