import { AnswerLines } from './answer-lines.ts'
import { type Directive, failDirective } from './directive.ts'
import {
  attribute,
  closesNothing,
  missing,
  neverClosed,
  readDirective,
  readEnclosed,
  unreadable,
} from './directive-reader.ts'
import { outerFenceContent } from './fence.ts'
import { editingInstruction, searchReplaceInstruction, wholeFileInstruction } from './instruction.ts'
import { takeChanges, type TakenChanges } from './parse.ts'
import { directivesOf, type Piece, textPiece, tidyRestOf, withoutQuotations } from './pieces.ts'
import { hasBlocks } from './search-replace.ts'
import { isContainer, isDirective, readTag, type Tag, tagLikeName } from './tag.ts'

/** How a model writes the content of files into its answer (`file_content_mode`). */
export type FileContentMode = 'udiffx' | 'whole' | 'search_replace_auto'

/** What a model is told about the form of file changes, for a system message. `readFileChanges` reads that form. */
export function changesInstruction(mode: FileContentMode): string {
  return instructions[mode]
}

const instructions: { readonly [mode in FileContentMode]: string } = {
  udiffx: editingInstruction,
  whole: wholeFileInstruction,
  search_replace_auto: searchReplaceInstruction,
}

export interface AnswerChanges {
  readonly directives: readonly Directive[]
  /** The answer without them, and without the fences and empty lines they leave. */
  readonly text: string
}

/**
 * Takes the file changes out of an answer. Nothing is thrown: what looks like a change and cannot be read becomes a
 * directive of the kind Fail that says why.
 */
export function readFileChanges(answer: string, mode: FileContentMode): AnswerChanges {
  const { directives, pieces } = mode === 'udiffx' ? takeChanges(answer) : readFileBlocks(answer, madeIn(mode))
  return { directives, text: tidyRestOf(pieces) }
}

type MakeDirective = (filePath: string, content: string) => Directive

function madeIn(mode: 'whole' | 'search_replace_auto'): MakeDirective {
  return (filePath, content) => {
    const hasParts = mode === 'search_replace_auto' && hasBlocks(content)
    return { kind: hasParts ? 'SearchReplace' : 'New', filePath, content }
  }
}

const blockName = 'AIP_FILE_CHANGE'

/**
 * Reads the changes of an answer that gives files as blocks: `<AIP_FILE_CHANGE file_path="…">` around a fence with what
 * the file shall hold, which `made` turns into a directive. The directives of `parseChanges` count too, in a container
 * or not; quotations do not. What looks like a change and cannot be read becomes a directive of the kind Fail.
 */
function readFileBlocks(text: string, made: MakeDirective): TakenChanges {
  const lines = new AnswerLines(text)
  const written: Piece[] = []
  let previous: Directive | undefined
  while (!lines.isOver) {
    isolateBlock(lines, written)
    const { at, line, position } = lines
    const directives = readChange(lines, { previous, made })
    if (directives === undefined) {
      written.push(textPiece(line))
      lines.goTo(at + 1)
      continue
    }
    previous = directives[0] ?? previous
    written.push({ kind: 'change', text: text.slice(position, lines.position), directives })
  }
  const pieces = withoutQuotations(written)
  return { directives: directivesOf(pieces), pieces }
}

const blockTag = /(?:<|\[\[\[)AIP_FILE_CHANGE\s+file_path/

/** A block may begin behind other text when its tag ends the line. That text is left, and the tag becomes a line. */
function isolateBlock(lines: AnswerLines, written: Piece[]): void {
  const { line } = lines
  const start = line.search(blockTag)
  if (start <= 0 || line.slice(0, start).trim() === '') return
  const tag = readTag(line.slice(start))
  if (tag === undefined || tag.rest.trim() !== '') return
  written.push(textPiece(line.slice(0, start)))
  lines.pass(line.slice(start))
}

interface ReadingOptions {
  readonly previous: Directive | undefined
  readonly made: MakeDirective
}

/** The change that begins the line, none for a tag of a container; undefined when the line is text. */
function readChange(lines: AnswerLines, { previous, made }: ReadingOptions): readonly Directive[] | undefined {
  const { line } = lines
  const tag = readTag(line)
  if (tag === undefined) {
    if (tagLikeName(line) !== blockName) return undefined
    lines.pass()
    return [unreadable(line)]
  }
  if (isContainer(tag.name)) {
    if (tag.rest.trim() !== '' && readTag(tag.rest) === undefined) return undefined
    lines.pass(tag.rest)
    return []
  }
  if (tag.name === blockName && tag.form === 'close') {
    lines.pass(tag.rest)
    // the end of a block that could not be read is no second fault
    return previous?.kind === 'Fail' ? [] : [closesNothing(tag)]
  }
  if (tag.name === blockName) return readBlock(lines, tag, made)
  if (tag.form === 'close' || !isDirective(tag.name) || tag.attributes.size === 0) return undefined
  return [readDirective(lines, tag, tag.name)]
}

function readBlock(lines: AnswerLines, tag: Tag, made: MakeDirective): readonly Directive[] | undefined {
  const filePath = attribute(tag, 'file_path')
  const content = readEnclosed(lines, tag)
  if (content === undefined) return filePath === undefined ? undefined : [neverClosed(tag, filePath)]
  if (filePath === undefined) return [missing(tag, 'file_path')]
  const inner = outerFenceContent(content)
  if (inner !== undefined) return [made(filePath, inner.join(''))]
  return [failDirective('its content begins with a fence that its last line does not close', filePath)]
}
