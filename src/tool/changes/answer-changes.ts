import { AnswerLines } from './answer-lines.ts'
import { readAside } from './asides.ts'
import { type ContentDirective, type Directive, failDirective } from './directive.ts'
import {
  attribute,
  closesNothing,
  missing,
  neverClosed,
  readDirective,
  readEnclosed,
  unreadable,
} from './directive-reader.ts'
import { mainEnd } from './document.ts'
import { hasText, outerFenceContent, readFence } from './fence.ts'
import { foreignMarkIn, mixedFault, replaceMark, searchMark } from './foreign-marks.ts'
import { editingInstruction, searchReplaceInstruction, wholeFileInstruction } from './instruction.ts'
import { withJoinedDiffs } from './join-diffs.ts'
import { findLookalike } from './lookalike.ts'
import { mostCharacters, readContainer, refuseRepeatedPatches, tooLong, withinLimits } from './parse.ts'
import { directivesOf, faultPiece, type Piece, textPiece, tidyRestOf, withMeantChanges } from './pieces.ts'
import { readBlock as readSearchBlock, readSearchBlocks } from './search-blocks.ts'
import { isDirective, type Tag, tagLikeName } from './tag.ts'
import { readUnifiedDiff } from './unified-diff.ts'

/** How a model writes file contents in its answer (`file_content_mode`). */
export type FileContentMode = 'udiffx' | 'whole' | 'search_replace_auto'

/** The instruction about the form of file changes, for a system message. `readFileChanges` reads all forms. */
export function changesInstruction(mode: FileContentMode): string {
  // not a table: in the bundled command, the texts may be set after this file is loaded
  switch (mode) {
    case 'udiffx':
      return editingInstruction
    case 'whole':
      return wholeFileInstruction
    case 'search_replace_auto':
      return searchReplaceInstruction
  }
}

export interface AnswerChanges {
  readonly directives: readonly Directive[]
  /** The answer without the changes, and without the fences and empty lines they leave behind. */
  readonly text: string
}

/**
 * Extracts the file changes from an answer, in any form: directives in a container or alone, whole-file blocks, search
 * and replace blocks, fenced unified diffs. Only changes that start in the first column count, and none in reasoning,
 * comments, quoted files, or fences next to other text. Never throws: something that looks like a change but is not
 * valid becomes a directive of the kind Fail with the reason.
 */
export function readFileChanges(answer: string): AnswerChanges {
  if (answer.length > mostCharacters) return { directives: [tooLong(answer)], text: answer }
  const pieces = withJoinedDiffs(withMeantChanges(withoutExamples(piecesOf(answer))))
  const written = joined(refuseRepeatedPatches(directivesOf(pieces)))
  const directives = mainEnd(answer) === '\n' ? written : written.map(withPlainEnds)
  // an error about the start of an ignored change is more useful than one about its end
  const hasNone = directives.every(
    (directive) => directive.kind === 'Fail' && directive.reason.endsWith(' closes nothing'),
  )
  const lookalike = hasNone ? findLookalike(pieces) : undefined
  return { directives: lookalike === undefined ? withinLimits(directives) : [lookalike], text: tidyRestOf(pieces) }
}

/** An answer with CRLF everywhere says nothing about the line endings of a file, which keeps its own. */
function withPlainEnds(directive: Directive): Directive {
  return 'content' in directive ? { ...directive, content: directive.content.replaceAll('\r\n', '\n') } : directive
}

/** Merges piecewise appends and replacements into one directive per file, if nothing else comes in between. */
function joined(directives: readonly Directive[]): readonly Directive[] {
  const result: Directive[] = []
  let parts = new Map<string, { readonly index: number; readonly contents: string[] }>()
  const finish = (): void => {
    for (const { index, contents } of parts.values()) {
      const first = result[index]
      if (first?.kind === 'SearchReplace') result[index] = { ...first, content: contents.join('') }
      if (first?.kind === 'AppendLines') result[index] = { ...first, content: joinedLines(contents) }
    }
    parts = new Map()
  }
  for (const directive of directives) {
    const before = isJoined(directive) ? parts.get(partKey(directive)) : undefined
    if (!isJoined(directive)) finish()
    else if (before === undefined)
      parts.set(partKey(directive), { index: result.length, contents: [directive.content] })
    else before.contents.push(directive.content)
    if (before === undefined) result.push(directive)
  }
  finish()
  return result
}

type JoinedDirective = ContentDirective & { readonly kind: 'SearchReplace' | 'AppendLines' }

function isJoined(directive: Directive): directive is JoinedDirective {
  // an empty append is reported as a separate error
  return directive.kind === 'SearchReplace' || (directive.kind === 'AppendLines' && directive.content !== '')
}

function partKey({ kind, filePath }: JoinedDirective): string {
  return `${kind} ${filePath}`
}

/** Each starts on a new line. */
function joinedLines(contents: readonly string[]): string {
  return contents
    .map((content, index) => (contents[index - 1]?.endsWith('\n') === false ? `\n${content}` : content))
    .join('')
}

function piecesOf(text: string): readonly Piece[] {
  const lines = new AnswerLines(text)
  const written: Piece[] = []
  const fences: string[] = []
  while (!lines.isOver) {
    if (readAside(lines, written)) continue
    const { at, line, position } = lines
    const options = { text }
    const isAtTop = fences.length === 0
    if (isAtTop && (readSearchBlocks(lines, written, options) || readUnifiedDiff(lines, written, options))) continue
    if (readContainer(lines, written, { text, policy: 'answer' })) continue
    const directives = readSingle(lines, written)
    if (directives !== undefined) {
      written.push({ kind: 'change', text: text.slice(position, lines.position), directives })
      continue
    }
    followFences(fences, line)
    if (isAtTop && replaceMark.test(line) && !endsInFault(written)) written.push(faultPiece(endsNothing))
    written.push(textPiece(line))
    lines.goTo(at + 1)
  }
  return written
}

/** More of the replacement than was read may follow the end of a block. */
const endsNothing = failDirective(
  'malformed',
  'a line >>>>>>> REPLACE ends no search and replace block: a file that contains such a line is changed with a FILE_PATCH',
)

/** The end of an unreadable change is not reported as a second fault. */
function endsInFault(written: readonly Piece[]): boolean {
  const last = written.findLast(({ kind }) => kind === 'change')
  return last?.kind === 'change' && last.directives.at(-1)?.kind === 'Fail'
}

function followFences(open: string[], line: string): void {
  const fence = readFence(line)
  if (fence === undefined || !fence.marks.startsWith(open.at(-1) ?? '')) return
  if (open.length > 0 && fence.info === '') open.pop()
  else open.push(fence.marks)
}

/** Quoted examples of the instruction are not changes; a single line counts as one only next to others. */
function withoutExamples(pieces: readonly Piece[]): readonly Piece[] {
  const instructed = (['udiffx', 'whole', 'search_replace_auto'] as const).map(changesInstruction)
  const isExample = (text: string): boolean => instructed.some((instruction) => instruction.includes(text))
  const examples = new Set(
    pieces.filter(({ kind, text }) => kind === 'change' && text !== '' && isExample(text.trim())),
  )
  if (![...examples].some(({ text }) => text.trim().includes('\n'))) return pieces
  return pieces.map((piece) => (examples.has(piece) ? textPiece(piece.text) : piece))
}

const blockName = 'AIP_FILE_CHANGE'

/** The change outside of a container that starts on the line; undefined if the line is text. */
function readSingle(lines: AnswerLines, written: readonly Piece[]): readonly Directive[] | undefined {
  const { line } = lines
  const name = /^[<[]/.test(line) ? tagLikeName(line) : undefined
  if (name === undefined) return undefined
  const tag = lines.tagAt(lines.at)
  if (tag === undefined) {
    const isTag = name === blockName || isDirective(name)
    if (!isTag || !/^\S+\s+\w+\s*=/.test(line)) return undefined
    lines.pass()
    return [unreadable(line)]
  }
  if (tag.name !== blockName && !isDirective(tag.name)) return undefined
  if (tag.form === 'close') {
    if (tag.rest.trim() !== '') return undefined
    lines.pass(tag.rest)
    return endsInFault(written) ? [] : [closesNothing(tag)]
  }
  if (tag.attributes.size === 0) return undefined
  return tag.name === blockName ? readBlock(lines, tag) : readAlone(lines, tag, tag.name)
}

function readAlone(lines: AnswerLines, tag: Tag, name: string): readonly Directive[] | undefined {
  return isDirective(name) ? [readDirective(lines, tag, { name, policy: 'answer' })] : undefined
}

function readBlock(lines: AnswerLines, tag: Tag): readonly Directive[] {
  const filePath = attribute(tag, 'file_path')
  const enclosed = readEnclosed(lines, tag)
  if (enclosed === undefined) return [neverClosed(tag, filePath)]
  if (filePath === undefined) return [missing(tag, 'file_path')]
  const inner = outerFenceContent(enclosed)
  if (inner === undefined) {
    return [
      failDirective('malformed', 'its content begins with a fence that its last line does not close', { filePath }),
    ]
  }
  const content = inner.join('')
  const mark = foreignMarkIn(content, 'block')
  if (mark !== undefined) return [mixedFault(blockName, mark, filePath)]
  const parts = inner.some((line) => searchMark.test(line) || replaceMark.test(line))
  return [parts ? blocksIn(content, filePath) : { kind: 'New', filePath, content }]
}

/** The search and replace blocks of a whole-file block, with exact marker lines. */
function blocksIn(content: string, filePath: string): Directive {
  const lines = new AnswerLines(content)
  const parts: string[] = []
  while (!lines.isOver) {
    if (!hasText(lines.line)) {
      lines.pass()
      continue
    }
    if (!searchMark.test(lines.line)) {
      const reason = `the changes cannot be read: line ${lines.at + 1} is outside a block: ${lines.line.trim().slice(0, 80)}`
      return failDirective('malformed', reason, { filePath })
    }
    const part = readSearchBlock(lines)
    if (typeof part !== 'string') return { ...part, filePath }
    parts.push(part)
  }
  return { kind: 'SearchReplace', filePath, content: `${parts.join('\n')}\n` }
}
