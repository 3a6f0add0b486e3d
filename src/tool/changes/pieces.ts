import { type Directive, failDirective } from './directive.ts'
import { hasText, readFence } from './syntax.ts'

/** A part of an answer: a line or part of a line that stays, or changes with their text as written. */
export type Piece = TextPiece | ChangePiece

export interface TextPiece {
  readonly kind: 'text'
  readonly text: string
  /** Part of reasoning, a comment, or a file that was shown. */
  readonly isAside?: true
}

export interface ChangePiece {
  readonly kind: 'change'
  /** Empty for a fault of the preceding text, which stays. */
  readonly text: string
  readonly directives: readonly Directive[]
  /** A fence that contains a unified diff. */
  readonly form?: 'diff'
}

export function textPiece(text: string): TextPiece {
  return { kind: 'text', text }
}

/** A fault of the preceding text. */
export function faultPiece(directive: Directive): Piece {
  return { kind: 'change', text: '', directives: [directive] }
}

/** The directives in order. */
export function directivesOf(pieces: readonly Piece[]): readonly Directive[] {
  return pieces.flatMap((piece) => (piece.kind === 'change' ? piece.directives : []))
}

/** The text without the changes, otherwise as written; the line break after each change stays. */
export function restOf(pieces: readonly Piece[]): string {
  return pieces.map(({ kind, text }) => (kind === 'text' ? text : (/\r?\n$/.exec(text)?.[0] ?? ''))).join('')
}

/** The text with an empty line in place of each removed change; unchanged if there are none. */
export function tidyRestOf(pieces: readonly Piece[]): string {
  const parts: string[][] = [[]]
  for (const { kind, text } of pieces) {
    if (kind === 'text') parts.at(-1)?.push(text)
    else if (text !== '') parts.push([])
  }
  if (parts.length === 1) return (parts[0] ?? []).join('')
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

/** The content of a fence, including nested fences. */
interface Fenced {
  readonly kind: 'fenced'
  /** The first and the last piece are the fence lines; an unclosed fence has no last one. */
  readonly pieces: readonly Piece[]
  /** `changes`: at least one, and nothing else. `both`: also text or another fence. */
  readonly holds: 'text' | 'changes' | 'both'
}

type Part = Piece | Fenced

/**
 * Distinguishes changes that are only shown from those that are meant, for packs. A fence that contains changes and
 * anything else is a quotation: all of it becomes text. A fence that contains only changes is how models wrap them: it
 * is removed. An unclosed fence does not affect its content, because an earlier end may have been forgotten.
 */
export function withoutQuotations(pieces: readonly Piece[]): readonly Piece[] {
  return partsOf(pieces).flatMap((part) => {
    if (part.kind !== 'fenced') return [part]
    if (part.holds === 'changes') return part.pieces.filter(({ kind }) => kind === 'change')
    return isClosed(part) ? asText(part.pieces) : part.pieces
  })
}

/**
 * The same for answers to prompt files, where only clearly meant changes are applied: changes in fences count only if
 * the answer is nothing else. Changes that fill a fence next to other text are a fault, and so are those after an
 * unclosed fence; those in a fence with other text are a quotation.
 */
export function withClearChanges(pieces: readonly Piece[]): readonly Piece[] {
  const parts = partsOf(pieces)
  const isAllFenced = parts.every((part) => {
    if (part.kind !== 'text') return part.kind === 'fenced' && part.holds === 'changes'
    return part.isAside === true || !hasText(part.text)
  })
  let line = 1
  return parts.flatMap((part): readonly Piece[] => {
    const at = line
    line += linesOf(part)
    if (part.kind !== 'fenced') return [part]
    if (part.holds === 'text' || (part.holds === 'both' && isClosed(part))) return asText(part.pieces)
    if (isAllFenced) return part.pieces.filter(({ kind }) => kind === 'change')
    return [...asText(part.pieces), faultPiece(fencedFault(at, part))]
  })
}

function fencedFault(line: number, { pieces }: Fenced): Directive {
  const paths = [...new Set(directivesOf(pieces).map(({ filePath }) => filePath))]
  const reason = `its change is in a code fence at line ${line} of the answer, next to other text: if you mean it, write it outside a fence`
  return failDirective('fenced', reason, { filePath: paths.length === 1 ? paths[0] : undefined })
}

function linesOf(part: Part): number {
  const pieces = part.kind === 'fenced' ? part.pieces : [part]
  return pieces.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
}

/** Groups the pieces of each fence. A nested fence must be at least as long and name a language. */
function partsOf(pieces: readonly Piece[]): readonly Part[] {
  const parts: Part[] = []
  const marks: string[] = []
  let open: Piece[] = []
  let others = 0
  const close = (): void => {
    const changes = open.filter(({ kind }) => kind === 'change').length
    parts.push({ kind: 'fenced', pieces: open, holds: changes === 0 ? 'text' : others === 0 ? 'changes' : 'both' })
    open = []
    others = 0
  }
  for (const piece of pieces) {
    const fence = piece.kind === 'text' && piece.isAside !== true ? readFence(piece.text) : undefined
    const isMark = fence !== undefined && fence.marks.startsWith(marks.at(-1) ?? '')
    if (marks.length === 0 && !isMark) {
      parts.push(piece)
      continue
    }
    open.push(piece)
    if (isMark && marks.length > 0 && fence.info === '') {
      marks.pop()
      if (marks.length === 0) close()
    } else if (isMark) {
      if (marks.length > 0) others += 1
      marks.push(fence.marks)
    } else if (piece.kind === 'text' && hasText(piece.text)) {
      others += 1
    }
  }
  if (open.length > 0) close()
  return parts
}

function isClosed({ pieces }: Fenced): boolean {
  const last = pieces.length > 1 ? pieces.at(-1) : undefined
  return last?.kind === 'text' && readFence(last.text)?.info === ''
}

function asText(pieces: readonly Piece[]): readonly Piece[] {
  return pieces.flatMap(({ text }) => (text === '' ? [] : [textPiece(text)]))
}
