import type { Usage } from '../event/message.ts'

/** `950ms`, `3.2s`, `2m 05s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)}ms`
  const seconds = milliseconds / 1000
  if (seconds < 60) return `${seconds.toFixed(1)}s`
  return `${Math.floor(seconds / 60)}m ${String(Math.floor(seconds % 60)).padStart(2, '0')}s`
}

/** `1,234 tokens in, 56 out`; empty when nothing was counted. */
export function formatUsage({ input, output }: Usage): string {
  if (input === 0 && output === 0) return ''
  return `${input.toLocaleString('en-US')} tokens in, ${output.toLocaleString('en-US')} out`
}

/** `$0.0042`; empty for nothing and for what is not known. */
export function formatCost(usd: number | null): string {
  if (usd === null || usd === 0) return ''
  return `$${usd >= 1 ? usd.toFixed(2) : usd.toPrecision(2)}`
}

const control = /\p{Cc}/gu

/** One line that cannot move the cursor or change colours, at most `width` characters. */
export function oneLine(text: string, width: number): string {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll(control, '')
  const characters = Array.from(line)
  return characters.length <= width ? line : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`
}
