import type { AnswerLines } from './answer-lines.ts'
import { type Directive, failDirective } from './directive.ts'
import { hasText, readFence } from './fence.ts'
import { takeNameAbove } from './file-name.ts'
import { foreignMarkIn, mixedFault } from './foreign-marks.ts'
import type { Piece } from './pieces.ts'

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
