import type { Directive } from './directive.ts'

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

function hasText(line: string): boolean {
  return line.trim() !== ''
}
