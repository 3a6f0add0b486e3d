import { codeFrame } from '../base/code-frame.ts'
import { isBatonError, messageOf, type SourcePlace } from '../base/error.ts'
import { harmless } from '../render/harmless.ts'
import type { Paint } from '../render/style.ts'
import { placeText, trailLines } from './trail.ts'

export interface ReportOptions {
  readonly cwd: string
  readonly paint: Paint
}

/** What is said of something that is wrong. */
export interface Reported {
  readonly severity: 'error' | 'warning'
  readonly message: string
  readonly place?: SourcePlace | undefined
  /** The lines that led there, innermost first. */
  readonly trail?: readonly SourcePlace[]
  readonly hint?: string | undefined
  /** A unified diff. */
  readonly diff?: string | undefined
}

/** An error for people: what happened, where with a code frame, and what to do (DESIGN 12). Ends with a newline. */
export function describeError(error: unknown, options: ReportOptions): string {
  const message = messageOf(error)
  if (!isBatonError(error)) return describeReported({ severity: 'error', message }, options)
  const { place, trail, hint, diff } = error
  return describeReported({ severity: 'error', message, place, trail, hint, diff }, options)
}

/** The same for anything that is wrong. No text of others reaches a terminal with control characters. */
export function describeReported(
  { severity, message, place, trail = [], hint, diff }: Reported,
  { cwd, paint }: ReportOptions,
): string {
  const title = paint([severity === 'error' ? 'red' : 'yellow', 'bold'], severity)
  const lines = [`${title}${paint('bold', ':')} ${harmless(message)}`]
  if (place !== undefined) lines.push(...describePlace(place, { cwd, paint }))
  for (const line of trailLines(trail, cwd)) lines.push(`  ${paint('dim', harmless(line))}`)
  if (diff !== undefined) lines.push(...diffLines(diff, paint))
  if (hint !== undefined && hint !== '') lines.push(`${paint('cyan', 'hint')}: ${harmless(hint)}`)
  return `${lines.join('\n')}\n`
}

function diffLines(diff: string, paint: Paint): readonly string[] {
  return diff
    .trimEnd()
    .split('\n')
    .map((line) => {
      const shown = harmless(line)
      if (line.startsWith('-')) return paint('red', shown)
      return line.startsWith('+') ? paint('green', shown) : shown
    })
}

function describePlace(place: SourcePlace, { cwd, paint }: ReportOptions): readonly string[] {
  const { line, column, endLine, endColumn, text } = place
  const arrow = `  ${paint('dim', 'at')} ${harmless(placeText(place, cwd))}`
  if (line === undefined || text === undefined) return [arrow]
  const end = endLine === undefined || endColumn === undefined ? {} : { endLine, endColumn }
  return [arrow, codeFrame(text, { line, ...(column === undefined ? {} : { column, ...end }) })]
}
