import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { BatonError, messageOf } from '../base/error.ts'
import { displayPath, isInside, realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { allRights } from '../event/permission.ts'
import { item, part } from '../event/place.ts'
import { firstDifference, readDiff } from '../event/hunks.ts'
import type { OverlayChange } from '../event/overlay.ts'
import { createEffects } from '../journal/effects.ts'
import { findStoredContent } from '../journal/content-store.ts'
import { nodeFiles } from '../journal/file-port.ts'
import { finishHistory } from '../journal/index-file.ts'
import { refuseForeign } from '../journal/own-run.ts'
import { plannedChanges, plannedDiffs } from '../journal/planned-changes.ts'
import { newRunId } from '../journal/run-id.ts'
import { indexRun } from '../journal/run-index.ts'
import { readRunState } from '../journal/run-state.ts'
import { openFileRecords } from '../journal/source.ts'
import { openRun } from '../journal/store.ts'
import { recordApplied } from '../journal/undo-mark.ts'
import type { ChangeAction } from '../tool/changes/change-space.ts'
import { performActions } from '../tool/changes/perform-actions.ts'
import { ownChangesHook } from '../tool/own-changes.ts'
import { createPermission } from '../tool/permission.ts'
import { version } from '../version.ts'
import type { UndoOptions } from './run.ts'

export interface ApplyOptions extends Omit<UndoOptions, 'merges' | 'noFile' | 'listener'> {
  /** Leaves out files that have changed since the dry run, instead of making nothing. */
  readonly skipsChanged: boolean
}

/** What became of a planned change. `path` is relative to the workspace. */
export interface AppliedItem {
  readonly path: string
  /** `as_planned`: the file already is as planned; `changed`: it has changed since the dry run, and is left as it is. */
  readonly outcome: 'written' | 'deleted' | 'moved' | 'copied' | 'as_planned' | 'changed'
}

export interface ApplyReport {
  readonly run: string
  /** The run that recorded it, and that `baton undo` takes; undefined if nothing was done. */
  readonly by: string | undefined
  readonly items: readonly AppliedItem[]
}

/**
 * Makes the changes that a dry run has planned, all or nothing, if the files are still as they were when it planned
 * them. It is recorded as a separate run.
 * @throws BatonError USAGE if the run is running, has planned nothing, or not a file that is named; CHANGES_FAILED if
 * files have changed since, or a write fails
 */
export async function applyRun(options: ApplyOptions): Promise<ApplyReport> {
  const { folder, workspace, env, home, mask, key, signal, files, skipsChanged, dry } = options
  const run = basename(folder)
  if ((await readRunState(folder))?.isRunning === true) {
    throw new BatonError('USAGE', `run ${run} is running`, { hint: 'Wait until it has ended.' })
  }
  await refuseForeign(folder, key, 'applied')
  const all = setsOf(await planOf(options))
  const name = (path: string): string => displayPath(workspace, path)
  if (all.length === 0) {
    throw new BatonError('USAGE', `run ${run} has planned no changes of files`, {
      hint: 'Only a run with --dry changes has. baton runs marks those that are not applied.',
    })
  }
  const unknown = files.find((file) => !all.some(({ paths }) => paths.some((path) => isInside(file, path))))
  if (unknown !== undefined) {
    throw new BatonError('USAGE', `run ${run} has planned no change of ${name(unknown)}`, {
      hint: `baton runs show ${run} --diff shows what it has planned.`,
    })
  }
  const chosen = all
    .filter(({ paths }) => files.length === 0 || files.some((file) => paths.some((path) => isInside(file, path))))
    .map((set) => ({ ...set, state: stateOf(set) }))
  const changed = chosen.filter(({ state }) => state === 'changed')
  if (changed.length > 0 && !skipsChanged) {
    const named = [...new Set(changed.flatMap(({ paths }) => paths.slice(0, 1)))].map((path) => [path, name(path)])
    const diffs = await plannedDiffs(folder)
    const names = named.map(([path = '', shown = '']) => placeOfChange(path, shown, diffs))
    throw new BatonError('CHANGES_FAILED', `changed since the dry run: ${names.join(', ')}; nothing was applied`, {
      hint: 'Run it again, or apply the rest with --skip-changed.',
    })
  }
  const items = chosen.flatMap(({ changes, state }) =>
    changes.map(({ op, path }): AppliedItem => {
      return { path: name(path), outcome: state === 'ready' ? outcomes[op] : state }
    }),
  )
  const ready = chosen.filter(({ state }) => state === 'ready').flatMap(({ changes }) => changes)
  if (dry || ready.length === 0) return { run, by: undefined, items }
  const actions = ready.map((change, index) => ({ index, action: actionOf(change, options) }))

  const id = newRunId(new Date())
  const journal = await openRun({ folder: join(dirname(folder), id), now: () => new Date(), mask, key })
  let error: unknown
  try {
    journal.note({
      k: 'run.start',
      run: id,
      file: join(workspace, `apply of ${run}`),
      hash: '',
      version,
      facts: { workspace, applies: run },
    })
    const folders = { workspace, cwd: workspace, packRoots: [] }
    const permission = createPermission(allRights, folders)
    const hooks = [ownChangesHook(workspace, { env, home })]
    const effects = createEffects({ journal, signal, permission, onSpent: () => undefined, hooks })
    const services = { effects, permission, events: () => undefined, signal, env }
    const context = { scope: { at: [], folders, rights: allRights }, services }
    const nameOf = ({ action }: (typeof actions)[number]): string => name(action.path)
    const problem = (thrown: unknown, one: (typeof actions)[number]): BatonError =>
      new BatonError('FILE_FAILED', `${nameOf(one)}: ${messageOf(thrown)}`, { cause: thrown })
    const result = await performActions(actions, { nameOf, problem }, { context, at: [part('changes'), item(0)] })
    if (result.kind === 'failed') error = result.problem
    const isWhole = files.length === 0 && changed.length === 0
    if (result.kind === 'done' && isWhole) recordApplied(folder, id)
    journal.note({ k: 'run.end', exit: error === undefined ? 0 : 1, stop: error === undefined ? 'done' : 'error' })
  } finally {
    await journal.close()
  }
  await finishHistory(join(dirname(folder), id), {
    id,
    target: 'apply',
    status: error === undefined ? 'done' : 'failed',
    exit: error === undefined ? 0 : 1,
    tasks: { done: 0, failed: 0, skipped: 0 },
    calls: 0,
    tokens: { input: 0, output: 0, cached: 0 },
    cost_usd: 0,
    models: [],
    repeated: 0,
  })
  if (error !== undefined) {
    throw new BatonError('CHANGES_FAILED', `nothing was applied: ${messageOf(error)}`, {
      hint: 'What was written before was restored.',
      cause: error,
    })
  }
  return { run, by: id, items }
}

/** `src/a.ts:14`: where a file is first not as a planned diff has it. Its name alone if that is elsewhere, or unknown. */
function placeOfChange(path: string, name: string, diffs: readonly string[]): string {
  const diff = diffs.find((one) => one.includes(`\n--- a/${name}\n`))
  if (diff === undefined || !existsSync(path)) return name
  const line = firstDifference(readFileSync(realPath(path), 'utf8'), readDiff(diff))
  return line === undefined ? name : `${name}:${line}`
}

const outcomes = { write: 'written', delete: 'deleted', move: 'moved', copy: 'copied' } as const

async function planOf({ folder, mask, key }: ApplyOptions): Promise<readonly OverlayChange[]> {
  const source = openFileRecords(folder, { mask, key })
  try {
    return await plannedChanges(await indexRun(source, { keeps: 'everything', repair: 'skip' }))
  } finally {
    source.close()
  }
}

/** Changes that are made together, because they are about the same files, in order. */
interface ChangeSet {
  readonly paths: readonly string[]
  readonly changes: readonly OverlayChange[]
}

function setsOf(changes: readonly OverlayChange[]): readonly ChangeSet[] {
  let sets: readonly ChangeSet[] = []
  for (const change of changes) {
    const own = pathsOf(change)
    const joined = sets.filter(({ paths }) => paths.some((path) => own.some((one) => areRelated(one, path))))
    const set = {
      paths: [...new Set([...joined.flatMap(({ paths }) => paths), ...own])],
      changes: [...joined.flatMap((one) => one.changes), change],
    }
    sets = [...sets.filter((one) => !joined.includes(one)), set]
  }
  return sets
}

function pathsOf(change: OverlayChange): readonly string[] {
  return 'from' in change ? [change.path, change.from] : [change.path]
}

function areRelated(one: string, other: string): boolean {
  return isInside(one, other) || isInside(other, one)
}

/** Whether the files of a set are as they were when it was planned, or already as it leaves them. */
function stateOf({ changes }: ChangeSet): 'ready' | 'changed' | 'as_planned' {
  /** What the changes so far leave at a path: a hash, or null for no file. */
  const left = new Map<string, string | null>()
  let isReady = true
  for (const change of changes) {
    const { op, path, over } = change
    const subject = 'from' in change ? change.from : path
    const known = left.get(subject)
    if (known === undefined ? !isStill(subject, over) : over !== undefined && over !== known) isReady = false
    if (op === 'write') left.set(path, change.hash)
    else if (op === 'delete') left.set(path, null)
    else {
      if (over !== undefined) left.set(path, over)
      if (op === 'move') left.set(change.from, null)
    }
  }
  if (isReady) return 'ready'
  return left.size > 0 && [...left].every(([path, hash]) => isStill(path, hash)) ? 'as_planned' : 'changed'
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/** Undefined: what is there cannot be compared; earlier versions did not record it. */
function isStill(path: string, hash: string | null | undefined): boolean {
  if (hash === null) return !existsSync(path)
  try {
    const bytes = readFileSync(realPath(path))
    if (hash === undefined) return false
    const text = bytes.subarray(0, 3).equals(byteOrderMark) ? bytes.subarray(3) : bytes
    return sha256(bytes) === hash || sha256(text) === hash
  } catch {
    return false
  }
}

function actionOf(change: OverlayChange, { folder, mask, workspace }: ApplyOptions): ChangeAction {
  if (change.op !== 'write') {
    return change.op === 'delete'
      ? { op: 'delete', path: change.path }
      : { op: change.op, path: change.path, from: change.from }
  }
  const { path, hash } = change
  const found = findStoredContent(folder, hash, mask, nodeFiles)
  const bytes = found.kind === 'file' ? readFileSync(found.file) : found.kind === 'bytes' ? found.bytes : undefined
  const isEmpty = found.kind === 'missing' && hash === sha256('')
  if (isEmpty || (bytes !== undefined && sha256(bytes) === hash)) {
    return { op: 'write', path, content: bytes?.toString('utf8') ?? '' }
  }
  const why =
    found.kind === 'masked' ? 'it contained a secret that is no longer set, or has changed' : 'it was not kept'
  throw new BatonError(
    'CHANGES_FAILED',
    `the planned content of ${displayPath(workspace, path)} is not there: ${why}`,
    {
      hint: 'Nothing was applied. Run it again.',
    },
  )
}
