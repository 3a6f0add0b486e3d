import type { ContentDirective, HunkFailure } from './directive.ts'
import { mainEnd } from './document.ts'
import { parseHunks } from './hunk.ts'
import { applyPatch } from './patch.ts'
import { applySearchReplace, blockText } from './search-replace.ts'

/** What a change makes of the text of a file. */
export type ContentPlan =
  | {
      readonly kind: 'changed'
      readonly content: string
      /** Hunks that did not find their place; the others are in `content`. */
      readonly failures: readonly HunkFailure[]
      readonly hunkCount: number
      readonly doubts: readonly string[]
    }
  /** The file holds this content already. */
  | { readonly kind: 'same' }
  | { readonly kind: 'refused'; readonly reason: string; readonly failures: readonly HunkFailure[] }

/**
 * Works out the new text of a file; `content` is what it holds now, undefined when there is no such file. A patch that
 * would leave the file as it is, is refused (P-D8). A file with `\r\n` or a byte order mark keeps it whatever the change
 * is written with.
 */
export function planChange(directive: ContentDirective, content: string | undefined): ContentPlan {
  switch (directive.kind) {
    case 'New': {
      const created = withMarkOf(content, withEndsOf(content, directive.content))
      return created === content ? { kind: 'same' } : changed(created)
    }
    case 'Append':
      if (directive.content === '') return refused('there is no content to append')
      return changed((content ?? '') + withEndsOf(content, directive.content))
    case 'Patch':
      return planPatch(directive, content)
    case 'SearchReplace':
      return planBlocks(directive, content)
  }
}

function planPatch(directive: ContentDirective, content: string | undefined): ContentPlan {
  if (content === undefined) {
    const cause = `there is no file ${directive.filePath} to patch`
    const hunks = parseHunks(directive.content)
    return refused(
      cause,
      hunks.map(({ body }) => ({ body, cause })),
    )
  }
  const { content: patched, hunkCount, failures, doubts } = applyPatch(content, directive.content)
  if (hunkCount === 0) return refused('the patch holds no hunk: hunks begin with a line @@')
  if (failures.length === hunkCount) return refused(failureText(failures, hunkCount), failures)
  if (patched === content) return refused('the patch leaves the file as it is', failures)
  return { kind: 'changed', content: patched, failures, hunkCount, doubts }
}

/** A file that is missing counts as empty, as in `aip.file.save_changes`: a block without a search text creates it. */
function planBlocks(directive: ContentDirective, content: string | undefined): ContentPlan {
  const mark = markOf(content)
  const present = (content ?? '').slice(mark.length)
  const replaced = applySearchReplace(present, directive.content, { unit: 'line' })
  const { content: changedText, changedCount, failures } = replaced
  const failed = failures.map(({ search, replace, reason }) => ({ body: blockText(search, replace), cause: reason }))
  if (content === undefined && changedCount === 0) {
    return refused(`there is no file ${directive.filePath} to change`, failed)
  }
  const hunkCount = changedCount + failed.length
  if (changedCount === 0) return refused(failureText(failed, hunkCount), failed)
  if (changedText === present && content !== undefined) return refused('the blocks leave the file as it is', failed)
  return { kind: 'changed', content: mark + changedText, failures: failed, hunkCount, doubts: [] }
}

/** What is said of a patch, or of search and replace blocks, of which some failed. */
export function failureText(failures: readonly HunkFailure[], hunkCount: number): string {
  return `${failures.length} of ${hunkCount} hunks failed: ${failures[0]?.cause ?? ''}`
}

function changed(content: string): ContentPlan {
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
