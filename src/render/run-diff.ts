import type { Difference } from '../history/run-diff.ts'
import { unifiedDiff } from '../base/unified-diff.ts'
import { formatCount } from './format.ts'
import { harmless } from './harmless.ts'
import type { Paint } from './style.ts'

export interface DiffOptions {
  readonly paint: Paint
  /** Lines of one difference that are shown. */
  readonly lines: number
}

/** One difference of two runs: what it is, then its texts in the unified form. Ends with a newline. */
export function differenceText({ kind, place, before, after }: Difference, { paint, lines }: DiffOptions): string {
  const title = `${paint('bold', kind)} ${harmless(place)}`
  if (before === null) return `${title}: ${only('second', kind, after)}\n`
  if (after === null) return `${title}: ${only('first', kind, before)}\n`
  const all = changesOf(before, after)
  const shown = all.slice(0, lines).map((line) => paintLine(harmless(line), paint))
  const more = all.length > lines ? [paint('dim', `… ${formatCount(all.length - lines)} more lines (--all)`)] : []
  return [title, ...shown, ...more, ''].join('\n')
}

function changesOf(before: string, after: string): readonly string[] {
  const isShort = !before.includes('\n') && !after.includes('\n')
  if (isShort) return [`-${before}`, `+${after}`]
  // what the texts are is said above them
  return unifiedDiff(before, after, { from: '', to: '' }).trimEnd().split('\n').slice(2)
}

function only(which: string, kind: Difference['kind'], text: string | null): string {
  const detail = kind === 'part' || kind === 'call' ? `: ${harmless(text ?? '').split('\n')[0]}` : ''
  return `only in the ${which} run${detail}`
}

function paintLine(line: string, paint: Paint): string {
  if (line.startsWith('@@')) return paint('cyan', line)
  if (line.startsWith('-')) return paint('red', line)
  return line.startsWith('+') ? paint('green', line) : line
}
