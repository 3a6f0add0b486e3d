import type { ContentDirective, HunkFailure, ReplaceDirective } from './directive.ts'
import { mainEnd } from './lines.ts'
import { type Block, blockText, divide, readBlocks, searchedText, undividedText } from './search-replace.ts'
import { dividerMark } from './syntax.ts'
import { type Hunk, parseHunks } from './hunk.ts'
import { applyBlocks, applyPatch, linesText, type PatchResult, type WrittenBlock } from './patch.ts'
import { notInFile, type Tolerance } from './match-lines.ts'
import { type ReplacedLines, replaceText } from './edits.ts'

/** The effect of a change on the text of a file. */
export type ContentPlan =
  | {
      readonly kind: 'changed'
      readonly content: string
      /** Hunks that could not be placed; the others are in `content`. */
      readonly failures: readonly HunkFailure[]
      readonly hunkCount: number
      readonly doubts: readonly string[]
      /** The places of replaced text, as lines of the new text. */
      readonly places?: readonly ReplacedLines[]
      /** The total number of such places; `places` has only the first ones. */
      readonly placeCount?: number
    }
  /** The file already has this content. */
  | { readonly kind: 'same' }
  | { readonly kind: 'refused'; readonly reason: string; readonly failures: readonly HunkFailure[] }

/**
 * Computes the new text of a file; `content` is its present text, undefined if it does not exist. A patch that would
 * not change the file is refused. A file with `\r\n` or a byte order mark keeps it, whatever the change is written
 * with.
 */
export function planChange(
  directive: ContentDirective | ReplaceDirective,
  content: string | undefined,
  tolerance: Tolerance = 'letters',
): ContentPlan {
  switch (directive.kind) {
    case 'New': {
      const created = withMarkOf(content, withEndsOf(content, directive.content))
      return created === content ? { kind: 'same' } : changed(created)
    }
    case 'Append':
    case 'AppendLines': {
      if (directive.content === '') return refused('there is no content to append')
      const isOpen = directive.kind === 'AppendLines' && content !== undefined && !/(?:^|\n)$/.test(content.slice(-1))
      return changed((content ?? '') + withEndsOf(content, (isOpen ? '\n' : '') + directive.content))
    }
    case 'Patch':
      return planPatch(directive, content, tolerance)
    case 'SearchReplace':
      return planBlocks(directive, content)
    case 'Replace':
      return planReplacement(directive, content)
  }
}

/** An empty search creates a file, or fills an empty one. */
function planReplacement(
  { filePath, search, content, all }: ReplaceDirective,
  present: string | undefined,
): ContentPlan {
  if (search === '') {
    if (present === undefined || present === '') return changed(content)
    return refused(`${filePath} is not empty: give the text to replace, or write the whole file`)
  }
  if (present === undefined) return refused(`there is no file ${filePath}`)
  const result = replaceText(present, { search, replace: content, all })
  switch (result.kind) {
    case 'replaced':
      return { ...changed(result.content), places: result.places, placeCount: result.count }
    case 'same':
      return refused('the new text is the same as the old one: there is nothing to change')
    case 'missing': {
      const cause = `the text to replace is not in ${filePath}`
      return refused(cause, [{ body: blockText(search, content), cause }])
    }
    case 'several':
      return refused(
        `the text to replace occurs ${result.lines.length} times in ${filePath}, at ${linesText(result.lines)}: include surrounding lines to make it unique, or set all`,
      )
  }
}

function planPatch(directive: ContentDirective, content: string | undefined, tolerance: Tolerance): ContentPlan {
  if (content === undefined) {
    const hunks = parseHunks(directive.content)
    const created = addedLines(hunks)
    if (created !== undefined) return changed(created)
    const cause = `there is no file ${directive.filePath} to patch`
    return refused(
      cause,
      hunks.map(({ body }) => ({ body, cause })),
    )
  }
  const patched = applyPatch(content, directive.content, tolerance)
  if (patched.hunkCount === 0) return refused('the patch contains no hunk: hunks begin with an @@ line')
  return planned(patched, patched.content === content ? 'the patch leaves the file as it is' : undefined)
}

/** `same`: the reason if nothing changes. */
function planned(patched: PatchResult, same: string | undefined): ContentPlan {
  const { hunkCount, failures } = patched
  if (failures.length === hunkCount) return refused(failureText(failures, hunkCount), failures)
  return same === undefined ? { kind: 'changed', ...patched } : refused(same, failures)
}

/** The content that hunks with only added lines give a missing file. */
function addedLines(hunks: readonly Hunk[]): string | undefined {
  const lines = hunks.flatMap((hunk) => hunk.lines)
  const added = lines.flatMap((line) => (line.kind === 'add' ? [`${line.text}\n`] : []))
  if (lines.length === 0 || added.length < lines.length) return undefined
  return added.join('').slice(0, hunks.at(-1)?.finalNewline === false ? -1 : undefined)
}

/**
 * A missing file counts as empty, as in `aip.file.save_changes`: a block without a search text creates it. The search
 * text is matched as whole lines in the file as the previous block has left it, and must fit in one place only.
 */
function planBlocks(directive: ContentDirective, content: string | undefined): ContentPlan {
  const mark = markOf(content)
  const present = (content ?? '').slice(mark.length)
  const blocks = readBlocks(directive.content, isDivider).map(({ lines }) => writtenBlock(lines))
  const replaced = applyBlocks(present, blocks)
  const failures = replaced.failures.map(({ body, cause }, index) => ({
    body,
    cause: cause === notInFile ? blockCause(body, index, present) : cause,
  }))
  if (content === undefined && failures.length === blocks.length) {
    return refused(`there is no file ${directive.filePath} to change`, failures)
  }
  const isSame = replaced.content === present && content !== undefined
  const changed = { ...replaced, content: mark + replaced.content, failures }
  return planned(changed, isSame ? 'the blocks leave the file as it is' : undefined)
}

const isDivider = (line: string): boolean => dividerMark.test(line)

function writtenBlock(written: readonly string[]): WrittenBlock {
  const dividers = written.filter(isDivider).length
  return {
    body: undividedText(written),
    readIn(lines, effort) {
      if (dividers > 1) effort.scanned -= dividers * lines.length
      if (effort.scanned < 0) return { cause: 'too many blocks have several lines =======: send fewer at once' }
      const block = divide(written, { isDivider, present: () => lines.map(({ text }) => text) })
      return 'cause' in block ? block : hunkOf(block)
    },
  }
}

function hunkOf({ search, replace }: Block): Hunk {
  const linesOf = (text: string, kind: 'remove' | 'add'): Hunk['lines'] =>
    text === '' ? [] : text.split('\n').map((line) => ({ kind, text: line.replace(/\r$/, '') }))
  const lines = [...linesOf(search, 'remove'), ...linesOf(replace, 'add')]
  return { body: blockText(search, replace), lines, hint: {}, isAtStart: true }
}

/** Maximum number of blocks for which it is checked whether their text occurs inside of lines. */
const mostCauses = 20

function blockCause(body: string, index: number, content: string): string {
  const isPart = index < mostCauses && content.includes(searchedText(body))
  return isPart
    ? 'Search block found only inside lines: it must contain whole lines'
    : 'Search block not found in content'
}

/** The error for a patch, or for search and replace blocks, with failures. */
export function failureText(failures: readonly HunkFailure[], hunkCount: number): string {
  return `${failures.length} of ${hunkCount} hunks failed: ${failures[0]?.cause ?? ''}`
}

function changed(content: string): Extract<ContentPlan, { readonly kind: 'changed' }> {
  return { kind: 'changed', content, failures: [], hunkCount: 0, doubts: [] }
}

function refused(reason: string, failures: readonly HunkFailure[] = []): ContentPlan {
  return { kind: 'refused', reason, failures }
}

function markOf(content: string | undefined): string {
  return content?.startsWith('\uFEFF') === true ? '\uFEFF' : ''
}

function withMarkOf(existing: string | undefined, content: string): string {
  return content.startsWith('\uFEFF') ? content : markOf(existing) + content
}

function withEndsOf(existing: string | undefined, content: string): string {
  if (existing === undefined || mainEnd(existing) === '\n') return content
  return content.replaceAll(/\r?\n/g, '\r\n')
}
