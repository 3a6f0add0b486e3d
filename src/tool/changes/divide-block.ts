import { occurrences } from './find-lines.ts'

/** What a block searches for, and what it puts in its place. */
export interface Block {
  readonly search: string
  readonly replace: string
}

interface DivideOptions {
  /** Whether a line of the block, without its carriage return, can be the divider. */
  readonly isDivider: (line: string) => boolean
  /** The lines of the file as the previous block has left it, without their ends; called only if they decide. */
  readonly present: () => readonly string[]
}

/** Each takes a look through the file. */
const mostDividers = 50

/** The divider as models are told to write it; others count only if a block has none of this length. */
const usualDivider = /^={7}\s*$/

/**
 * Divides the lines of a search and replace block. A line `=======` may also belong to the file (the underline of a
 * heading, a merge conflict) or to the replacement. If a block has several such lines, the divider is the last one whose
 * search text is in the file. There is no divider, but a cause, if the search text could also go on there: if the file
 * has the same line at this place.
 */
export function divide(
  lines: readonly string[],
  { isDivider, present }: DivideOptions,
): Block | { readonly cause: string } {
  const plain = lines.map((line) => line.replace(/\r$/, ''))
  const all = plain.flatMap((line, index) => (isDivider(line) ? [index] : []))
  const usual = all.filter((index) => usualDivider.test(plain[index] ?? ''))
  const dividers = usual.length > 0 ? usual : all
  const [first = 0] = dividers
  if (all.length === 1) return dividedAt(lines, first)
  if (all.length > mostDividers) return unclear(all.slice(0, mostDividers))

  const file = present()
  const isNew = file.every((line) => line === '')
  const fitting = all.filter((end) => (end === 0 ? isNew : occurrences(plain.slice(0, end), file).length > 0))
  const last = fitting.at(-1)
  const isAtStart = first === 0 && !isNew
  if (last === undefined) return isAtStart && dividers.length > 1 ? unclear(all) : dividedAt(lines, first)
  if (!dividers.includes(last)) {
    // the search text of another length of the divider fits, but none of the usual length
    return isAtStart || dividers.some((end) => fitting.includes(end)) ? unclear(all) : dividedAt(lines, first)
  }
  const goesOn = last < (all.at(-1) ?? 0) && occurrences(plain.slice(0, last + 1), file).length > 0
  // an underline that is removed, or one that is put above the text: both are a usual edit
  const isOverline = all.length === 2 && fitting.length === 2 && last === first + 1
  return goesOn || isOverline ? unclear(all) : dividedAt(lines, last)
}

function dividedAt(lines: readonly string[], divider: number): Block {
  return { search: textOf(lines.slice(0, divider)), replace: textOf(lines.slice(divider + 1)) }
}

/** The lines without the carriage return of the last one, which belongs to the end of the line. */
function textOf(lines: readonly string[]): string {
  return lines.join('\n').replace(/\r$/, '')
}

function unclear(dividers: readonly number[]): { readonly cause: string } {
  const numbers = dividers.map((index) => index + 1)
  const named = `${numbers.slice(0, -1).join(', ')} and ${numbers.at(-1)}`
  return {
    cause: `any of its lines ${named} after <<<<<<< SEARCH can be its divider =======, and the file does not decide which: choose lines to search for that neither contain such a line nor end before one, or use a FILE_PATCH`,
  }
}
