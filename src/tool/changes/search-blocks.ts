import type { AnswerLines } from './answer-lines.ts'
import { type ContentDirective, type Directive, failDirective, noFileNamed } from './directive.ts'
import { hasText, readFence } from './fence.ts'
import { fileNameIn, fileNameOfFence, lineAbove, spacedNameIn, takeNameAbove } from './file-name.ts'
import { dividerMark, foreignMarkIn, mixedFault, replaceMark, searchMark } from './foreign-marks.ts'
import type { Piece } from './pieces.ts'
import { undividedText } from './search-replace.ts'

/**
 * Reads consecutive search and replace blocks starting on the line, alone or in a fence with nothing else. The file of
 * a block is named on the line above it or above the fence, or after the fence's language; it also applies to the
 * following blocks. False if none starts here.
 */
export function readSearchBlocks(lines: AnswerLines, written: Piece[], { text }: { readonly text: string }): boolean {
  const fence = readFence(lines.line)
  const first = fence === undefined ? lines.at : firstInFence(lines)
  if (first === undefined || !searchMark.test(lines.all[first] ?? '')) return false
  const inside = fence === undefined ? undefined : nameBetween(lines, lines.at + 1, first)
  const ofFence = fence === undefined ? undefined : fileNameOfFence(lines.line)
  const sure = ofFence ?? takeNameAbove(written, lines)
  const above = inside ?? (sure === undefined ? nameAbove(written, lines) : { filePath: sure })
  const start = lines.position
  lines.goTo(first)
  const blocks = readBlocks(lines, { fence: fence?.marks, name: above })
  written.push({ kind: 'change', text: text.slice(start, lines.position), directives: blocks })
  return true
}

/** The line with the mark: the first with text, or the second after one that names a file. */
function firstInFence({ all, at }: AnswerLines): number | undefined {
  let line = at + 1
  while (line < all.length && !hasText(all[line] ?? '')) line += 1
  if (searchMark.test(all[line] ?? '')) return line
  const named = nameIn(all[line] ?? '')
  // a fence with prose is a quotation
  if (named === undefined || (named.guess !== undefined && !/\/|\.\w+$/.test(named.filePath))) return undefined
  line += 1
  while (line < all.length && !hasText(all[line] ?? '')) line += 1
  return line
}

/** The file of a block. */
type Named = Pick<ContentDirective, 'filePath' | 'guess'>

/** The file that a line names, perhaps; `before`: the one that applies if it does not. */
function nameIn(line: string, before?: Named): Named | undefined {
  const name = fileNameIn(line)
  if (name !== undefined) return { filePath: name }
  const spaced = spacedNameIn(line)
  if (spaced === undefined) return undefined
  const otherwise = before?.guess === undefined ? before?.filePath : before.guess.otherwise
  return { filePath: spaced, guess: { otherwise: otherwise ?? null } }
}

function nameBetween({ all }: AnswerLines, from: number, to: number): Named | undefined {
  return all.slice(from, to).flatMap((line) => nameIn(line) ?? [])[0]
}

/** The file that the line above may name, or else that of the previous blocks. */
function nameAbove(written: readonly Piece[], lines: AnswerLines): Named | undefined {
  const last = written.findLast((piece) => piece.kind === 'change' && piece.directives.length > 0)
  const directive = last?.kind === 'change' ? last.directives.at(-1) : undefined
  const before = directive?.kind === 'SearchReplace' ? directive : undefined
  const { text = '' } = lineAbove(written, lines)
  return nameIn(text, before) ?? (before && namedAs(before))
}

function namedAs({ filePath, guess }: Named): Named {
  return { filePath, ...(guess === undefined ? {} : { guess }) }
}

interface Run {
  /** The marks of the surrounding fence, if any. */
  readonly fence: string | undefined
  readonly name: Named | undefined
}

function readBlocks(lines: AnswerLines, { fence, name }: Run): readonly Directive[] {
  const directives: Directive[] = []
  let file = name
  let parts: string[] = []
  const finish = (): void => {
    if (parts.length > 0) directives.push(directiveOf(parts, file))
    parts = []
  }
  let used = lines.at
  while (!lines.isOver) {
    const { line } = lines
    if (searchMark.test(line)) {
      const block = readBlock(lines)
      if (typeof block === 'string') parts.push(block)
      else directives.push({ ...block, filePath: shownName(file) ?? block.filePath })
      used = lines.at
    } else if (fence !== undefined && readFence(line)?.marks.startsWith(fence) === true) {
      used = lines.at + 1
      break
    } else if (!hasText(line)) {
      lines.pass()
    } else {
      const next = nameIn(line, file)
      const following = next === undefined ? undefined : lines.at + 1
      if (following === undefined || !searchMark.test(lines.all[following] ?? '')) {
        if (fence !== undefined) directives.push(outside(line, shownName(file)))
        break
      }
      finish()
      file = next
      lines.pass()
    }
  }
  lines.goTo(used)
  finish()
  return directives
}

function outside(line: string, filePath: string | undefined): Directive {
  const reason = `the line ${line.trim().slice(0, 80)} is between search and replace blocks: write nothing else into their fence`
  return failDirective('malformed', reason, { filePath })
}

/** The name for a fault: a line of prose is none. */
function shownName(file: Named | undefined): string | undefined {
  return file?.guess === undefined ? file?.filePath : (file.guess.otherwise ?? undefined)
}

function directiveOf(parts: readonly string[], file: Named | undefined): Directive {
  const content = `${parts.join('\n')}\n`
  if (file === undefined) return noFileNamed()
  const mark = foreignMarkIn(content, 'search')
  return mark === undefined
    ? { kind: 'SearchReplace', ...file, content }
    : mixedFault('a search and replace block', mark, shownName(file))
}

/** A block with exact marker lines; a directive of the kind Fail if it has no end. */
export function readBlock(lines: AnswerLines): string | Directive {
  const start = lines.at
  const isMark = (key: string, mark: RegExp) => (from: number) =>
    lines.next(key, from, (index) => mark.test(lines.all[index] ?? ''))
  const divider = isMark('divider', dividerMark)(start + 1)
  const end = divider === undefined ? undefined : isMark('replace', replaceMark)(divider + 1)
  const next = isMark('search', searchMark)(start + 1) ?? lines.all.length
  if (divider === undefined || end === undefined || end > next) {
    const isDivided = divider !== undefined && divider < next
    lines.goTo(isDivided ? divider + 1 : start + 1)
    const lacking = isDivided ? '>>>>>>> REPLACE' : '======='
    return failDirective('malformed', `a search and replace block has no line ${lacking}`)
  }
  lines.goTo(end + 1)
  const written = lines.all.slice(start + 1, end).map((line) => line.replace(/\n$/, ''))
  const isOnly = written.filter((line) => dividerMark.test(line)).length === 1
  return undividedText(written.map((line) => (isOnly && dividerMark.test(line) ? '=======' : line)))
}
