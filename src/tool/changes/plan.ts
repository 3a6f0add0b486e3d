import { dirname, resolve } from 'node:path'
import { BatonError, isBatonError } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { notAFile } from '../workspace-reads.ts'
import type { ContentDirective, DeleteDirective, Directive, HunkFailure, TransferDirective } from './directive.ts'
import { mainEnd } from './document.ts'
import { type Hunk, parseHunks } from './hunk.ts'
import { applyHunks, applyPatch } from './patch.ts'
import type { Tolerance } from './place.ts'
import { type Block, blockText, readBlocks, searchedText } from './search-replace.ts'
import { type ChangeAction, type ChangeSpace, type Files, filesAfter } from './space.ts'

/** What became of one directive. */
export interface ChangeItem {
  /** Relative to the base folder where it lies below, else as it was written; for copies and renames the new path. */
  readonly filePath: string
  /** Fail: the directive cannot be read, or its path leaves the folder that changes are allowed in. */
  readonly kind: Directive['kind']
  readonly isSuccess: boolean
  /** Of copies and renames: where the file comes from. */
  readonly fromPath?: string
  /** There was a file, whose whole content is another now. */
  readonly isReplaced?: true
  readonly error?: string
  /** Hunks of a patch that failed; the file still has the others. */
  readonly failedHunks?: readonly HunkFailure[]
}

/** A directive worked out: how it will be reported and what is to be done. Without an action nothing is. */
export interface ChangeStep {
  readonly item: ChangeItem
  readonly action?: ChangeAction
  /** The files are as the directive wants them already. The item calls that a failure, as packs expect. */
  readonly isUnchanged?: true
  /** What a person should look at although it is done. */
  readonly doubts?: readonly string[]
}

/**
 * Works out all directives, each against the files as the ones before it will have left them, and touches nothing. A
 * caller that wants all or nothing looks at the items first, then carries out the actions in order.
 */
export function planChanges(directives: readonly Directive[], space: ChangeSpace): readonly ChangeStep[] {
  let files: Files = space.files
  return directives.map((directive) => {
    const planned = planStep(directive, { ...space, files })
    const problem = planned.action === undefined ? undefined : space.judge?.(planned.action, files)
    const step = problem === undefined ? planned : { item: { ...planned.item, isSuccess: false, error: problem } }
    if (step.action !== undefined) files = filesAfter(files, step.action)
    return step
  })
}

/** Says what a person should look at of a change that was carried out. */
export function warnOf({ item, doubts = [] }: ChangeStep, context: RunContext, baseDir: string): void {
  const shown = displayPath(context.scope.folders.workspace, resolve(baseDir, item.filePath))
  for (const doubt of doubts) emit(context, { type: 'warning', message: `${shown}: ${doubt}` })
}

/** Works out one directive. What the files do not allow becomes a failed item. */
export function planStep(directive: Directive, space: ChangeSpace): ChangeStep {
  try {
    switch (directive.kind) {
      case 'New':
      case 'Patch':
      case 'Append':
      case 'AppendLines':
      case 'SearchReplace':
        return contentStep(directive, space)
      case 'Copy':
      case 'Rename':
        return transferStep(directive, space)
      case 'Delete':
        return deleteStep(directive, space)
      case 'Fail':
        return { item: failedItem(directive, directive.reason, directive.hunks) }
    }
  } catch (error) {
    return { item: errorItem(directive, error) }
  }
}

/** Files that cannot be used so, and search and replace blocks that cannot be read. */
const failureCodes: ReadonlySet<string> = new Set(['FILE_FAILED', 'OUTSIDE_WORKSPACE', 'SCRIPT_FAILED'])

/** The item of a directive that an error kept from being carried out; all other errors are passed on. */
export function errorItem(directive: Directive, error: unknown): ChangeItem {
  if (!isBatonError(error) || !failureCodes.has(error.code)) throw error
  return { ...named(directive), kind: directive.kind, isSuccess: false, error: error.message }
}

const sameContent = 'the file holds exactly this content already'

function contentStep(directive: ContentDirective, { files, resolve, tolerance }: ChangeSpace): ChangeStep {
  const path = resolve(directive.filePath, 'write')
  refuseBelowFile(directive.filePath, path, files)
  const kind = files.kindAt(path)
  if (kind !== undefined && kind !== 'file') throw notAFile(directive.filePath, kind)
  const present = kind === undefined ? undefined : files.textAt(path)
  const plan = planChange(directive, present, tolerance)
  if (plan.kind === 'same') return { item: failedItem(directive, sameContent, []), isUnchanged: true }
  if (plan.kind === 'refused') return { item: failedItem(directive, plan.reason, plan.failures) }

  const { content, failures, hunkCount } = plan
  const doubts = plan.doubts.length === 0 ? {} : { doubts: plan.doubts }
  const whole = directive.kind === 'New' && present !== undefined ? ({ isReplaced: true } as const) : {}
  const item =
    failures.length > 0
      ? failedItem(directive, failureText(failures, hunkCount), failures)
      : { ...done(directive), ...whole }
  if (directive.kind !== 'Append' && directive.kind !== 'AppendLines') {
    return { item, action: { op: 'write', path, content }, ...doubts }
  }
  return { item, action: { op: 'append', path, content, added: content.slice(present?.length ?? 0) } }
}

function transferStep(directive: TransferDirective, { files, resolve }: ChangeSpace): ChangeStep {
  const isCopy = directive.kind === 'Copy'
  const from = resolve(directive.fromPath, isCopy ? 'read' : 'delete')
  const path = resolve(directive.filePath, 'write')
  const kind = files.kindAt(from)
  if (kind === undefined) throw new BatonError('FILE_FAILED', `there is no file ${directive.fromPath}`)
  if (isCopy && kind !== 'file') throw notAFile(directive.fromPath, kind)
  refuseBelowFile(directive.filePath, path, files)
  if (from === path) throw new BatonError('FILE_FAILED', `from_path and to_path are both ${directive.filePath}`)
  const there = files.kindAt(path)
  if (there !== undefined && (there !== 'file' || kind !== 'file')) {
    throw new BatonError('FILE_FAILED', `${directive.filePath} exists already`)
  }
  const item = { ...done(directive), ...(there === undefined ? {} : ({ isReplaced: true } as const)) }
  return { item, action: { op: isCopy ? 'copy' : 'move', from, path } }
}

function deleteStep(directive: DeleteDirective, { files, resolve }: ChangeSpace): ChangeStep {
  const path = resolve(directive.filePath, 'delete')
  if (files.kindAt(path) === undefined) {
    throw new BatonError('FILE_FAILED', `there is no file ${directive.filePath} to delete`)
  }
  return { item: done(directive), action: { op: 'delete', path } }
}

/** Nothing can be written below a file. `named` is the path as the directive has it. */
function refuseBelowFile(named: string, path: string, files: Files): void {
  let folder = dirname(path)
  while (files.kindAt(folder) === undefined && folder !== dirname(folder)) folder = dirname(folder)
  if (files.kindAt(folder) === 'folder') return
  throw new BatonError('FILE_FAILED', `${named} cannot be written, because a part of its path is a file`)
}

function done(directive: Directive): ChangeItem {
  return { ...named(directive), isSuccess: true }
}

function named(directive: Directive): Pick<ChangeItem, 'filePath' | 'kind' | 'fromPath'> {
  const { filePath, kind } = directive
  return { filePath, kind, ...('fromPath' in directive ? { fromPath: directive.fromPath } : {}) }
}

function failedItem(directive: Directive, error: string, hunks: readonly HunkFailure[]): ChangeItem {
  const failure = { ...named(directive), isSuccess: false, error }
  return hunks.length === 0 ? failure : { ...failure, failedHunks: hunks }
}

/** What a change makes of the text of a file. */
type ContentPlan =
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
 * would leave the file as it is, is refused. A file with `\r\n` or a byte order mark keeps it whatever the change
 * is written with.
 */
export function planChange(
  directive: ContentDirective,
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
  const { content: patched, hunkCount, failures, doubts } = applyPatch(content, directive.content, tolerance)
  if (hunkCount === 0) return refused('the patch holds no hunk: hunks begin with a line @@')
  if (failures.length === hunkCount) return refused(failureText(failures, hunkCount), failures)
  if (patched === content) return refused('the patch leaves the file as it is', failures)
  return { kind: 'changed', content: patched, failures, hunkCount, doubts }
}

/** What hunks that only add lines make of a file that is missing. */
function addedLines(hunks: readonly Hunk[]): string | undefined {
  const lines = hunks.flatMap((hunk) => hunk.lines)
  const added = lines.flatMap((line) => (line.kind === 'add' ? [`${line.text}\n`] : []))
  if (lines.length === 0 || added.length < lines.length) return undefined
  return added.join('').slice(0, hunks.at(-1)?.finalNewline === false ? -1 : undefined)
}

/**
 * A file that is missing counts as empty, as in `aip.file.save_changes`: a block without a search text creates it. What is
 * searched are whole lines: the first place where they stand in the file as the block before has left it.
 */
function planBlocks(directive: ContentDirective, content: string | undefined): ContentPlan {
  const mark = markOf(content)
  const present = (content ?? '').slice(mark.length)
  const blocks = readBlocks(directive.content)
  const replaced = applyHunks(present, blocks.map(hunkOf), { tolerance: 'none', order: 'first' })
  const failed = replaced.failures.map(({ body }, index) => ({ body, cause: blockCause(body, index, present) }))
  const count = blocks.length
  if (content === undefined && failed.length === count) {
    return refused(`there is no file ${directive.filePath} to change`, failed)
  }
  if (failed.length === count) return refused(failureText(failed, count), failed)
  if (replaced.content === present && content !== undefined)
    return refused('the blocks leave the file as it is', failed)
  return { kind: 'changed', content: mark + replaced.content, failures: failed, hunkCount: count, doubts: [] }
}

function hunkOf({ search, replace }: Block): Hunk {
  const linesOf = (text: string, kind: 'remove' | 'add'): Hunk['lines'] =>
    text === '' ? [] : text.split('\n').map((line) => ({ kind, text: line.replace(/\r$/, '') }))
  const lines = [...linesOf(search, 'remove'), ...linesOf(replace, 'add')]
  return { body: blockText(search, replace), lines, hint: {}, isAtStart: true }
}

/** Blocks of which it is said whether their text stands inside of lines. */
const mostCauses = 20

function blockCause(body: string, index: number, content: string): string {
  const isPart = index < mostCauses && content.includes(searchedText(body))
  return isPart
    ? 'Search block found only inside of lines: it must hold whole lines'
    : 'Search block not found in content'
}

/** What is said of a patch, or of search and replace blocks, of which some failed. */
function failureText(failures: readonly HunkFailure[], hunkCount: number): string {
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
