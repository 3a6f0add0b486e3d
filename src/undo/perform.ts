import type { FileCall } from '../tool/workspace-files.ts'
import { entryStatus } from '../base/entries.ts'
import { isBatonError } from '../base/error.ts'
import { item } from '../event/place.ts'
import {
  deleteEntry,
  makeFolder,
  makeLink,
  moveEntry,
  removeEmptyFolder,
  restoreFile,
  saveFile,
  setMode,
} from '../tool/workspace-files.ts'
import { type Content, hashOfContent } from './contents.ts'
import type { PathPlan } from './plan.ts'

/** The outcome for one path; `failed`: it could not be written and is unchanged. */
export interface UndoneItem {
  readonly path: string
  readonly outcome: Outcome
  readonly isFolder?: true
  readonly why?: string
}

export type Outcome = 'restored' | 'removed' | 'moved' | 'merged' | 'conflicts' | 'as_before' | 'refused' | 'failed'

/**
 * Carries out the plans, path by path, each as file effects at the place of the call. Restores files before it removes
 * anything, so that a second call can finish the work of a process that was killed in between.
 */
export function performUndo(plans: readonly PathPlan[], { context, at }: FileCall): readonly UndoneItem[] {
  const outcomes = new Map<PathPlan, UndoneItem>()
  let steps = 0
  const next = (): FileCall => ({ context, at: [...at, item(steps++)] })

  for (const { takes, work, order = 'top' } of phases) {
    for (const plan of order === 'deepest' ? plans.toReversed() : plans) {
      if (!takes(plan) || outcomes.get(plan)?.outcome === 'failed') continue
      context.services.signal.throwIfAborted()
      outcomes.set(
        plan,
        attempted(plan, () => work(plan, next)),
      )
    }
  }
  return plans.map((plan) => outcomes.get(plan) ?? itemOf(plan))
}

interface Phase {
  readonly takes: (plan: PathPlan) => boolean
  readonly order?: 'deepest'
  /** Returns false if there was nothing to do. */
  readonly work: (plan: PathPlan, next: () => FileCall) => boolean | void
}

const phases: readonly Phase[] = [
  { takes: ({ verdict }) => verdict.kind === 'folder', work: makeAgain },
  { takes: (plan) => isPutBack(plan) && !replacesFolder(plan), work: putBack },
  { takes: ({ verdict }) => verdict.kind === 'remove', work: ({ target }, next) => void deleteEntry(target, next()) },
  {
    takes: (plan) => plan.verdict.kind === 'remove_folder' || replacesFolder(plan),
    order: 'deepest',
    work: ({ target }, next) => removeEmptyFolder(target, next()),
  },
  { takes: (plan) => isPutBack(plan) && replacesFolder(plan), work: putBack },
  // last, because a folder may become read-only: by now its content is restored
  { takes: ({ verdict }) => verdict.kind === 'folder', order: 'deepest', work: setModeOf },
]

function isPutBack({ verdict: { kind } }: PathPlan): boolean {
  return kind === 'move' || kind === 'file' || kind === 'link' || kind === 'merge' || kind === 'mode'
}

function replacesFolder({ verdict }: PathPlan): boolean {
  return verdict.kind !== 'folder' && 'replaces' in verdict && verdict.replaces === 'folder'
}

/** The run may have put a file where the folder was. */
function makeAgain({ target, verdict }: PathPlan, next: () => FileCall): void {
  if (verdict.kind === 'folder' && verdict.replaces !== 'absent') deleteEntry(target, next())
  makeFolder(target, next())
}

function setModeOf({ target, verdict }: PathPlan, next: () => FileCall): void {
  if (!('mode' in verdict) || verdict.mode === undefined) return
  if ((entryStatus(target)?.mode ?? 0) % 0o10000 !== verdict.mode) setMode(target, verdict.mode, next())
}

function putBack(plan: PathPlan, next: () => FileCall): void {
  const { target, verdict } = plan
  switch (verdict.kind) {
    case 'move':
      moveEntry({ source: verdict.from, destination: target, overwrite: true }, next())
      break
    case 'file':
      restoreFile(target, known(verdict.content), next())
      break
    case 'link':
      makeLink(target, verdict.to, next())
      break
    case 'merge':
      saveFile(target, verdict.bytes, next())
      break
    case 'mode':
    case 'as_before':
    case 'remove':
    case 'remove_folder':
    case 'folder':
    case 'refused':
  }
  setModeOf(plan, next)
}

function known(content: Content): Parameters<typeof restoreFile>[1] {
  return content.kind === 'bytes' ? content : { ...content, hash: hashOfContent(content) }
}

function attempted(plan: PathPlan, work: () => boolean | void): UndoneItem {
  try {
    const isDone = work() !== false
    // a folder that is not empty is kept
    return isDone || plan.verdict.kind !== 'remove_folder' ? itemOf(plan) : { ...itemOf(plan), outcome: 'as_before' }
  } catch (error) {
    if (!isBatonError(error) || (error.code !== 'FILE_FAILED' && error.code !== 'OUTSIDE_WORKSPACE')) throw error
    return { path: plan.path, outcome: 'failed', why: error.message }
  }
}

/** The reported outcome for a path once its plan is carried out (or would be, in a dry run). */
export function itemOf({ path, verdict }: PathPlan): UndoneItem {
  switch (verdict.kind) {
    case 'as_before':
      return { path, outcome: 'as_before' }
    case 'remove_folder':
      return { path, outcome: 'removed', isFolder: true }
    case 'folder':
      return { path, outcome: 'restored', isFolder: true }
    case 'refused':
      return { path, outcome: 'refused', why: verdict.why }
    case 'remove':
      return { path, outcome: 'removed' }
    case 'move':
      return { path, outcome: 'moved' }
    case 'merge':
      return { path, outcome: verdict.conflicts > 0 ? 'conflicts' : 'merged' }
    case 'link':
    case 'file':
    case 'mode':
      return { path, outcome: 'restored' }
  }
}
