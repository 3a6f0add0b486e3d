import type { Usage } from '../event/message.ts'
import { cutEnd } from './width.ts'

/** `950ms`, `3.2s`, `2m 05s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)}ms`
  const seconds = milliseconds / 1000
  if (seconds < 60) return `${seconds.toFixed(1)}s`
  return `${Math.floor(seconds / 60)}m ${String(Math.floor(seconds % 60)).padStart(2, '0')}s`
}

/** Whole seconds, for what is drawn again and again: `3s`, `2m 05s`, `1h 07m`. */
export function formatClock(milliseconds: number): string {
  const seconds = Math.floor(Math.max(0, milliseconds) / 1000)
  const minutes = Math.floor(seconds / 60)
  if (minutes === 0) return `${seconds}s`
  return minutes < 60
    ? `${minutes}m ${String(seconds % 60).padStart(2, '0')}s`
    : `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, '0')}m`
}

/** `1,234`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US')
}

/** `1,234 tokens in, 56 out`; empty when nothing was counted. */
export function formatUsage({ input, output }: Usage): string {
  if (input === 0 && output === 0) return ''
  return `${formatCount(input)} tokens in, ${formatCount(output)} out`
}

/** `$0.0042`; empty for nothing and for what is not known. */
export function formatCost(usd: number | null): string {
  if (usd === null || usd === 0) return ''
  return `$${usd >= 1 ? usd.toFixed(2) : usd.toPrecision(2)}`
}

/**
 * Control characters, marks that turn the direction of text around, and invisible joiners and selectors: terminals do
 * not agree how wide joined characters are.
 */
const unseen = /[\p{Cc}\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\p{Variation_Selector}]/gu

/** One line that cannot move the cursor, change colours or the direction of text; at most `width` columns. */
export function oneLine(text: string, width = Infinity): string {
  // oxlint-disable-next-line no-control-regex
  const line = text.replaceAll(/\u001b\[[\d;:]*m/g, '').replaceAll(/\s+/g, ' ')
  return cutEnd(line.replaceAll(unseen, ''), width)
}
