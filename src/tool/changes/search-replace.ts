import { BatonError } from '../../base/error.ts'
import { indicesOfList } from '../../base/find-text.ts'
import { replaceFirst, type Replacement } from './edits.ts'
import { mainEnd } from './lines.ts'

const searchLine = '<<<<<<< SEARCH'
const separatorLine = '======='
const endLine = '>>>>>>> REPLACE'

interface SearchReplaceFailure {
  readonly search: string
  readonly replace: string
  readonly reason: string
}

export interface SearchReplaceResult {
  readonly content: string
  readonly changedCount: number
  readonly failures: readonly SearchReplaceFailure[]
}

/** True if the text contains blocks: any other text is the whole content of a file. */
export function hasBlocks(changes: string): boolean {
  return changes.split('\n').some((line) => marker(line) === searchLine)
}

/** A block as written. */
export function blockText(search: string, replace: string): string {
  return [searchLine, search, separatorLine, replace, endLine].filter((part) => part !== '').join('\n')
}

/** The same for the lines between its first and its last marker line. */
export function undividedText(lines: readonly string[]): string {
  return [searchLine, ...lines, endLine].map(marker).join('\n')
}

/** The text that a block, as written by `blockText`, searches for; up to the first divider, if there are several. */
export function searchedText(block: string): string {
  const lines = block.split('\n')
  const end = lines.findIndex((line) => marker(line) === separatorLine)
  return lines.slice(1, end === -1 ? undefined : end).join('\n')
}

/**
 * Applies search and replace blocks to a text. A text without the marker line `<<<<<<< SEARCH` replaces the whole
 * content and counts as one change. A search text that is not found is a failure in the results. Blocks are matched and
 * inserted with the most frequent line ending of the content, or else as written. A block without a search text inserts
 * its text at the start. If several lines of a block can be its separator, the content decides (`divide`); otherwise the
 * block is a failure, too.
 * @throws BatonError SCRIPT_FAILED for text between blocks, missing marker lines, and too many blocks
 */
export function applySearchReplace(content: string, changes: string): SearchReplaceResult {
  if (!hasBlocks(changes)) {
    return { content: changes, changedCount: 1, failures: [] }
  }
  let current = content
  const failures: SearchReplaceFailure[] = []
  const blocks = readBlocks(changes)
  if (blocks.length * content.length > mostLookedAt) throw tooMany(blocks.length, content.length)
  const end = mainEnd(content)
  for (const { lines } of blocks) {
    const block = divide(lines, { isDivider: isSeparator, present: () => current.split('\n').map(marker) })
    if ('cause' in block) {
      failures.push({
        search: lines.map(marker).join('\n'),
        replace: '',
        reason: `Search block is ambiguous: ${block.cause}`,
      })
      continue
    }
    const fitted = withEnds(block, end)
    const isSame = fitted.search === block.search
    const replaced = replaceFirst(current, fitted) ?? (isSame ? undefined : replaceFirst(current, block))
    if (replaced === undefined) failures.push({ ...block, reason: 'Search block not found in content' })
    current = replaced ?? current
  }
  return { content: current, changedCount: blocks.length - failures.length, failures }
}

/** In characters: each block is searched for in the whole content, as the previous block has left it. */
const mostLookedAt = 2e9

function tooMany(blocks: number, characters: number): BatonError {
  const most = Math.floor(mostLookedAt / characters)
  const message = `too many changes: ${blocks} blocks for a text of ${characters} characters, at most ${most} are possible`
  return new BatonError('SCRIPT_FAILED', message, {
    hint: 'Save the file whole, or make the changes in several calls.',
  })
}

function isSeparator(line: string): boolean {
  return line === separatorLine
}

/** A parsed block: the lines between its first and its last marker line. */
export interface WrittenBlock {
  readonly lines: readonly string[]
}

/** Marker lines take the whole line; a carriage return belongs to the line ending. */
function marker(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}

/**
 * Parses blocks. `isDivider`: whether a line can separate the two texts of a block.
 * @throws BatonError SCRIPT_FAILED for text between them and for missing marker lines
 */
export function readBlocks(
  changes: string,
  isDivider: (line: string) => boolean = isSeparator,
): readonly WrittenBlock[] {
  const blocks: WrittenBlock[] = []
  const lines = changes.split('\n')
  for (let start = 0; start < lines.length; start += 1) {
    const line = lines[start] ?? ''
    if (line.trim() === '') continue
    if (marker(line) !== searchLine) throw malformed(`line ${start + 1} is outside a block: ${shortened(line)}`)
    const separator = indexOfMarker(lines, { isWanted: isDivider, name: separatorLine }, start)
    const end = indexOfMarker(lines, { isWanted: (found) => found === endLine, name: endLine }, separator)
    blocks.push({ lines: lines.slice(start + 1, end) })
    start = end
  }
  return blocks
}

interface Wanted {
  readonly isWanted: (line: string) => boolean
  readonly name: string
}

function indexOfMarker(lines: readonly string[], { isWanted, name }: Wanted, from: number): number {
  for (let index = from + 1; index < lines.length; index += 1) {
    const found = marker(lines[index] ?? '')
    if (isWanted(found)) return index
    if (found === searchLine) break
  }
  throw malformed(`the block has no line "${name}" after line ${from + 1}`)
}

function withEnds({ search, replace }: Block, end: '\n' | '\r\n'): Block {
  return { search: search.replaceAll(/\r?\n/g, end), replace: replace.replaceAll(/\r?\n/g, end) }
}

function malformed(problem: string): BatonError {
  return new BatonError('SCRIPT_FAILED', `the changes cannot be read: ${problem}`, {
    hint: `A block is "${searchLine}", text, "${separatorLine}", text, "${endLine}", each marker alone on its line.`,
  })
}

const shownLength = 100

function shortened(line: string): string {
  return line.length > shownLength ? `${line.slice(0, shownLength)}…` : line
}

/** The texts of a block. */
export type Block = Pick<Replacement, 'search' | 'replace'>

interface DivideOptions {
  /** Whether a line of the block, without its carriage return, can be the divider. */
  readonly isDivider: (line: string) => boolean
  /** The lines of the file as the previous block has left it, without their ends; called only if they decide. */
  readonly present: () => readonly string[]
}

/** Each takes a look through the file. */
const mostDividers = 50

/** The divider as models are told to write it; others count only if a block has none of this length. */
const defaultDivider = /^={7}\s*$/

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
  const defaults = all.filter((index) => defaultDivider.test(plain[index] ?? ''))
  const dividers = defaults.length > 0 ? defaults : all
  const [first = 0] = dividers
  if (all.length === 1) return dividedAt(lines, first)
  if (all.length > mostDividers) return unclear(all.slice(0, mostDividers))

  const file = present()
  const isNew = file.every((line) => line === '')
  const fitting = all.filter((end) => (end === 0 ? isNew : indicesOfList(file, plain.slice(0, end)).length > 0))
  const last = fitting.at(-1)
  const isAtStart = first === 0 && !isNew
  if (last === undefined) return isAtStart && dividers.length > 1 ? unclear(all) : dividedAt(lines, first)
  if (!dividers.includes(last)) {
    // the search text of another length of the divider fits, but none of the usual length
    return isAtStart || dividers.some((end) => fitting.includes(end)) ? unclear(all) : dividedAt(lines, first)
  }
  const goesOn = last < (all.at(-1) ?? 0) && indicesOfList(file, plain.slice(0, last + 1)).length > 0
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
