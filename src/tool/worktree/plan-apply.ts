import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { entryStatus } from '../../base/entries.ts'
import { realPath } from '../../base/files.ts'
import type { GitCommand } from '../../base/git.ts'
import { createHash } from '../../base/hash.ts'
import { isMergeable, mergeTexts } from '../../base/merge-texts.ts'
import type { UndoableAction } from '../changes/perform-actions.ts'
import type { EntryOf, TreeChange, TreeChanges } from './changes.ts'
import { type FileStore, storedText } from './file-store.ts'

export interface Sides {
  /** Absolute: the workspace that gets the changes, links resolved. */
  readonly workspace: string
  /** Absolute: the same folder in the work tree. */
  readonly folder: string
  readonly store: FileStore
}

/** One action of applying changes to a workspace; `path` is the path of its change. Plain JSON. */
interface ApplyStep {
  readonly action: UndoableAction | { readonly op: 'rmdir'; readonly path: string }
  readonly path: string
}

/** A path that both sides have changed, and why they cannot be merged. */
export interface TreeConflict {
  readonly path: string
  readonly why: string
}

/** The result of planning. `merged`: paths that were also changed in the workspace, in other parts of the text. */
export type ApplyPlan =
  | { readonly kind: 'ready'; readonly steps: readonly ApplyStep[]; readonly merged: readonly string[] }
  | { readonly kind: 'conflict'; readonly conflicts: readonly TreeConflict[] }

/**
 * Plans how to apply the changes of a work tree to a workspace, without changing anything. Changes that the workspace
 * already has are skipped; a text that was also changed there is merged if the changes do not overlap; any other change
 * on both sides is a conflict.
 */
export async function planApply(
  { files, emptied }: TreeChanges,
  sides: Sides,
  { env, signal }: { readonly env: GitCommand['env']; readonly signal: AbortSignal },
): Promise<ApplyPlan> {
  const planning: Planning = { ...sides, env, signal, nested: nestedPaths(files), emptied: new Set(emptied) }
  const away: ApplyStep[] = []
  const here: ApplyStep[] = []
  const conflicts: TreeConflict[] = []
  const merged: string[] = []
  for (const change of files) {
    signal.throwIfAborted()
    const verdict = await verdictOf(change, planning)
    if (verdict.kind === 'conflict') conflicts.push({ path: change.path, why: verdict.why })
    if (verdict.kind !== 'steps') continue
    away.push(...verdict.away.map((action) => ({ action, path: change.path })))
    here.push(...verdict.here.map((action) => ({ action, path: change.path })))
    if (verdict.isMerged === true) merged.push(change.path)
  }
  if (conflicts.length > 0) return { kind: 'conflict', conflicts }
  const folders = emptied.map((path): ApplyStep => ({
    action: { op: 'rmdir', path: join(sides.workspace, path) },
    path,
  }))
  return { kind: 'ready', steps: [...away, ...folders, ...here], merged }
}

interface Planning extends Sides {
  readonly env: GitCommand['env']
  readonly signal: AbortSignal
  /** Paths that become a folder, or stop being one; they are not moved. */
  readonly nested: ReadonlySet<string>
  /** Folders that are removed, as named by the changes. */
  readonly emptied: ReadonlySet<string>
}

type Verdict =
  | { readonly kind: 'same' }
  | {
      readonly kind: 'steps'
      /** Removals, which come first, because other files may take their place. */
      readonly away: readonly UndoableAction[]
      readonly here: readonly UndoableAction[]
      readonly isMerged?: true
    }
  | { readonly kind: 'conflict'; readonly why: string }

async function verdictOf(change: TreeChange, planning: Planning): Promise<Verdict> {
  const path = join(planning.workspace, change.path)
  // links in the path lead somewhere else than before
  if (leadsAway(path, planning)) return conflict('its path now leads through a link')
  if (change.kind === 'moved') return verdictOfMove(change, planning)
  const after = change.kind === 'deleted' ? undefined : change.after
  const before = change.kind === 'added' ? undefined : change.before
  const found = entryAt(path, planning)
  const present = found === 'other' && planning.emptied.has(change.path) ? undefined : found
  if (present === 'other') return conflict('something other than a file is there now')
  if (isSame(present, after)) return modeVerdict(path, { present, after })
  if (isSame(present, before)) {
    if (after === undefined) return { kind: 'steps', away: [{ op: 'delete', path }], here: [] }
    const isOtherKind = present !== undefined && isLink(present) !== isLink(after)
    return {
      kind: 'steps',
      away: isOtherKind ? [{ op: 'delete', path }] : [],
      here: [
        bring(change.path, after, planning),
        ...modeActions(path, isOtherKind ? undefined : present, after, planning),
      ],
    }
  }
  return bothChanged(change, { present, before, after }, planning)
}

/** A move if the workspace did not touch either path, otherwise a deletion and a creation. */
async function verdictOfMove(change: TreeChange & { readonly kind: 'moved' }, planning: Planning): Promise<Verdict> {
  const { path, from, before, after } = change
  const [source, target] = [join(planning.workspace, from), join(planning.workspace, path)]
  const isPlain = !planning.nested.has(path) && !planning.nested.has(from) && !leadsAway(source, planning)
  const present = entryAt(source, planning)
  const isUntouched = present !== 'other' && isSame(present, before) && entryAt(target, planning) === undefined
  if (isPlain && isUntouched && !isLink(before)) {
    return { kind: 'steps', away: [{ op: 'move', from: source, path: target }], here: [] }
  }
  const parts = [
    await verdictOf({ kind: 'deleted', path: from, before }, planning),
    await verdictOf({ kind: 'added', path, after }, planning),
  ]
  const wrong = parts.find((part) => part.kind === 'conflict')
  if (wrong !== undefined) return wrong
  const steps = parts.flatMap((part) => (part.kind === 'steps' ? [part] : []))
  if (steps.length === 0) return { kind: 'same' }
  return { kind: 'steps', away: steps.flatMap(({ away }) => away), here: steps.flatMap(({ here }) => here) }
}

interface ThreeEntries {
  readonly present: EntryOf | undefined
  readonly before: EntryOf | undefined
  readonly after: EntryOf | undefined
}

async function bothChanged(
  change: TreeChange,
  { present, before, after }: ThreeEntries,
  planning: Planning,
): Promise<Verdict> {
  if (before === undefined) return conflict('it was also created in the workspace')
  if (present === undefined) return conflict('it was deleted in the workspace')
  if (after === undefined) return conflict('it was changed in the workspace and deleted in the work tree')
  const { env, signal, folder, store } = planning
  const path = join(planning.workspace, change.path)
  // only its mode was changed in the work tree
  if (before.id === after.id && !isLink(present)) {
    return { kind: 'steps', away: [], here: modeActions(path, present, after, planning) }
  }
  const base = [present, before, after].some(isLink) ? undefined : await storedText(store, before.id, signal)
  const [mine, theirs] = base === undefined ? [] : [readFileSync(path), readFileSync(join(folder, change.path))]
  if (base === undefined || mine === undefined || theirs === undefined || ![mine, theirs].every(isMergeable)) {
    return conflict(bothText)
  }
  const texts = { mine, theirs, base: Buffer.from(base) }
  const { bytes, conflicts } = await mergeTexts(texts, labels, { env, signal })
  if (conflicts > 0) return conflict(`${bothText}, with ${conflicts === 1 ? 'a conflict' : `${conflicts} conflicts`}`)
  const content = bytes.toString('utf8')
  return {
    kind: 'steps',
    away: [],
    here: [{ op: 'write', path, content }, ...modeActions(path, present, after, planning)],
    isMerged: true,
  }
}

const bothText = 'it was changed both in the workspace and in the work tree'
const labels = { mine: 'workspace', base: 'start of the work tree', theirs: 'work tree' }

function conflict(why: string): Verdict {
  return { kind: 'conflict', why }
}

function isLink({ mode }: EntryOf): boolean {
  return mode === '120000'
}

/** Whether both are the same file or link, ignoring the mode. */
function isSame(one: EntryOf | undefined, other: EntryOf | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.id === other.id && isLink(one) === isLink(other)
}

function modeVerdict(path: string, { present, after }: Omit<ThreeEntries, 'before'>): Verdict {
  const here = after === undefined ? [] : plainModes(path, present, after)
  return here.length === 0 ? { kind: 'same' } : { kind: 'steps', away: [], here }
}

function plainModes(path: string, present: EntryOf | undefined, after: EntryOf): readonly UndoableAction[] {
  if (present === undefined || isLink(after) || present.mode === after.mode) return []
  const bits = lstatSync(path).mode & 0o777
  return [{ op: 'chmod', path, mode: after.mode === '100755' ? bits | ((bits & 0o444) >> 2) : bits & ~0o111 }]
}

/** A written file gets its permission bits from the work tree if it is new, or if the executable bit differs. */
function modeActions(
  path: string,
  present: EntryOf | undefined,
  after: EntryOf,
  { workspace, folder }: Sides,
): readonly UndoableAction[] {
  if (isLink(after)) return []
  if (present !== undefined && !isLink(present)) return plainModes(path, present, after)
  if (after.mode !== '100755') return []
  const made = join(folder, path.slice(workspace.length))
  return [{ op: 'chmod', path, mode: lstatSync(made).mode & 0o777 }]
}

function bring(path: string, after: EntryOf, { workspace, folder }: Sides): UndoableAction {
  const [source, target] = [join(folder, path), join(workspace, path)]
  if (isLink(after)) return { op: 'link', path: target, to: readlinkSync(source) }
  return { op: 'copy', from: source, path: target }
}

/** Whether the folder of a path is now a different one, because of a link. */
function leadsAway(path: string, { workspace }: Sides): boolean {
  const folder = dirname(path)
  return folder !== workspace && realPath(folder) !== folder
}

/** The entry at a path, with the mode and id git would use; `other`: something git does not track. */
function entryAt(path: string, { store }: Planning): EntryOf | undefined | 'other' {
  const status = entryStatus(path)
  if (status === undefined) return undefined
  if (status.isSymbolicLink()) return { mode: '120000', id: contentId(Buffer.from(readlinkSync(path)), store) }
  if (!status.isFile()) return 'other'
  const mode = (status.mode & 0o100) === 0 ? '100644' : '100755'
  return { mode, id: contentId(readFileSync(path), store) }
}

/** The id that git gives a content. */
function contentId(bytes: Uint8Array, { format }: Pick<FileStore, 'format'>): string {
  return createHash(format).update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}

/** Paths in the set that are parents of others in it, and those others. */
function nestedPaths(files: readonly TreeChange[]): ReadonlySet<string> {
  const all = new Set(files.flatMap((one) => (one.kind === 'moved' ? [one.path, one.from] : [one.path])))
  const nested = new Set<string>()
  for (const path of all) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
      if (all.has(folder)) nested.add(folder).add(path)
    }
  }
  return nested
}
