import { dirname, resolve } from 'node:path'
import { BatonError, isBatonError } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { defined } from '../../base/json.ts'
import { sizeText } from '../../base/size.ts'
import { type ContextWith, emit, type Events } from '../../event/context.ts'
import { notAFile } from '../workspace-reads.ts'
import {
  type ContentDirective,
  type DeleteDirective,
  type Directive,
  type HunkFailure,
  relativeTo,
  type ReplaceDirective,
  type TransferDirective,
} from './directive.ts'
import { failureText } from './plan-content.ts'
import type { ReplacedLines } from './edits.ts'
import {
  bytesWritten,
  type ChangeAction,
  type ChangeSpace,
  diskSpace,
  type Files,
  filesAfter,
  performStep,
  whileUnchanged,
} from './change-space.ts'
import type { TextThread } from './text-thread.ts'
import type { FileChange } from '../../event/event.ts'
import { item, part } from '../../event/place.ts'
import type { FileCall } from '../workspace-files.ts'

/** The outcome of one directive. */
export interface ChangeItem {
  /** Relative to the base folder if it is below it, else as written; for copies and renames the new path. */
  readonly filePath: string
  /** Fail: the directive cannot be read, or its path leaves the folder in which changes are allowed. */
  readonly kind: Directive['kind']
  readonly isSuccess: boolean
  /** For copies and renames: the source path. */
  readonly fromPath?: string
  /** A file existed, and its whole content was replaced. */
  readonly isReplaced?: true
  readonly error?: string
  /** Hunks of a patch that failed; the file still gets the others. */
  readonly failedHunks?: readonly HunkFailure[]
}

/** A planned directive: its report, and its action. Without an action nothing is done. */
export interface ChangeStep {
  readonly item: ChangeItem
  readonly action?: ChangeAction
  /** The files already are as the directive requests. The item reports that as a failure, as packs expect. */
  readonly isUnchanged?: true
  /** Warnings for the user, although the step succeeds. */
  readonly doubts?: readonly string[]
  /** For a text replacement: where the new text is. */
  readonly places?: readonly ReplacedLines[]
  /** The total number of such places; `places` has only the first ones. */
  readonly placeCount?: number
}

/**
 * Plans all directives, each against the files as the ones before it will have left them, without changing any. A
 * caller that wants all or nothing checks the items first, then performs the actions in order.
 */
export async function planChanges(
  directives: readonly Directive[],
  space: ChangeSpace,
  thread: TextThread,
): Promise<readonly ChangeStep[]> {
  let files: Files = space.files
  let written = 0
  const steps: ChangeStep[] = []
  for (const directive of directives) {
    await thread.pause()
    const planned = await planStep(directive, { ...space, files }, thread)
    const bytes = planned.action === undefined ? 0 : bytesWritten(planned.action, files)
    const problem = planned.action && (space.judge?.(planned.action, files) ?? tooMuch(written + bytes, space))
    const step = problem === undefined ? planned : { item: { ...planned.item, isSuccess: false, error: problem } }
    if (step.action !== undefined) {
      files = filesAfter(files, step.action)
      written += bytes
    }
    steps.push(step)
  }
  return steps
}

/**
 * Applies directives in order below a base folder (absolute), each to the files as they are at that point. A failing
 * directive does not affect the others. Planning the n-th directive is an observation, applying it an effect, both
 * below the place of the call.
 * @throws the reason of the context's signal, or what the thread throws; changes made before that remain
 */
export async function applyChanges(
  directives: readonly Directive[],
  { baseDir, thread }: { readonly baseDir: string; readonly thread: TextThread },
  { context, at }: FileCall,
): Promise<readonly ChangeItem[]> {
  const { effects, signal } = context.services
  const space = diskSpace(baseDir, context)
  const items: ChangeItem[] = []
  for (const [index, directive] of relativeTo(baseDir, directives).entries()) {
    signal.throwIfAborted()
    await thread.pause()
    const place = [...at, item(index)]
    const observation = { name: 'file_changes', args: [directive.kind, directive.filePath] }
    const step = await effects.observeAsync([...place, part('plan')], observation, () =>
      whileUnchanged(space, (present) => planStep(directive, present, thread)),
    )
    items.push(doneStep(step, directive, { context, at: place }) ?? step.item)
    if (step.action !== undefined && items.at(-1) === step.item) warnOf(step, context, baseDir)
  }
  return items
}

/** Applies one step. Returns the failed item, or undefined if it succeeded. */
function doneStep({ action }: ChangeStep, directive: Directive, call: FileCall): ChangeItem | undefined {
  try {
    if (action !== undefined) performStep(action, call)
    return undefined
  } catch (error) {
    return errorItem(directive, error)
  }
}

/** The outcome of one change of an answer, with more detail than scripts get from `aip.udiffx`. */
export function reportOf(change: ChangeItem): FileChange {
  const { fromPath, isReplaced, isSuccess } = change
  return {
    ...fileChangeReport(change),
    ...(fromPath === undefined ? {} : { from_path: fromPath }),
    ...(isReplaced === true && isSuccess ? { replaced: true } : {}),
  }
}

/** The outcome of one change as JSON, with the keys that agents see in `file_changes`. */
export function fileChangeReport({ filePath, kind, isSuccess, error, failedHunks }: ChangeItem): FileChange {
  const hunks = failedHunks?.map(({ body, cause }) => ({ hunk_body: body, cause }))
  return {
    file_path: filePath,
    kind: kind === 'SearchReplace' || kind === 'Replace' ? 'Patch' : kind === 'AppendLines' ? 'Append' : kind,
    success: isSuccess,
    ...(error === undefined ? {} : { error_msg: error }),
    ...(hunks === undefined ? {} : { error_hunks: hunks }),
  }
}

/** The reports if no change is kept. `reason` is the error of changes that did not fail themselves. */
export function reports(steps: readonly ChangeStep[], reason: string): readonly FileChange[] {
  return steps.map(({ item }) => reportOf(item.isSuccess ? { ...item, isSuccess: false, error: reason } : item))
}

function tooMuch(bytes: number, { maxBytes = Infinity }: ChangeSpace): string | undefined {
  if (bytes <= maxBytes) return undefined
  return `the changes would write more than ${sizeText(maxBytes)}, the limit of [changes] max_size: write less at once`
}

/** Emits the warnings about an applied change. */
export function warnOf(
  { item, doubts = [] }: ChangeStep,
  context: ContextWith<'at' | 'folders', Events>,
  baseDir: string,
): void {
  const shown = displayPath(context.scope.folders.workspace, resolve(baseDir, item.filePath))
  for (const doubt of doubts) emit(context, { type: 'warning', message: `${shown}: ${doubt}` })
}

/** Plans one directive. If the files do not allow it, the item is a failure. */
async function planStep(directive: Directive, space: ChangeSpace, thread: TextThread): Promise<ChangeStep> {
  try {
    refuseDepth(directive)
    switch (directive.kind) {
      case 'New':
      case 'Patch':
      case 'Append':
      case 'AppendLines':
      case 'SearchReplace':
      case 'Replace':
        return await contentStep(directive, space, thread)
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

/** Errors for files that cannot be used this way, and for unreadable search and replace blocks. */
const failureCodes: ReadonlySet<string> = new Set(['FILE_FAILED', 'OUTSIDE_WORKSPACE', 'SCRIPT_FAILED'])

/** The item of a directive that an error prevented; other errors are rethrown. */
export function errorItem(directive: Directive, error: unknown): ChangeItem {
  if (!isBatonError(error) || !failureCodes.has(error.code)) throw error
  return { ...named(directive), kind: directive.kind, isSuccess: false, error: error.message }
}

const sameContent = 'the file already has exactly this content'

async function contentStep(
  directive: ContentDirective | ReplaceDirective,
  { files, resolve, tolerance }: ChangeSpace,
  thread: TextThread,
): Promise<ChangeStep> {
  const path = resolve(directive.filePath, 'write')
  refuseBelowFile(directive.filePath, path, files)
  const kind = files.kindAt(path)
  if (kind !== undefined && kind !== 'file') throw notAFile(directive.filePath, kind)
  const present = kind === undefined ? undefined : files.textAt(path)
  const plan = await thread.work('planChange', directive, present, tolerance)
  if (plan.kind === 'same') return { item: failedItem(directive, sameContent, []), isUnchanged: true }
  if (plan.kind === 'refused') return { item: failedItem(directive, plan.reason, plan.failures) }

  const { content, failures, hunkCount } = plan
  const told = {
    ...(plan.doubts.length === 0 ? {} : { doubts: plan.doubts }),
    ...defined({ places: plan.places, placeCount: plan.placeCount }),
  }
  const whole = directive.kind === 'New' && present !== undefined ? ({ isReplaced: true } as const) : {}
  const item =
    failures.length > 0
      ? failedItem(directive, failureText(failures, hunkCount), failures)
      : { ...done(directive), ...whole }
  if (directive.kind !== 'Append' && directive.kind !== 'AppendLines') {
    return { item, action: { op: 'write', path, content }, ...told }
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
    throw new BatonError('FILE_FAILED', `${directive.filePath} already exists`)
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

/** A deeper path is a mistake or malicious: other programs cannot remove such folders. */
const mostFolders = 64

function refuseDepth(directive: Directive): void {
  if (directive.kind === 'Fail' || directive.filePath.split('/').length <= mostFolders + 1) return
  const shown = `${directive.filePath.slice(0, 80)}…`
  throw new BatonError('FILE_FAILED', `${shown} is more than ${mostFolders} folders deep: give it a shorter path`)
}

/** Nothing can be written below a file. `named` is the path in the directive. */
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
