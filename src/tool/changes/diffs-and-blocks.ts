import { posix } from 'node:path'
import type { AnswerLines } from './answer-lines.ts'
import { type ContentDirective, type Directive, failDirective, noFileNamed } from './directive.ts'
import { dividerMark, foreignMarkIn, hasText, mixedFault, readFence, replaceMark, searchMark } from './syntax.ts'
import type { ChangePiece, Piece } from './pieces.ts'
import { undividedText } from './search-replace.ts'
import { type Hunk, parseHunks } from './hunk.ts'

// Changes that answers write in other forms than directives: unified diffs in fences, and search and replace blocks.

const diffLanguages = /^(?:diff|patch|udiff|unified-diff|git-diff)\b/i
const oldHeader = /^--- (\S.*)$/
const newHeader = /^\+\+\+ (\S.*)$/
const hunkHeader = /^@@/

/**
 * Reads the unified diff in the fence on the line, for one file or several, in the format of git or `diff -u`. A diff
 * without names belongs to the file that the line above the fence names. False if the fence contains none.
 */
export function readUnifiedDiff(lines: AnswerLines, written: Piece[], { text }: { readonly text: string }): boolean {
  const fence = readFence(lines.line)
  // in a diff, each line of a file is prefixed with a mark, so the first bare fence is the end
  const end = fence === undefined || /^\s/.test(lines.line) ? undefined : lines.bareFence(lines.at + 1, fence.marks)
  if (fence === undefined || end === undefined) return false
  const content = lines.all.slice(lines.at + 1, end).map((line) => line.replace(/\r?\n$/, ''))
  const files = filesOf(content)
  const isNamed = files.length > 0 && files.every(({ newPath }) => newPath !== '')
  if (!isNamed && !(diffLanguages.test(fence.info) && content.some((line) => hunkHeader.test(line)))) return false
  const name = isNamed ? undefined : takeNameAbove(written, lines)
  if (!isNamed && name === undefined) return false
  const start = lines.position
  lines.goTo(end + 1)
  const directives =
    name === undefined
      ? files.flatMap(directivesOf)
      : [
          patchOf(
            content.filter((line) => hasText(line)),
            name,
          ),
        ]
  written.push({ kind: 'change', text: text.slice(start, lines.position), directives, form: 'diff' })
  return true
}

/** The part of a diff about one file. */
interface FileDiff {
  /** As in the headers; `/dev/null` for none. */
  readonly oldPath: string
  readonly newPath: string
  readonly kind: 'edit' | 'rename' | 'copy'
  readonly hunks: readonly string[]
}

function filesOf(content: readonly string[]): readonly FileDiff[] {
  const files: { -readonly [Key in keyof FileDiff]: Key extends 'hunks' ? string[] : FileDiff[Key] }[] = []
  let current: (typeof files)[number] | undefined
  let isInHunks = false
  const begin = (oldPath: string, newPath: string): NonNullable<typeof current> => {
    const file: (typeof files)[number] = { oldPath, newPath, kind: 'edit', hunks: [] }
    files.push(file)
    isInHunks = false
    return file
  }
  for (let index = 0; index < content.length; index += 1) {
    const line = content[index] ?? ''
    const git = /^diff --git (?:"?a\/([^]+?)"?) (?:"?b\/([^]+?)"?)$/.exec(line)
    const [, oldName] = oldHeader.exec(line) ?? []
    const [, newName] = newHeader.exec(content[index + 1] ?? '') ?? []
    if (git !== null) {
      current = begin(git[1] ?? '', git[2] ?? '')
    } else if (
      oldName !== undefined &&
      newName !== undefined &&
      (!isInHunks || hunkHeader.test(content[index + 2] ?? ''))
    ) {
      if (current === undefined || isInHunks || current.hunks.length > 0) current = begin('', '')
      ;[current.oldPath, current.newPath] = namesOf(oldName, newName)
      index += 1
    } else if (current === undefined) {
      if (hasText(line)) return []
    } else if (hunkHeader.test(line) || isInHunks || /^[+-]/.test(line)) {
      isInHunks = true
      current.hunks.push(line)
    } else {
      readExtendedHeader(line, current)
    }
  }
  return files
}

function readExtendedHeader(line: string, file: { oldPath: string; newPath: string; kind: FileDiff['kind'] }): void {
  const [, kind, side, path = ''] = /^(rename|copy) (from|to) (.+)$/.exec(line) ?? []
  if (kind === 'rename' || kind === 'copy') file.kind = kind
  if (side === 'from') file.oldPath = path
  if (side === 'to') file.newPath = path
  if (line.startsWith('deleted file mode')) file.newPath = none
  if (line.startsWith('new file mode')) file.oldPath = none
}

const none = '/dev/null'

/** A name may be followed by a date; the prefixes `a/` and `b/` are git's. */
function namesOf(oldName: string, newName: string): readonly [string, string] {
  const [before = '', behind = ''] = [oldName, newName].map((name) =>
    (name.split('\t')[0] ?? '').trim().replace(/^"(.*)"$/, '$1'),
  )
  const isGit = (before.startsWith('a/') || before === none) && (behind.startsWith('b/') || behind === none)
  const plain = (name: string): string => (isGit && name !== none ? name.slice(2) : name)
  return [plain(before), plain(behind)]
}

function directivesOf({ oldPath, newPath, kind, hunks }: FileDiff): readonly Directive[] {
  if (newPath === none) return [{ kind: 'Delete', filePath: oldPath }]
  if (oldPath === none) return [creation(newPath, hunks)]
  const moved: readonly Directive[] =
    kind === 'edit' ? [] : [{ kind: kind === 'copy' ? 'Copy' : 'Rename', fromPath: oldPath, filePath: newPath }]
  if (hunks.length === 0 && moved.length > 0) return moved
  return [...moved, patchOf(hunks, newPath)]
}

function creation(filePath: string, hunks: readonly string[]): Directive {
  const added = hunks.filter((line) => line.startsWith('+')).map((line) => line.slice(1))
  const isOpen = hunks.some((line) => line.startsWith('\\ No newline'))
  return { kind: 'New', filePath, content: added.join('\n') + (isOpen || added.length === 0 ? '' : '\n') }
}

function patchOf(hunks: readonly string[], filePath: string): Directive {
  const content = hunks.map((line) => `${line}\n`).join('')
  const mark = foreignMarkIn(content, '<') ?? foreignMarkIn(content, '[[[')
  if (mark !== undefined) return mixedFault('a unified diff', mark, filePath)
  if (hunks.length === 0) return failDirective('malformed', 'the diff of the file contains no hunk', { filePath })
  return { kind: 'Patch', filePath, content }
}

type Patch = ContentDirective & { readonly kind: 'Patch' }

/**
 * Merges fenced diffs of the same file, with no other change of it in between, into one patch at the position of the
 * first, if the result is unambiguous: no hunk of one concerns lines of another. All other diffs stay unchanged.
 */
export function withJoinedDiffs(pieces: readonly Piece[]): readonly Piece[] {
  const joins = groupsOf(pieces).filter((group) => group.length > 1 && isClear(group))
  if (joins.length === 0) return pieces
  const replaced = new Map<Directive, readonly Directive[]>()
  for (const group of joins) {
    const [first] = group
    const content = group.map((patch) => patch.content).join('')
    for (const patch of group) replaced.set(patch, patch === first ? [{ ...first, content }] : [])
  }
  return pieces.map((piece) =>
    piece.kind === 'change'
      ? { ...piece, directives: piece.directives.flatMap((directive) => replaced.get(directive) ?? [directive]) }
      : piece,
  )
}

/** The patches that could be merged, by file. */
function groupsOf(pieces: readonly Piece[]): readonly (readonly Patch[])[] {
  const groups: Patch[][] = []
  let open = new Map<string, Patch[]>()
  for (const piece of pieces.filter((one): one is ChangePiece => one.kind === 'change')) {
    for (const directive of piece.directives) {
      const path = posix.normalize(directive.filePath)
      if (piece.form !== 'diff' || !isPatch(directive)) {
        // moves and deletions may affect more than their own path
        if ('content' in directive) open.delete(path)
        else open = new Map()
        continue
      }
      const group = open.get(path)
      if (group !== undefined) group.push(directive)
      else {
        const begun = [directive]
        open.set(path, begun)
        groups.push(begun)
      }
    }
  }
  return groups
}

function isPatch(directive: Directive): directive is Patch {
  return directive.kind === 'Patch'
}

/**
 * Whether no two patches concern the same lines: by line numbers if all hunks have them, or else by the texts of the
 * lines.
 */
function isClear(group: readonly Patch[]): boolean {
  // lines before the first header would belong to the previous hunk
  if (!group.every(({ content }) => content.startsWith('@@'))) return false
  const diffs = group.map(({ content }) => parseHunks(content))
  const hunks = diffs.flat()
  const texts = hunks.map(({ lines }) => JSON.stringify(lines))
  if (new Set(texts).size < texts.length) return false
  return hunks.every(({ hint }) => hint.number !== undefined) ? areApart(hunks) : haveOwnLines(diffs)
}

function areApart(hunks: readonly Hunk[]): boolean {
  const ranges = hunks.map(({ hint: { number = 0 }, lines }) => {
    const old = lines.filter(({ kind }) => kind === 'context' || kind === 'remove').length
    return { start: number, end: number + Math.max(old, 1) }
  })
  const sorted = ranges.toSorted((a, b) => a.start - b.start)
  return sorted.every(({ start }, index) => start >= (sorted[index - 1]?.end ?? 0))
}

function haveOwnLines(diffs: readonly (readonly Hunk[])[]): boolean {
  const before = new Set<string>()
  return diffs.every((hunks) => {
    const lines = hunks.flatMap((hunk) => hunk.lines).filter((line) => line.kind !== 'gap' && hasText(line.text))
    const texts = lines.map((line) => ('text' in line ? line.text.trim() : ''))
    const isApart = texts.every((text) => !before.has(text))
    for (const text of texts) before.add(text)
    return isApart
  })
}

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

/** Names of files without a folder or an extension. */
const bareNames = /^(?:Makefile|Dockerfile|LICENSE|README|CHANGELOG|Gemfile|Rakefile|Procfile|Justfile|Vagrantfile)$/
const pathCharacters = /^[^\s<>|"'`*?:]+$/

/**
 * The file name that makes up a whole line: `a/b.ts`, `**a/b.ts**`, `### a/b.ts:`, `File: a/b.ts`. Names with spaces need
 * to be marked as names.
 */
function fileNameIn(line: string): string | undefined {
  const text = withoutBullet(line)
  const plain = text.replace(/^\**(?:File(?:name)?|Path)\**:\**\s*/i, '')
  const marked = /^(?:\*\*`?|`)([^`*]+?)(?:`?\*\*|`):?$/.exec(plain.replace(/:(\**)$/, '$1'))?.[1]
  const name = (marked ?? plain).replace(/:$/, '').trim()
  const isMarked = marked !== undefined || plain !== text
  return isPath(name) || bareNames.test(name) || (isMarked && /\w\.\w+$/.test(name)) ? name : undefined
}

function withoutBullet(line: string): string {
  return line.trim().replace(/^(?:#+|[-*]|\/\/|\d+\.)\s+/, '')
}

/** Longer lines are prose. */
const mostCharacters = 500

/** What a line of several words would name if it were the path of a file: only the files can tell. */
function spacedNameIn(line: string): string | undefined {
  const name = withoutBullet(line)
    .replace(/^(`|\*\*)(.*)\1(:?)$/, '$2$3')
    .replace(/:$/, '')
    .trim()
  return name.length <= mostCharacters && /\s/.test(name) ? name : undefined
}

/** Whether a text has the characters of a path, with a folder or an extension. */
function isPath(text: string): boolean {
  return pathCharacters.test(text) && !text.endsWith('.') && /[./]/.test(text.slice(0, -1))
}

/** The file that a fence line names after its language: `ts src/a.ts`, `ts:src/a.ts`, `src/a.ts`. */
function fileNameOfFence(line: string): string | undefined {
  const words = readFence(line)?.info.split(/[\s:]+/) ?? []
  const last = words.at(-1)?.replace(/^(?:file|path|title|filename)=["']?|["']$/g, '')
  return last === undefined || (last === words[0] && !last.includes('/')) ? undefined : fileNameIn(last)
}

/**
 * Removes from the text above the file name that it ends with, and returns it: the last line with text, if that is
 * nothing but a name.
 */
function takeNameAbove(written: Piece[], lines: AnswerLines): string | undefined {
  const { at, text = '' } = lineAbove(written, lines)
  const name = fileNameIn(text)
  if (name !== undefined) written.splice(at)
  return name
}

/** The last line with text above, and its index; no text if there is a change in between. */
function lineAbove(written: readonly Piece[], lines: AnswerLines): { readonly at: number; readonly text?: string } {
  const at = written.findLastIndex(({ kind, text }) => kind === 'change' || hasText(text))
  const above = written[at]
  return above?.kind !== 'text' || lines.at === 0 ? { at } : { at, text: above.text }
}
