import { join, relative, resolve } from 'node:path'
import { readdirSync } from 'node:fs'
import { isBatonError } from '../../base/error.ts'
import { displayPath, realPath } from '../../base/files.ts'
import { realName } from '../../base/real-name.ts'
import { sha256 } from '../../base/hash.ts'
import { defined } from '../../base/json.ts'
import { part } from '../../event/place.ts'
import type { FileChange } from '../../event/event.ts'
import type { ApprovedChange } from './approved-changes.ts'
import type { OverlayChange } from '../../event/overlay.ts'
import type { RunStore } from '../../event/context.ts'
import type { FileCall, FileContext } from '../workspace-files.ts'
import { createJudge } from '../protected/answers.ts'
import { type ChangeStep, errorItem, planChanges, reportOf, reports } from './plan.ts'
import { type Directive, relativeTo, withoutGuesses } from './directive.ts'
import {
  type ChangeAction,
  type ChangeSpace,
  diskSpace,
  type Files,
  filesAfter,
  whileUnchanged,
} from './change-space.ts'
import { createSeen, type SeenFiles } from './seen-files.ts'
import { createTextThread, type TextThread } from './text-thread.ts'
import { measureSnapshot, type SnapshotSize } from './snapshot.ts'
import { binaryDiff, diffHead, diffNames, type GitChange, plainMode } from '../../base/git-diff.ts'
import { entryStatus } from '../../base/entries.ts'

export interface PlanOptions {
  /** Absolute: only files below it can be changed. */
  readonly baseDir: string
  /** Applies whatever can be applied, including single hunks. Otherwise one fault prevents the whole set. */
  readonly partial: boolean
  /**
   * Absolute paths of files that the model was shown, with the SHA-256 of their bytes at that time. Undefined if it is
   * unknown what was shown: then every file may be replaced.
   */
  readonly shown: ReadonlyMap<string, string> | undefined
  /** Whether the run itself has created a file (real path). */
  readonly isMade?: (path: string) => boolean
  /**
   * Globs relative to the workspace of files that may be changed although they decide what runs, or other programs run
   * them.
   */
  readonly allow?: readonly string[]
  /** Limit of bytes written by all changes together. Undefined for no limit. */
  readonly maxBytes?: number
  /** Maps the files on disk to those to plan for; the files on disk if omitted. */
  readonly files?: (disk: Files) => Files
  /** What the user approved, in order: anything else is refused. */
  readonly approved?: readonly ApprovedChange[]
}

/** Why a set of changes is not applied; plain JSON. Paths are as in `TransactionResult`. */
export type RefusedPlan =
  /**
   * Something cannot be applied, so nothing was. `changed`: files of failed changes whose content differs from what was
   * shown.
   */
  | { readonly kind: 'refused'; readonly items: readonly FileChange[]; readonly changed: readonly string[] }
  /**
   * Files would be replaced, deleted, moved or appended to although the model has not seen their present content:
   * `paths` have changed since they were shown, `unseen` were never shown, `gone` have been deleted since. Nothing was
   * changed.
   */
  | ({ readonly kind: 'stale' } & StaleFiles)

/** A call that applies an answer: what it may replace depends on what the run has made and planned. */
export type AnswerCall = FileCall<FileContext & { readonly services: RunStore }>

export type TransactionPlan = { readonly kind: 'ready'; readonly steps: readonly ChangeStep[] } | RefusedPlan

/** Computes what a set of changes does, without changing anything. */
export function planTransaction(
  directives: readonly Directive[],
  options: PlanOptions,
  planning: Planning,
): Promise<TransactionPlan> {
  const { baseDir, shown, allow = [], isMade, maxBytes, files = asOnDisk } = options
  const { workspace } = planning.context.scope.folders
  const seen = shown && createSeen(shown)
  const isKnown = (path: string): boolean =>
    seen === undefined || seen.hashOf(path) !== undefined || isMade?.(realPath(path)) === true
  const judge = createJudge({ workspace, allow, isKnown, isMade: planning.context.services.sources.made })
  const disk = diskSpace(baseDir, planning.context)
  const space: ChangeSpace = { ...disk, files: files(disk.files), tolerance: 'marks', judge, maxBytes }
  return whileUnchanged(space, (present) => planIn(present, directives, { ...options, ...planning, seen }))
}

const asOnDisk = (disk: Files): Files => disk

interface Sight {
  readonly seen: SeenFiles | undefined
}

async function planIn(
  space: ChangeSpace,
  asked: readonly Directive[],
  { context, thread, baseDir, partial, approved, seen, ...others }: PlanOptions & Planning & Sight,
): Promise<TransactionPlan> {
  const directives = withoutGuesses(onDisk(asked, baseDir), (path) => isThere(path, space))
  let steps: readonly ChangeStep[] = (await planChanges(directives, space, thread)).map(acceptUnchanged)
  const hasFailed = steps.some(({ item }) => !item.isSuccess)
  const isRefused = partial ? hasFailed && steps.every(({ action }) => action === undefined) : hasFailed
  const refused = async (failed: readonly ChangeStep[]): Promise<TransactionPlan> => {
    const items = await withNearest(reports(failed, notDone), space, thread)
    return { kind: 'refused', items, changed: changedAmong(items, { seen, baseDir }, space) }
  }
  if (isRefused) return refused(steps)

  const stale =
    seen === undefined ? undefined : staleFiles(directives, steps, { ...others, baseDir, seen, files: space.files })
  if (stale !== undefined && Object.values(stale).some((list) => list.length > 0)) return { kind: 'stale', ...stale }

  if (approved !== undefined) {
    const shown = await shownSteps(
      steps,
      { baseDir, ...(others.files && { files: others.files }) },
      { context, thread },
    )
    const { approvedSteps } = await import('./approved-changes.ts')
    const made = approvedSteps(steps, { shown, approved, files: space.files })
    if (made === undefined) {
      return refused(steps.map(({ item: one }) => ({ item: { ...one, isSuccess: false, error: notApproved } })))
    }
    steps = made
  }

  const kept = measured(directives, steps)
  if (kept.some(({ item }, index) => item !== steps[index]?.item)) return refused(kept)
  return { kind: 'ready', steps }
}

const notApproved = 'it would now do something other than what was approved'

/** The error of a change that did not fail itself. */
export const notDone = 'not done, because another change of the answer failed'

/** The reports, with the place that each failed hunk may have meant. */
async function withNearest(
  items: readonly FileChange[],
  space: ChangeSpace,
  thread: TextThread,
): Promise<readonly FileChange[]> {
  const placed: FileChange[] = []
  for (const report of items) {
    await thread.pause()
    const { file_path: path, error_hunks: hunks } = report
    const text = hunks === undefined ? undefined : presentText(path, space)
    if (hunks === undefined || text === undefined) {
      placed.push(report)
      continue
    }
    const bodies = hunks.slice(0, mostNearest).map(({ hunk_body: body }) => body)
    const places = await thread.work('nearestPlaces', text, bodies)
    const known = hunks.map((hunk, index) => ({ ...hunk, ...defined({ nearest: places[index] }) }))
    placed.push({ ...report, error_hunks: known })
  }
  return placed
}

/** Places are searched for at most this many failed hunks of a file: the cost of each grows with the file. */
const mostNearest = 20

/** Files of failed changes whose content differs from what the model was shown. */
function changedAmong(
  items: readonly FileChange[],
  { seen, baseDir }: Pick<PlanOptions, 'baseDir'> & Sight,
  space: ChangeSpace,
): readonly string[] {
  const failed = items.filter(({ success, error_msg: error }) => !success && error !== notDone)
  return [...new Set(failed.map(({ file_path: path }) => path))].filter((path) => {
    const hash = seen?.hashOf(resolve(baseDir, path))
    const text = hash === undefined ? undefined : presentText(path, space)
    return text !== undefined && sha256(text) !== hash
  })
}

/**
 * The directives with the names of present files as they are on disk (`realName`). A new file is created with the name it
 * is given; the judge refuses one that only some systems tell from another.
 */
function onDisk(directives: readonly Directive[], baseDir: string): readonly Directive[] {
  const real = (path: string): string => {
    const absolute = resolve(baseDir, path)
    const found = realName(absolute)
    return found === absolute ? path : relative(baseDir, found)
  }
  return directives.map((directive) => {
    if ('fromPath' in directive) return { ...directive, fromPath: real(directive.fromPath) }
    return directive.kind === 'New' || directive.kind === 'Fail'
      ? directive
      : { ...directive, filePath: real(directive.filePath) }
  })
}

/** Whether there is an entry of this name, which may also be one that must not be changed. */
function isThere(path: string, { files, resolve: resolved }: ChangeSpace): boolean {
  try {
    return files.kindAt(resolved(path, 'write')) !== undefined
  } catch (error) {
    if (isBatonError(error)) return error.code === 'FILE_FAILED'
    throw error
  }
}

/** The text of a file that may be changed; undefined for all others. */
function presentText(path: string, { files, resolve: resolved }: ChangeSpace): string | undefined {
  try {
    const file = resolved(path, 'write')
    return files.kindAt(file) === 'file' ? files.textAt(file) : undefined
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}

/** A file that already has the requested content is a success: it must not prevent the rest of the set. */
function acceptUnchanged(step: ChangeStep): ChangeStep {
  if (step.isUnchanged !== true) return step
  const { filePath, kind } = step.item
  return { item: { filePath, kind, isSuccess: true } }
}

/** The steps, with an error for the first one whose present files are too large to be kept for a rollback. */
function measured(directives: readonly Directive[], steps: readonly ChangeStep[]): readonly ChangeStep[] {
  let size: SnapshotSize = { bytes: 0, entries: 0 }
  return steps.map((step, index) => {
    const directive = directives[index]
    if (step.action === undefined || directive === undefined) return step
    try {
      size = measureSnapshot(step.action.path, size)
      return step
    } catch (error) {
      return { item: errorItem(directive, error) }
    }
  })
}

/** A set of changes that could be applied, but is not. */
export interface PlannedChanges {
  readonly kind: 'planned'
  readonly items: readonly FileChange[]
  readonly changes: readonly ShownChange[]
  /** In a run that changes no files: the result of the changes. */
  readonly overlay?: readonly OverlayChange[]
}

/** Computes what `applyTransaction` would do, without doing it. `overlay`: what is recorded of it for later changes. */
export function previewTransaction(
  asked: readonly Directive[],
  options: PlanOptions,
  call: AnswerCall,
  overlay?: (steps: readonly ChangeStep[], files: Files) => readonly OverlayChange[],
): Promise<PlannedChanges | RefusedPlan> {
  const { context } = call
  const directives = relativeTo(options.baseDir, asked)
  return observedPlan(directives, call, async (thread) => {
    const plan = await planTransaction(directives, options, { context, thread })
    if (plan.kind !== 'ready') return plan
    const items = plan.steps.map(({ item: one }) => reportOf(one))
    const changes = await shownSteps(plan.steps, options, { context, thread })
    return {
      kind: 'planned' as const,
      items,
      changes,
      ...(overlay && {
        overlay: overlay(plan.steps, (options.files ?? asOnDisk)(diskSpace(options.baseDir, context).files)),
      }),
    }
  })
}

interface Planning {
  readonly context: AnswerCall['context']
  readonly thread: TextThread
}

/** What the steps of a plan do, as displayed. */
export function shownSteps(
  steps: readonly ChangeStep[],
  { baseDir, files = asOnDisk }: Pick<PlanOptions, 'baseDir' | 'files'>,
  { context, thread }: Planning,
): Promise<readonly ShownChange[]> {
  const name = (path: string): string => displayPath(context.scope.folders.workspace, path)
  return showSteps(steps, { files: files(diskSpace(baseDir, context).files), name }, thread)
}

/** A plan is an observation, so that a resume gets the same one. */
export function observedPlan<T>(
  directives: readonly Directive[],
  { context, at }: FileCall,
  plan: (thread: TextThread) => Promise<T>,
): Promise<T> {
  const args = directives.map(({ kind, filePath }) => [kind, filePath])
  const { effects, signal } = context.services
  return effects.observeAsync([...at, part('plan')], { name: 'file_changes', args }, () =>
    plan(createTextThread(signal)),
  )
}

/** A planned change as displayed. A type, because only types are assignable to JSON. */
export type ShownChange = {
  /** Index of its directive. */
  readonly index: number
  /** Absolute. */
  readonly path: string
  readonly isDeletion: boolean
  /** Unified diff, with paths from the workspace after `a/` and `b/`, as git has it. Ends with a line feed. */
  readonly diff: string
}

/**
 * What the steps do, each against the files as the ones before it will have left them. `name`: returns a path from the
 * workspace.
 */
async function showSteps(
  steps: readonly ChangeStep[],
  { files: present, name }: { readonly files: Files; readonly name: (path: string) => string },
  thread: TextThread,
): Promise<readonly ShownChange[]> {
  let files = present
  const shown: ShownChange[] = []
  for (const [index, { action }] of steps.entries()) {
    if (action === undefined) continue
    await thread.pause()
    const after = filesAfter(files, action)
    const diff = await diffOf(action, { before: files, after, name }, thread)
    files = after
    shown.push({ index, path: action.path, isDeletion: action.op === 'delete', diff })
  }
  return shown
}

interface Sides {
  readonly before: Files
  readonly after: Files
  readonly name: (path: string) => string
}

async function diffOf(action: ChangeAction, { before, after, name }: Sides, thread: TextThread): Promise<string> {
  const change = changeOf(action, before.kindAt(action.path) === undefined, name)
  const head = diffHead(change)
  // copied and moved content does not change
  if ('from' in change) return head
  const { op, path } = action
  if (op === 'delete' && before.kindAt(path) === 'folder') return `${head}a folder, with everything in it\n`
  const [old, present] = [textOf(before, path), textOf(after, path)]
  const names = diffNames(change)
  if (old === undefined || present === undefined) return head + binaryDiff(names)
  return head + (await thread.work('unifiedDiff', old, present, names))
}

function changeOf(action: ChangeAction, isNew: boolean, name: Sides['name']): GitChange {
  const path = name(action.path)
  if ('from' in action) return { kind: action.op === 'move' ? 'moved' : 'copied', path, from: name(action.from) }
  if (action.op === 'delete') return { kind: 'deleted', path, mode: plainMode }
  return isNew ? { kind: 'created', path, mode: plainMode } : { kind: 'changed', path }
}

/** Empty for a missing file; undefined if it is not text. */
export function textOf(files: Files, path: string): string | undefined {
  if (files.kindAt(path) === undefined) return ''
  try {
    return files.textAt(path)
  } catch (error) {
    if (isBatonError(error) && error.code === 'FILE_FAILED') return undefined
    throw error
  }
}

interface StaleOptions {
  /** Absolute: the paths in the result are relative to it. */
  readonly baseDir: string
  readonly seen: SeenFiles
  readonly files: Files
  /**
   * Whether the run itself has created a file (real path): such a file may be deleted, moved and appended to without
   * having been shown.
   */
  readonly isMade?: (path: string) => boolean
}

/** Maximum number of files named for a large folder. */
const mostNamed = 20

/**
 * Files that would be replaced, deleted, moved, copied or appended to although the model has not seen their present
 * content, each in one of the lists. Paths are relative to the base folder and refer to the files on disk, even if the
 * set moves them first.
 */
interface StaleFiles {
  /** Were shown, and have changed since. */
  readonly paths: readonly string[]
  /** Exist and were never shown, or cannot be shown because they are not text. */
  readonly unseen: readonly string[]
  /** Were shown, and have been deleted since: they would be recreated. Omitted if there are none. */
  readonly gone?: readonly string[]
}

/**
 * Finds the files that the changes would lose or modify without the model having seen them: replaced by new content or
 * by a file that is copied or moved there, deleted, moved, copied or appended to; for a folder, every file in it.
 * Patches are not checked: they quote what they replace. A file moved by an earlier change of the set counts as the one
 * that was shown; one deleted by the set still counts as the original file; one created by the set, including copies,
 * is new. Nothing is lost if a file is replaced by one with the same content. A shown file that has been deleted since
 * is not recreated either.
 */
function staleFiles(
  directives: readonly Directive[],
  steps: readonly ChangeStep[],
  { baseDir, seen, files, isMade = () => false }: StaleOptions,
): StaleFiles {
  const found = { paths: new Set<string>(), unseen: new Set<string>(), gone: new Set<string>() }

  let origins: Files = { kindAt: files.kindAt, textAt: (path) => path, bytesAt: () => 0 }
  const note = (origin: string, source: string): void => {
    const list = origin === madeHere ? undefined : listOf(origin, { seen, files, source })
    if (list !== undefined) found[list].add(relative(baseDir, origin))
  }
  const isOwn = (origin: string): boolean => origin === madeHere || isMade(realPath(origin))
  for (const [index, { action }] of steps.entries()) {
    const directive = directives[index]
    if (action === undefined || directive === undefined) continue
    if (action.op === 'delete' || action.op === 'move') {
      const taken = filesAt(action.op === 'move' ? action.from : action.path, origins)
      for (const origin of taken) if (!isOwn(origin) && found.unseen.size < mostNamed) note(origin, madeHere)
    }
    if (action.op === 'delete') continue
    if (action.op === 'copy') {
      // copied content could be read at its new path
      const origin = origins.textAt(action.from)
      if (!isOwn(origin) && seen.hashOf(origin) === undefined) found.unseen.add(relative(baseDir, origin))
    }
    const kind = origins.kindAt(action.path)
    const isThere = kind === 'file'
    const isWhole = directive.kind === 'New'
    const isMissing = kind === undefined && files.kindAt(action.path) === undefined
    if (isMissing && seen.hashOf(action.path) !== undefined) found.gone.add(relative(baseDir, action.path))
    if (isThere && (isWhole || isTransfer(action))) {
      note(origins.textAt(action.path), isTransfer(action) ? origins.textAt(action.from) : madeHere)
    }
    if (isThere && action.op === 'append') {
      const origin = origins.textAt(action.path)
      // others may have appended since it was shown: none of that is lost
      if (!isOwn(origin) && seen.hashOf(origin) === undefined) found.unseen.add(relative(baseDir, origin))
    }
    if (action.op === 'move') origins = filesAfter(origins, action)
    else if (isWhole || action.op === 'copy' || !isThere) {
      origins = filesAfter(origins, { op: 'write', path: action.path, content: madeHere })
    }
  }
  const gone = found.gone.size === 0 ? {} : { gone: [...found.gone] }
  return { paths: [...found.paths], unseen: [...found.unseen], ...gone }
}

/**
 * The files on disk that are at a path, or below it, after the changes so far. Links contain nothing that could be
 * lost.
 */
function* filesAt(path: string, origins: Files): Iterable<string> {
  const kind = origins.kindAt(path)
  const origin = kind === 'file' || kind === 'folder' ? origins.textAt(path) : madeHere
  if (origin === madeHere) return
  const status = entryStatus(origin)
  if (status?.isSymbolicLink() === true) return
  if (kind === 'file') yield origin
  else if (status?.isDirectory() === true) {
    for (const name of readdirSync(origin)) yield* filesAt(join(path, name), origins)
  }
}

function isTransfer(action: ChangeAction): action is Extract<ChangeAction, { readonly from: string }> {
  return action.op === 'copy' || action.op === 'move'
}

interface Replacing {
  readonly seen: SeenFiles
  readonly files: Files
  /** The file on disk that replaces it, if any. */
  readonly source: string
}

/** The list that a replaced file on disk belongs to; undefined if it may be replaced. */
function listOf(path: string, { seen, files, source }: Replacing): 'paths' | 'unseen' | undefined {
  const present = hashOf(path, files)
  const known = seen.hashOf(path)
  if (present !== undefined && present === known) return undefined
  if (present !== undefined && source !== madeHere && hashOf(source, files) === present) return undefined
  return known === undefined || present === undefined ? 'unseen' : 'paths'
}

/** Undefined if it is not text: then no model was shown it. */
function hashOf(path: string, files: Files): string | undefined {
  try {
    return sha256(files.textAt(path))
  } catch (error) {
    if (isBatonError(error) && error.code === 'FILE_FAILED') return undefined
    throw error
  }
}

/** The origin of a file whose content comes from the set itself. */
const madeHere = ''
