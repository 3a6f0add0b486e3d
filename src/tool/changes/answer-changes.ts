import { AnswerLines } from './answer-lines.ts'
import { type ContentDirective, type Directive, failDirective } from './directive.ts'
import {
  attribute,
  closesNothing,
  missing,
  mostCharacters,
  neverClosed,
  readContainer,
  readDirective,
  readEnclosed,
  refuseRepeatedPatches,
  tooLong,
  unreadable,
  withinLimits,
} from './directive-reader.ts'
import { mainEnd } from './lines.ts'
import {
  foreignMarkIn,
  hasText,
  isContainer,
  isDirective,
  mixedFault,
  outerFenceContent,
  readFence,
  replaceMark,
  searchMark,
  type Tag,
  tagLikeName,
} from './syntax.ts'
import { changesInstruction } from './instruction.ts'
import { readBlock as readSearchBlock, readSearchBlocks, readUnifiedDiff, withJoinedDiffs } from './diffs-and-blocks.ts'
import { directivesOf, faultPiece, type Piece, textPiece, tidyRestOf, withClearChanges } from './pieces.ts'

interface AnswerChanges {
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
  const pieces = withJoinedDiffs(withClearChanges(withoutExamples(piecesOf(answer))))
  const written = joined(refuseRepeatedPatches(directivesOf(pieces)))
  const directives = mainEnd(answer) === '\n' ? written : written.map(withPlainEnds)
  // an error about the start of an ignored change is more useful than one about its end
  const hasNone = directives.every(
    (directive) => directive.kind === 'Fail' && directive.reason.endsWith(' closes nothing'),
  )
  const lookalike = hasNone ? findMisformattedEdit(pieces) : undefined
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
    if (skipNonAnswerText(lines, written)) continue
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

/** Names of reasoning tags that servers fail to strip from answers, and that models are often told to write. */
const reasoningNames = 'think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis|seed:think'
const reasoningStart = new RegExp(`^\\s*(?:<(${reasoningNames})>|\\[(THINK)\\]|◁(think)▷)`, 'i')
const reasoningEnd = new RegExp(`^\\s*(?:</(?:${reasoningNames})>|\\[/THINK\\]|◁/think▷)`, 'i')
const commentStart = /^<!--/
/** Files as prompt files and packs show them to a model. */
const quotedFile =
  /^<(file|FILE_CONTENT|CONTEXT_FILE|KNOWLEDGE_FILE)\s+(?:file_)?path="[^"]*"(?: lines="(\d+)")?(?: ends_with="(\/file \w+)")?[^>]*>/
const markedEnd = /^<\/file \w+>/

/**
 * Skips text that is not part of the answer proper, starting at the line: reasoning, a comment, a file quoted as it was
 * shown. Nothing in it is a change. Returns false if the line does not start such text.
 */
function skipNonAnswerText(lines: AnswerLines, written: Piece[]): boolean {
  const { line } = lines
  if (!/^\s*[<[◁]/.test(line)) return false
  const [opening] = reasoningStart.exec(line) ?? []
  if (opening !== undefined) return readReasoning(lines, written, opening.trim())
  if (reasoningEnd.test(line)) {
    // some servers omit the opening tag of the reasoning
    const before = written.splice(0).reduce((text, piece) => text + piece.text, '')
    written.push({ ...textPiece(before), isAside: true })
    return pass(lines, written, lines.at)
  }
  if (commentStart.test(line)) return pass(lines, written, lines.next('end of a comment', lines.at, has(lines, '-->')))
  const [, name = '', count, ending] = quotedFile.exec(line) ?? []
  if (name === '') return false
  const counted = lines.at + 1 + Number(count ?? 0)
  if (ending !== undefined) return readMarked(lines, written, { ending, counted })
  const end = `</${name}>`
  return pass(
    lines,
    written,
    lines.next(`end of ${name}`, counted, (index) => lines.all[index]?.startsWith(end) === true),
  )
}

/** A quoted file with a custom end marker, because its text contains the usual one. */
function readMarked(
  lines: AnswerLines,
  written: Piece[],
  { ending, counted }: { readonly ending: string; readonly counted: number },
): boolean {
  const end = lines.next('own end of a file', counted, (index) => markedEnd.test(lines.all[index] ?? ''))
  return pass(lines, written, lines.all[end ?? -1]?.startsWith(`<${ending}>`) === true ? end : undefined)
}

function has({ all }: AnswerLines, end: string): (index: number) => boolean {
  return (index) => all[index]?.includes(end) === true
}

function readReasoning(lines: AnswerLines, written: Piece[], opening: string): boolean {
  const closing = opening.replace(/^./u, '$&/')
  const looked = closing.toLowerCase()
  const end = lines.next(`end of ${looked}`, lines.at, (index) => {
    return lines.all[index]?.toLowerCase().includes(looked) === true
  })
  if (end !== undefined) return pass(lines, written, end)
  const change = lines.next('change in open reasoning', lines.at, (index) => {
    const tag = lines.tagAt(index)
    if (tag === undefined || tag.form === 'close') return false
    return isContainer(tag.name) || isDirective(tag.name) || tag.name === 'AIP_FILE_CHANGE'
  })
  pass(lines, written, lines.all.length - 1)
  const reason = `${opening} is never closed, and the changes after it count as reasoning: write them after ${closing}`
  if (change !== undefined) written.push(faultPiece(failDirective('malformed', reason)))
  return true
}

/** Continues after line `end`. */
function pass(lines: AnswerLines, written: Piece[], end: number | undefined): boolean {
  if (end === undefined) return false
  for (const text of lines.all.slice(lines.at, end + 1)) written.push({ ...textPiece(text), isAside: true })
  lines.goTo(end + 1)
  return true
}

interface MisformattedEdit {
  readonly mark: RegExp
  readonly what: string
}

const inForm = 'write it as the instruction for file changes says'

/** How edits in other forms, or in places where they do not count, start. */
const misformattedEdits: readonly MisformattedEdit[] = [
  {
    mark: /^[^\n`]*(?:<|\[\[\[)(?:FILE_(?:NEW|PATCH|APPEND|COPY|RENAME|DELETE)|AIP_FILE_CHANGE)\s+\w+\s*=/m,
    what: 'contains a file change that is indented, quoted, in a fence or in the middle of a line, and was not applied: if you mean it, write it outside a fence, starting in the first column',
  },
  {
    mark: /^[ \t>]*<{5,9} ?SEARCH>?\s*$/m,
    what: 'contains a search and replace block that is indented, quoted or in a fence with other text, and was not applied: if you mean it, write it starting in the first column',
  },
  {
    mark: /^\*\*\* (?:Begin Patch|Update File: |Add File: |Delete File: )/m,
    what: `contains a patch in an unsupported form: ${inForm}`,
  },
  {
    mark: /^[ \t>]*(?:-{5,9} ?SEARCH|<{5,9} ?ORIGINAL)\b/m,
    what: `contains a search and replace block with different markers: ${inForm}`,
  },
  {
    mark: /^[ \t>]*(?:<|\[\[\[)[Ff]ile_?(?:[Cc]hanges|[Nn]ew|[Pp]atch|[Aa]ppend|[Cc]opy|[Rr]ename|[Dd]elete)\b/m,
    what: `contains a tag for a file change that is not in capital letters: ${inForm}`,
  },
  {
    mark: /^[ \t]*<(?:write_to_file|write_file|create_file|edit_file|replace_in_file|apply_diff|search_and_replace|tool_call|function_calls)>/m,
    what: `calls a tool that does not exist: ${inForm}`,
  },
  {
    mark: /(?:^|[{,])[ \t]*"(?:old|new)_str(?:ing)?"[ \t]*:/m,
    what: `contains JSON that describes a replacement: ${inForm}`,
  },
  {
    mark: /^[ \t>]*--- \S.*\r?\n[ \t>]*\+\+\+ \S.*\r?\n[ \t>]*@@/m,
    what: 'contains a unified diff that was not applied: if you mean it, write it into a fence of its own that begins with ```diff',
  },
  {
    mark: /^(?:`{3,}|~{3,})(?:diff|patch)\b[^\n]*\n(?:(?![`~+-])[^\n]*\n)*[+-]/m,
    what: 'contains a diff that names no file: begin it with the lines --- and +++ that name it',
  },
  {
    mark: /^<(?:file|write_file|write_to_file|create_file|edit_file|edit|replace|str_replace|apply_diff|boltAction)\s[^>\n]*?(?:path|name|file)\w{0,20}[ \t]*=/im,
    what: `contains a tag that is not a file change here: ${inForm}`,
  },
]

/** The fault for text that looks like a change, in an answer without any. Reasoning and comments do not count. */
function findMisformattedEdit(pieces: readonly Piece[]): Directive | undefined {
  const text = pieces
    .map((piece) =>
      piece.kind === 'text' && piece.isAside === true ? piece.text.replaceAll(/[^\n]+/g, '') : piece.text,
    )
    .join('')
  const found = misformattedEdits.flatMap(({ mark, what }) => {
    const at = text.search(mark)
    return at === -1 ? [] : [{ what, line: text.slice(0, at).split('\n').length }]
  })[0]
  return found === undefined ? undefined : failDirective('lookalike', `line ${found.line} of the answer ${found.what}`)
}
