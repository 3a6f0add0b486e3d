import { isAbsolute } from 'node:path'
import type { SourcePlace } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import type { Usage } from '../event/message.ts'
import { cutEnd } from '../base/width.ts'

/** `950ms`, `3.2s`, `2m 05s`, `1h 07m`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)}ms`
  return milliseconds < 60_000 ? `${(milliseconds / 1000).toFixed(1)}s` : formatClock(milliseconds)
}

/** Whole seconds, for texts that are redrawn often: `3s`, `2m 05s`, `1h 07m`. */
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

/** `1 file`, `1,234 files`. */
export function countOf(number: number, noun: string): string {
  return `${formatCount(number)} ${noun}${number === 1 ? '' : 's'}`
}

/** `1,234 tokens in, 56 out`, or `~1,234 tokens in, 56 out` if they are estimated; empty if both are zero. */
export function formatUsage({ input, output, estimated }: Pick<Usage, 'input' | 'output' | 'estimated'>): string {
  if (input === 0 && output === 0) return ''
  return `${estimated === true ? '~' : ''}${formatCount(input)} tokens in, ${formatCount(output)} out`
}

/** `$0.0042`; empty for zero and for an unknown cost. */
export function formatCost(usd: number | null): string {
  if (usd === null || usd === 0) return ''
  return `$${usd >= 1 ? usd.toFixed(2) : usd.toPrecision(2)}`
}

/** `file:line:column`, relative to a folder if possible; unknown parts are omitted. */
export function placeText({ file, line, column }: Pick<SourcePlace, 'file' | 'line' | 'column'>, cwd: string): string {
  return [isAbsolute(file) ? displayPath(cwd, file) : file, line, column].filter((part) => part !== undefined).join(':')
}

/** One line that cannot move the cursor or change the color or direction of text; at most `width` columns. */
export function oneLine(text: string, width = Infinity): string {
  if (isShown(text)) return cutEnd(text, width)
  // oxlint-disable-next-line no-control-regex
  const line = text.replaceAll(/\u001b\[[\d;:]*m/g, '').replaceAll(/\s+/g, ' ')
  return cutEnd(withoutUnseen(line), width)
}

/** Fast path for most labels: nothing to remove, and no Unicode class to compile. */
function isShown(text: string): boolean {
  return /^[!-~]*(?: [!-~]+)*$/.test(text)
}

/**
 * Removes control characters, marks that change the direction of text, and invisible joiners and selectors: terminals
 * disagree on the width of joined characters.
 */
function withoutUnseen(line: string): string {
  return line.replaceAll(
    /[\p{Cc}\p{Bidi_Control}\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\p{Variation_Selector}\u{e0000}-\u{e007f}]/gu,
    '',
  )
}
