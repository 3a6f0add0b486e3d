import { modelText } from '../../base/model-text.ts'
import type { TextStore } from '../../event/context.ts'
import type { ToolOutput, KeptOutput, Outputs } from './kind.ts'
import { BatonError } from '../../base/error.ts'
import { sha256 } from '../../base/hash.ts'

/** Most characters of an output that a model gets at once. */
export const mostCharacters = 50_000
/** Longer lines are split. */
const mostInLine = 2_000

/** Prefix of the names by which `read` returns the rest of an output. */
export const outputPrefix = 'output:'

interface Keeping {
  readonly outputs: Outputs
  readonly texts: TextStore | undefined
}

/**
 * Truncates an output to what a model should get at once. The full text is kept, and the last line says how to read the
 * rest, from the line where it was cut.
 */
export function cutOutput<Output extends ToolOutput>(
  output: Output,
  { outputs, texts }: Keeping,
): Output & { readonly kept?: KeptOutput } {
  const { text } = output
  if (text.length <= mostCharacters) return output
  const kept = outputs.keep(text, texts)
  const lines = outputLines(text)
  let end = 0
  let count = 0
  for (const line of lines) {
    if (end + line.length > mostCharacters) break
    end += line.length
    count += 1
  }
  const shown = text.slice(0, end).replace(/\n$/, '')
  const where = `lines 1 to ${count} of ${lines.length} are shown`
  const rest = `for the rest, read "${outputPrefix}${kept.id}" from offset ${count + 1}`
  return { ...output, text: modelText`${shown}\n[cut: ${where}; ${rest}]`, kept }
}

/** Most characters of an output whose end is the most important part. */
const mostOfMiddle = 30_000

/** Cuts the middle out of a longer text, which is then kept in full. A line in its place says how to read it. */
export function cutMiddle(
  text: string,
  { outputs, texts }: Keeping,
): { readonly text: string; readonly kept?: KeptOutput } {
  if (text.length <= mostOfMiddle) return { text }
  const kept = outputs.keep(text, texts)
  const lines = outputLines(text)
  const first = countWithin(lines, mostOfMiddle / 3)
  const last = lines.length - countWithin(lines.toReversed(), (2 * mostOfMiddle) / 3)
  const where = `lines ${first + 1} to ${last} of ${lines.length} are left out`
  const rest = `[cut: ${where}; to see them, read "${outputPrefix}${kept.id}" from offset ${first + 1}]\n`
  const head = lines.slice(0, first).join('')
  return { text: [head, head.endsWith('\n') ? '' : '\n', rest, ...lines.slice(last)].join(''), kept }
}

/** How many of the first lines fit into that many characters. */
function countWithin(lines: readonly string[], most: number): number {
  let size = 0
  const end = lines.findIndex(({ length }) => (size += length) > most)
  return end === -1 ? lines.length : end
}

/**
 * The lines of an output with their line feeds; joined, they are the text. Long lines are split, never within a
 * character.
 */
export function outputLines(text: string): readonly string[] {
  return text.match(linePieces) ?? []
}

const linePieces = new RegExp(String.raw`[^\n]{0,${mostInLine - 1}}\n|[^\n]{1,${mostInLine}}`, 'gu')

/** Lines with their numbers, starting at `first`. The arrow cannot be mistaken for indentation. */
export function numberedLines(lines: readonly string[], first: number): string {
  return lines.map((line, index) => `${first + index}→${line}`).join('\n')
}

/** A line count as text: "1 line", "3 lines". */
export function linesText(count: number): string {
  return count === 1 ? '1 line' : `${count} lines`
}

/**
 * The error of a read that starts after the end. `shown`: the name of what is read; `has`: its length as text, such as
 * `3 lines`.
 */
export function pastEnd(shown: string, has: string, offset: number): BatonError {
  return new BatonError('FILE_FAILED', modelText`${shown} has ${has}: offset ${offset} is past the end`)
}

/** Most characters of outputs that one conversation holds in memory if the run keeps no texts. */
const mostInMemory = 16 * 1024 * 1024
const idLength = 12

export function createOutputs(): Outputs {
  const hashes = new Map<string, string>()
  /** Oldest first. */
  const held = new Map<string, string>()
  let size = 0

  function hold(hash: string, text: string): void {
    if (held.has(hash)) return
    held.set(hash, text)
    size += text.length
    for (const [oldest, { length }] of held) {
      if (size <= mostInMemory || oldest === hash) return
      held.delete(oldest)
      size -= length
    }
  }

  return {
    keep(text, texts) {
      const hash = sha256(text)
      const id = hash.slice(0, idLength)
      hashes.set(id, hash)
      if (texts === undefined) hold(hash, text)
      else texts.keep(text)
      return { id, hash }
    },
    know: ({ id, hash }) => void hashes.set(id, hash),
    find(id, texts) {
      const hash = hashes.get(id)
      return hash === undefined ? undefined : (held.get(hash) ?? texts?.find(hash))
    },
  }
}
