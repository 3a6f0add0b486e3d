import { existsSync, lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createTurns } from '../../base/concurrency.ts'
import { item, part } from '../../event/place.ts'
import type { FileCall } from '../workspace-files.ts'
import { type ChangeAction, performStep, type UndoStep } from './change-space.ts'
import { entryStatus } from '../../base/entries.ts'
import { BatonError, isBatonError } from '../../base/error.ts'
import { displayPath, entryPath, realPath } from '../../base/files.ts'
import { defined } from '../../base/json.ts'
import { withServices } from '../../event/context.ts'
import { checkedBefore } from '../../event/effects.ts'
import { equalContents, hashAt, isPartOf, snapshotHash, type Snapshot, takeSnapshot } from './snapshot.ts'

/**
 * One action of a set; `index` is its place below that of the call. On rollback, folders that became empty are restored
 * with their files.
 */
interface IndexedAction {
  readonly action: UndoableAction | { readonly op: 'rmdir'; readonly path: string }
  readonly index: number
}

interface Naming<A, Problem> {
  /** The name of an action in records. */
  readonly nameOf: (action: A) => string
  /** The problem to report for a failed action. Rethrows errors that are not failures of the action. */
  readonly problem: (error: unknown, action: A) => Problem
}

type Performed<A, Problem> =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'failed'
      readonly failed: A
      readonly problem: Problem
      /** What could not be restored, and the same in words. */
      readonly left: readonly StartedAction[]
      readonly notRestored: readonly string[]
    }

/**
 * Performs actions in order, all or nothing: if one fails, the ones before it are undone. Once started, it ignores
 * signals: half a set is worthless. The state of the files before is an observation and every action a file effect,
 * including those of the rollback, all below the place of the call.
 */
export async function performActions<A extends IndexedAction, Problem>(
  actions: readonly A[],
  { nameOf, problem }: Naming<A, Problem>,
  call: FileCall,
): Promise<Performed<A, Problem>> {
  const done: StartedAction[] = []
  const turns = createTurns()
  for (const one of actions) {
    await turns.pass()
    const { action } = one
    const at = [...call.at, item(one.index)]
    let before: Before | undefined
    try {
      if (action.op === 'rmdir') {
        performStep(action, { context: call.context, at })
        continue
      }
      const asked = { name: 'file_before', args: [action.op, nameOf(one)] }
      before = call.context.services.effects.observe([...at, part('before')], asked, () => beforeAction(action))
      performStep(action, { context: call.context, at })
      done.push({ action, before, isDone: true })
    } catch (error) {
      const failure = problem(error, one)
      const isBegun = before !== undefined && action.op !== 'rmdir'
      const begun = isBegun ? [...done, { action, before: before as Before, isDone: false }] : done
      return { kind: 'failed', failed: one, problem: failure, ...rollBack(begun, call) }
    }
  }
  return { kind: 'done' }
}

/** Undoes actions from the last to the first; the place of each is its number from the start. */
function rollBack(
  all: readonly StartedAction[],
  { context, at }: FileCall,
): { readonly left: readonly StartedAction[]; readonly notRestored: readonly string[] } {
  context.services.effects.undo(at)
  const undone = all
    .map((begun, index) => ({ begun, place: [...at, part('undo'), item(index)] }))
    .toReversed()
    .map(({ begun, place }) => ({ begun, problems: undoAction(begun, { context, at: place }) }))
  return {
    left: undone.flatMap(({ begun, problems }) => (problems.length > 0 ? [begun] : [])),
    // several changes of one file report the same problem
    notRestored: [...new Set(undone.flatMap(({ problems }) => problems))],
  }
}

/** The state of the files before one action changes them. Paths are absolute. */
interface Before {
  /** Where the action writes, moves to or deletes. */
  readonly path: string
  readonly present: Snapshot
  /** Missing folders above it, the deepest first. */
  readonly missingFolders: readonly string[]
  readonly movedFrom?: string
  /**
   * For a copy or move: the hash of the content it puts there. Omitted if it cannot be read, and in records of earlier
   * versions.
   */
  readonly source?: string
}

/** What can be undone: the changes of answers, and changes of links and permission bits. Paths are absolute. */
export type UndoableAction = ChangeAction | Extract<UndoStep, { readonly op: 'chmod' | 'link' }>

/** Records the state before an action. @throws BatonError FILE_FAILED */
function beforeAction(action: UndoableAction): Before {
  const isEntry = action.op === 'delete' || action.op === 'link'
  const path = isEntry ? entryPath(action.path) : realPath(action.path)
  const before = { path, present: takeSnapshot(path), missingFolders: missingAbove(path) }
  if (action.op !== 'move' && action.op !== 'copy') return before
  const from = action.op === 'move' ? entryPath(action.from) : realPath(action.from)
  const copied = { ...before, ...defined({ source: hashIfReadable(from) }) }
  return action.op === 'move' ? { ...copied, movedFrom: from } : copied
}

/** An unreadable file can still be moved. */
function hashIfReadable(path: string): string | undefined {
  try {
    return hashAt(path)
  } catch {
    return undefined
  }
}

function missingAbove(path: string): readonly string[] {
  const folder = dirname(path)
  return existsSync(folder) || folder === path ? [] : [folder, ...missingAbove(folder)]
}

/** An action that was started, and the state of its files before. */
export interface StartedAction {
  readonly action: UndoableAction
  readonly before: Before
  /** Whether it was completed. */
  readonly isDone: boolean
}

/**
 * Restores the files to their state before one action, whether it was done completely, partly or not at all, but only
 * if they are as the action leaves them: changes by others are kept. What it finds is an observation, each step a file
 * effect, both below the place of the call. Returns, in words, what could not be restored.
 */
function undoAction(begun: StartedAction, { context, at }: FileCall): readonly string[] {
  const failures: string[] = []
  const attempt = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      if (!isBatonError(error) || (error.code !== 'FILE_FAILED' && error.code !== 'OUTSIDE_WORKSPACE')) throw error
      failures.push(error.message)
    }
  }
  const { effects: gate } = context.services
  const path = displayPath(context.scope.folders.workspace, begun.before.path)
  const refuse = (): never => {
    throw new BatonError('FILE_FAILED', `${path} has changed since, so it is left unchanged`)
  }
  attempt(() => {
    const steps = gate.observe([...at, part('plan')], { name: 'file_undo', args: [path] }, () => {
      if (isAsLeft(takeSnapshot(begun.before.path), begun)) return undoSteps(begun.before)
      // a file is written completely or not at all: nothing there is from the action
      return begun.isDone || (begun.action.op !== 'write' && begun.action.op !== 'copy') ? refuse() : []
    })
    for (const [index, step] of steps.entries()) {
      // an earlier process may have planned this step: it applies only to the state it was planned for
      const effects = checkedBefore(gate, () => mayTake(step, steps[index - 1], begun) || refuse())
      attempt(() => performStep(step, { context: withServices(context, { effects }), at: [...at, item(index)] }))
    }
  })
  return failures
}

/** Whether the entry at the path of a step is what the previous step, or the undone action, has left there. */
function mayTake(step: UndoStep, last: UndoStep | undefined, begun: StartedAction): boolean {
  if (step.op === 'chmod' || step.op === 'rmdir' || step.op === 'mkdir') return true
  const { path } = begun.before
  if (step.op === 'move' && entryStatus(step.path) !== undefined) return false
  const target = step.op === 'move' ? step.from : step.path
  const isCleared = target !== path || last?.path === path || (last?.op === 'move' && last.from === path)
  const now = takeSnapshot(target)
  return now.kind === 'absent' ? isCleared || isAsLeft(now, begun) : target === path && isAsLeft(now, begun)
}

/** Whether the entry at the path of an action is its previous state, its result, or something in between. */
function isAsLeft(now: Snapshot, { action, before: { present, source } }: StartedAction): boolean {
  if (equalContents(now, present)) return true
  switch (action.op) {
    case 'write':
      return now.kind === 'file' && Buffer.from(action.content).equals(now.content)
    case 'append': {
      const base = present.kind === 'file' ? present.content : new Uint8Array()
      const whole = Buffer.concat([base, Buffer.from(action.added)])
      const isLonger = now.kind === 'file' && now.content.length >= base.length
      return isLonger && whole.subarray(0, now.content.length).equals(now.content)
    }
    case 'delete':
      return isPartOf(now, present)
    case 'link':
      return now.kind === 'link' && now.to === action.to
    case 'chmod':
      return false
    case 'copy':
    case 'move':
      return source === undefined || snapshotHash(now) === source
  }
}

function undoSteps(before: Before): readonly UndoStep[] {
  const folders = before.missingFolders.filter((path) => existsSync(path))
  return [...entrySteps(before), ...folders.map((path) => ({ op: 'rmdir', path }) as const)]
}

function entrySteps({ path, present, movedFrom }: Before): readonly UndoStep[] {
  const now = takeSnapshot(path)
  if (movedFrom === undefined || equalSnapshots(now, present)) return stepsTo(path, present, now)
  if (lstatSync(movedFrom, { throwIfNoEntry: false }) === undefined) {
    return [{ op: 'move', from: path, path: movedFrom }, ...stepsTo(path, present, { kind: 'absent' })]
  }
  throw new BatonError('FILE_FAILED', `a move was interrupted: parts are at ${movedFrom} and at ${path}`)
}

/** The steps from the present entry at a path to the wanted one. Equal parts are left alone. */
function stepsTo(path: string, wanted: Snapshot, now: Snapshot): readonly UndoStep[] {
  if (now.kind !== 'absent' && now.kind !== wanted.kind) {
    return [{ op: 'delete', path }, ...stepsTo(path, wanted, { kind: 'absent' })]
  }
  switch (wanted.kind) {
    case 'absent':
      return []
    case 'file': {
      const isSame = now.kind === 'file' && Buffer.compare(now.content, wanted.content) === 0
      const write: readonly UndoStep[] = isSame ? [] : [{ op: 'write', path, content: wanted.content }]
      return [...write, ...modeSteps(path, wanted, now)]
    }
    case 'link': {
      if (now.kind === 'link' && now.to === wanted.to) return []
      const clear: readonly UndoStep[] = now.kind === 'link' ? [{ op: 'delete', path }] : []
      return [...clear, { op: 'link', path, to: wanted.to }]
    }
    case 'folder': {
      const make: readonly UndoStep[] = now.kind === 'absent' ? [{ op: 'mkdir', path }] : []
      return [...make, ...entriesTo(path, wanted, now), ...modeSteps(path, wanted, now)]
    }
  }
}

type Folder = Extract<Snapshot, { readonly kind: 'folder' }>

function entriesTo(path: string, wanted: Folder, now: Snapshot): readonly UndoStep[] {
  const there = new Map(now.kind === 'folder' ? now.entries.map(({ name, entry }) => [name, entry]) : [])
  return wanted.entries.flatMap(({ name, entry }) =>
    stepsTo(join(path, name), entry, there.get(name) ?? { kind: 'absent' }),
  )
}

function modeSteps(path: string, { mode }: { readonly mode: number }, now: Snapshot): readonly UndoStep[] {
  return 'mode' in now && now.mode === mode ? [] : [{ op: 'chmod', path, mode }]
}

function equalSnapshots(one: Snapshot, other: Snapshot): boolean {
  return one.kind === other.kind && stepsTo('', one, other).length === 0 && stepsTo('', other, one).length === 0
}
