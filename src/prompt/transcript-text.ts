import { withoutMark } from '../base/text-lines.ts'
import { transcriptOffset } from './layout.ts'

/** What one task adds to the transcript. */
export interface TranscriptBlock {
  readonly time: Date
  readonly label: string
  /** The model that answered; empty if none was called. */
  readonly model: string
  /** Tokens of all calls of the task. */
  readonly usage: { readonly input: number; readonly output: number; readonly estimated?: true }
  /** In US dollars; null if the price is not known. */
  readonly costUsd: number | null
  readonly runId: string
  readonly result:
    | { readonly kind: 'answer'; readonly text: string }
    | { readonly kind: 'failed'; readonly message: string }
    | { readonly kind: 'skipped'; readonly reason: string }
}

/**
 * What a run writes from the `====` line on, with `\n` as line ending: the blocks in the given order, separated by
 * empty lines. Without blocks it is just the `====` line. An answer may contain such a line: the first one in the file
 * counts, which is the one this text starts with.
 */
export function transcriptText(blocks: readonly TranscriptBlock[]): string {
  return blocks.map(blockText).join('\n') || '====\n'
}

function blockText(block: TranscriptBlock): string {
  const { time, label, model, usage, costUsd, runId } = block
  const [input, output] = [usage.input, usage.output].map((tokens) => tokens.toLocaleString('en-US'))
  const asked = model === '' ? 'no model' : model
  const facts = [
    localTime(time),
    label,
    asked,
    `${usage.estimated === true ? '~' : ''}${input} in, ${output} out`,
    costText(costUsd),
    runId,
  ]
  const answer = answerText(block.result)
  return `====\n> ${facts.map(flat).join(' · ')}\n${answer === '' ? '' : `\n${answer}\n`}`
}

function answerText(result: TranscriptBlock['result']): string {
  switch (result.kind) {
    case 'answer':
      // a file with a NUL byte is refused when it is read again
      return result.text.replaceAll('\r\n', '\n').replaceAll('\0', '\uFFFD').trimEnd()
    case 'failed':
      return flat(`error: ${result.message}`)
    case 'skipped':
      return flat(`skipped: ${result.reason}`)
  }
}

function flat(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
}

function costText(usd: number | null): string {
  if (usd === null) return 'unpriced'
  return usd > 0 && usd < 0.0001 ? '<$0.0001' : `$${usd.toFixed(4)}`
}

/** ISO 8601 in seconds, in the time zone of this machine: `2026-03-01T09:30:00+01:00`. */
function localTime(time: Date): string {
  const offset = -time.getTimezoneOffset()
  const shifted = new Date(time.getTime() + offset * 60_000).toISOString().slice(0, 19)
  const size = Math.abs(offset)
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${shifted}${offset < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

/**
 * The text of a prompt file with a new transcript: everything above its `====` line is unchanged, including the byte
 * order mark, and the new part uses the line ending of most lines above. Undefined if there is no `====` line.
 * @throws BatonError PROMPT_SYNTAX if front matter is not closed, so that the line cannot be found
 */
export function replaceTranscript(
  { file, text }: { readonly file: string; readonly text: string },
  transcript: string,
): string | undefined {
  const clean = withoutMark(text)
  const offset = transcriptOffset({ file, text: clean })
  if (offset === undefined) return undefined
  const start = text.length - clean.length + offset
  return text.slice(0, start) + (hasMostlyCrlf(text, start) ? transcript.replaceAll('\n', '\r\n') : transcript)
}

/** Includes the `====` line, which may be the only one. */
function hasMostlyCrlf(text: string, start: number): boolean {
  const lineEnd = text.indexOf('\n', start)
  const breaks = text.slice(0, lineEnd === -1 ? start : lineEnd + 1).match(/\r?\n/g) ?? []
  return breaks.filter((found) => found === '\r\n').length * 2 > breaks.length
}
