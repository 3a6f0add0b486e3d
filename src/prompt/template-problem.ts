import type { ErrorDetails, SourcePlace } from '../base/error.ts'
import { BatonError } from '../base/error.ts'

/** Something wrong with a template. Offsets count from 0, in the template as it is written. */
export interface TemplateProblem {
  /** Completes the sentence "the template cannot be rendered: …". */
  readonly message: string
  readonly hint?: string
  readonly start?: number
  readonly end?: number
}

/**
 * The error for a problem of a template. `place` is where the template begins: its first line, and the column on it
 * (1 when it has none).
 */
export function templateError(
  template: string,
  { message, hint = 'Check the expressions between {{ and }}.', start, end }: TemplateProblem,
  { place, cause }: { readonly place: SourcePlace | undefined; readonly cause?: unknown },
): BatonError {
  const details: ErrorDetails = { hint, ...(cause === undefined ? {} : { cause }) }
  const at = place === undefined ? {} : { place: { ...place, ...rangeIn(template, { start, end }, place) } }
  return new BatonError('PROMPT_SYNTAX', `the template cannot be rendered: ${message}`, { ...details, ...at })
}

function rangeIn(
  template: string,
  { start, end }: { readonly start: number | undefined; readonly end: number | undefined },
  { line = 1, column = 1 }: SourcePlace,
): Pick<SourcePlace, 'line' | 'column' | 'endLine' | 'endColumn'> {
  if (start === undefined) return { line }
  const from = positionOf(template, start)
  const to = positionOf(template, end ?? start + 1)
  const shift = (position: Position): number => (position.line === 0 ? column - 1 : 0) + position.column
  return { line: line + from.line, column: shift(from), endLine: line + to.line, endColumn: shift(to) }
}

interface Position {
  /** From 0. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length - 1, column: offset - before.lastIndexOf('\n') }
}
