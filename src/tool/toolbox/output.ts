import { modelText } from '../../base/model-text.ts'
import type { TextStore } from '../../event/context.ts'
import { isCallOfModel, type StoredOutput, mostCharacters, type Toolbox, type ToolOutput } from './kind.ts'
import { BatonError } from '../../base/error.ts'
import type { Place } from '../../event/place.ts'

/** Longer lines are split. */
const mostInLine = 2_000

/** Prefix of the names by which `read` returns the rest of an output. */
export const outputPrefix = 'output:'

interface Keeping {
  readonly box: Pick<Toolbox, 'outputs' | 'hasRead'>
  readonly texts: TextStore | undefined
}

/**
 * Truncates an output to what a model should get at once. The full text is kept, and the last line says how to read the
 * rest, from the line where it was cut.
 */
export function cutOutput<Output extends ToolOutput>(
  output: Output,
  { box, texts }: Keeping,
): Output & { readonly kept?: StoredOutput } {
  const { text } = output
  if (text.length <= mostCharacters) return output
  const kept = box.outputs.keep(text, texts)
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
  const rest = `for the rest, ${wayTo(kept, count + 1, box)}`
  return { ...output, text: modelText`${shown}\n[cut: ${where}; ${rest}]`, kept }
}

/** How a call reads an output from a line on. */
function wayTo({ id }: StoredOutput, line: number, { hasRead }: Keeping['box']): string {
  const name = `"${outputPrefix}${id}"`
  return hasRead ? `read ${name} from offset ${line}` : `call bash_output with the id ${name} and the offset ${line}`
}

/** How much of an output is shown: up to `whole` characters all of it, otherwise its start and its end. */
interface ShownPart {
  readonly whole: number
  readonly start: number
  readonly end: number
}

/** A model pays for each character in all later requests of its conversation. */
export const forModel: ShownPart = { whole: 10_000, start: 700, end: 1_200 }
/** A program works with an output, and nothing of it is sent. */
export const forProgram: ShownPart = { whole: 30_000, start: 10_000, end: 20_000 }

/** Cuts the middle out of a longer text, which is then kept in full. A line in its place says how to read it. */
export function cutMiddle(
  text: string,
  part: ShownPart,
  { box, texts }: Keeping,
): { readonly text: string; readonly kept?: StoredOutput } {
  if (text.length <= part.whole) return { text }
  const kept = box.outputs.keep(text, texts)
  const lines = outputLines(text)
  const first = countWithin(lines, part.start)
  const last = lines.length - countWithin(lines.toReversed(), part.end)
  const where = `lines ${first + 1} to ${last} of ${lines.length} are left out`
  const rest = `[cut: ${where}; to see them, ${wayTo(kept, first + 1, box)}]\n`
  const whole = { head: lines.slice(0, first).join(''), tail: lines.slice(last).join('') }
  // of long lines, as much as fits
  const head = whole.head.length < part.start / 2 ? `${characters(text.slice(0, part.start))}…` : whole.head
  const tail = whole.tail.length < part.end / 2 ? `…${characters(text.slice(-part.end))}` : whole.tail
  return { text: [head, head.endsWith('\n') ? '' : '\n', rest, tail].join(''), kept }
}

/** A piece of a text, without the half of a character at its ends. */
function characters(piece: string): string {
  return piece.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '')
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
function outputLines(text: string): readonly string[] {
  return text.match(linePieces) ?? []
}

const linePieces = new RegExp(String.raw`[^\n]{0,${mostInLine - 1}}\n|[^\n]{1,${mostInLine}}`, 'gu')

/** Lines that one call shows by default. */
export const defaultLimit = 2_000
/** Most characters of one part: less than an output may have, so that it is not truncated again. */
export const mostOfPart = mostCharacters - 4_000

/** Lines of a truncated output, verbatim. @throws BatonError FILE_FAILED if it is not kept */
export function readOutput(
  {
    path,
    offset = 1,
    limit = defaultLimit,
  }: { readonly path: string; readonly offset?: number; readonly limit?: number },
  { box, texts }: Keeping,
): ToolOutput {
  const text = box.outputs.find(path.slice(outputPrefix.length), texts)
  if (text === undefined) {
    throw new BatonError('FILE_FAILED', modelText`there is no output ${path}`, {
      hint: 'Call the tool that returned it again.',
    })
  }
  const all = outputLines(text)
  if (offset > all.length) {
    throw pastEnd(path, linesText(all.length), offset)
  }
  let end = offset - 1
  let size = 0
  for (; end < all.length && end < offset - 1 + limit; end += 1) {
    size += all[end]?.length ?? 0
    if (size > mostOfPart) break
  }
  const shown = all
    .slice(offset - 1, end)
    .join('')
    .replace(/\n$/, '')
  const rest = end < all.length ? `; go on from offset ${end + 1}` : ''
  return { text: modelText`${shown}\n[lines ${offset} to ${end} of ${all.length}${rest}]` }
}

/**
 * Lines with their numbers, starting at `first`, for a call at a place. A model pays for each character; programs get
 * the arrow that programs of earlier versions were written for.
 */
export function numberedLines(lines: readonly string[], first: number, at: Place): string {
  const separator = isCallOfModel(at) ? '\t' : '→'
  return lines.map((line, index) => `${first + index}${separator}${line}`).join('\n')
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
