import { type Directive, failDirective } from './directive.ts'
import {
  attribute,
  missing,
  neverClosed,
  readDirective,
  type DirectiveReading,
  readEnclosed,
} from './directive-reader.ts'
import { outerFenceContent } from './fence.ts'
import { linesWithBreaks, positions, putBack, type TakenChanges } from './parse.ts'
import { directivesOf, type Piece, textPiece } from './pieces.ts'
import { withoutQuotations } from './quotation.ts'
import { closingText, isContainer, isDirective, readTag, type Tag, tagLikeName } from './tag.ts'

/** The tag around the content of one file (spec/pro-coder.md 91). */
const blockName = 'AIP_FILE_CHANGE'

/**
 * Reads the changes of an answer that gives files as blocks: `<AIP_FILE_CHANGE file_path="…">` around a fence with what
 * the file shall hold, which `made` turns into a directive. The directives of `parseChanges` count too, in a container
 * or not; quotations do not. What looks like a change and cannot be read becomes a directive of the kind Fail.
 */
export function readFileBlocks(text: string, made: (filePath: string, content: string) => Directive): TakenChanges {
  const lines = linesWithBreaks(text)
  const position = positions(lines)
  const written: Piece[] = []
  let previous: Directive | undefined
  for (let at = 0; at < lines.length;) {
    at = isolateBlock(lines, at, written)
    const start = position(at)
    const reading = readChange(lines, at, { previous, made })
    if (reading === undefined) {
      written.push(textPiece(lines[at] ?? ''))
      at += 1
      continue
    }
    previous = reading.directive ?? previous
    at = putBack(lines, reading.next, reading.rest)
    const directives = reading.directive === undefined ? [] : [reading.directive]
    written.push({ kind: 'change', text: text.slice(start, position(at)), directives })
  }
  const pieces = withoutQuotations(written)
  return { directives: directivesOf(pieces), pieces }
}

const blockTag = /(?:<|\[\[\[)AIP_FILE_CHANGE\s+file_path/

/** A block may begin behind other text when its tag ends the line. That text is left, and the tag becomes a line. */
function isolateBlock(lines: string[], at: number, written: Piece[]): number {
  const line = lines[at] ?? ''
  const start = line.search(blockTag)
  if (start <= 0 || line.slice(0, start).trim() === '') return at
  const tag = readTag(line.slice(start))
  if (tag === undefined || tag.rest.trim() !== '') return at
  written.push(textPiece(line.slice(0, start)))
  return putBack(lines, at + 1, line.slice(start))
}

interface ReadingOptions {
  readonly previous: Directive | undefined
  readonly made: (filePath: string, content: string) => Directive
}

type ChangeReading = Omit<DirectiveReading, 'directive'> & { readonly directive?: Directive }

/** The change that begins line `at`; undefined when the line is text. A tag of a container is passed over. */
function readChange(lines: readonly string[], at: number, options: ReadingOptions): ChangeReading | undefined {
  const line = lines[at] ?? ''
  const tag = readTag(line)
  if (tag === undefined) return tagLikeName(line) === blockName ? unreadable(line, at) : undefined
  if (isContainer(tag.name)) {
    const isAlone = tag.rest.trim() === '' || readTag(tag.rest) !== undefined
    return isAlone ? { next: at + 1, rest: tag.rest } : undefined
  }
  if (tag.name === blockName) return readBlock(lines, at, { ...options, tag })
  if (tag.form === 'close' || !isDirective(tag.name) || tag.attributes.size === 0) return undefined
  return readDirective(lines, at, { tag, name: tag.name })
}

function readBlock(
  lines: readonly string[],
  at: number,
  { tag, previous, made }: ReadingOptions & { readonly tag: Tag },
): ChangeReading | undefined {
  if (tag.form === 'close') {
    const next = { next: at + 1, rest: tag.rest }
    // the end of a block that could not be read is no second fault
    return previous?.kind === 'Fail'
      ? next
      : { directive: failDirective(`${closingText(tag)} closes nothing`), ...next }
  }
  const filePath = attribute(tag, 'file_path')
  const { lines: content, next, rest } = readEnclosed(lines, at, tag)
  if (content === undefined && filePath === undefined) return undefined
  if (content === undefined) return { directive: neverClosed(tag, filePath), next, rest }
  if (filePath === undefined) return { directive: missing(tag, 'file_path'), next, rest }

  const inner = outerFenceContent(content)
  if (inner !== undefined) return { directive: made(filePath, inner.join('')), next, rest }
  const reason = 'its content begins with a fence that its last line does not close'
  return { directive: failDirective(reason, filePath), next, rest }
}

function unreadable(line: string, at: number): ChangeReading {
  const reason = `the tag ${line.trim()} cannot be read: attributes are written name="value"`
  return { directive: failDirective(reason), next: at + 1, rest: '' }
}
