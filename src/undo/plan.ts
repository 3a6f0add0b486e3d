import { readFileSync, readlinkSync } from 'node:fs'
import { resolve } from 'node:path'
import { entryStatus } from '../base/entries.ts'
import { compareBytes } from '../base/byte-order.ts'
import { BatonError, isBatonError, messageOf } from '../base/error.ts'
import { defined } from '../base/json.ts'
import { startHash } from '../tool/file-hash.ts'
import type { Surroundings } from '../event/context.ts'
import { allowedEntry, allowOf, type ReadContext } from '../tool/guard.ts'
import type { EntryState, FileState, PathChange, Stretch } from './changes.ts'
import { bytesOf, type Content, type Contents } from './contents.ts'
import { isMergeable, type MergedText, mergeTexts, type Texts } from '../base/merge-texts.ts'
import { readRegularFile } from '../base/regular-file.ts'

/** What an undo does at one path. `path` is written as in records, `target` is absolute. */
export interface PathPlan {
  readonly path: string
  readonly target: string
  readonly verdict: Verdict
}

type Verdict =
  /** Already in its state before the run. */
  | { readonly kind: 'as_before' }
  | { readonly kind: 'remove' }
  | { readonly kind: 'remove_folder' }
  /** `replaces`: what is there now. */
  | { readonly kind: 'folder'; readonly mode?: number; readonly replaces: EntryState['kind'] }
  | { readonly kind: 'link'; readonly to: string; readonly replaces: EntryState['kind'] }
  | { readonly kind: 'file'; readonly content: Content; readonly mode?: number; readonly replaces: EntryState['kind'] }
  /** `from` is absolute; the move removes it. */
  | { readonly kind: 'move'; readonly from: string; readonly mode?: number; readonly replaces: EntryState['kind'] }
  /** Only the permission bits differ. */
  | { readonly kind: 'mode'; readonly mode: number }
  | ({ readonly kind: 'merge' } & Merge)
  /** Left alone; `why` completes a sentence. */
  | { readonly kind: 'refused'; readonly why: string }

/** What planning an undo takes of a run: reads of the files, and git, which merges them. */
type MergeContext = ReadContext & { readonly services: Pick<Surroundings, 'env'> }

export interface PlanOptions {
  readonly workspace: string
  readonly contents: Contents
  readonly context: MergeContext
  /** Whether a changed path is to be undone. */
  readonly includes: (target: string) => boolean
  /** Merges changes that were made after the run with the content from before it. */
  readonly merges: boolean
  /** States that earlier undos of the run left at a path: files with conflicts are not merged again. */
  readonly leftBefore: (path: string) => readonly EntryState[]
}

/** Plans the undo of a run's changes; changes nothing. */
export async function planUndo(changes: readonly PathChange[], options: PlanOptions): Promise<readonly PathPlan[]> {
  const { workspace, includes } = options
  const all = changes.map((change) => ({ change, target: resolve(workspace, change.path) }))
  const wanted = all.filter(({ target }) => includes(target))
  const donors = createDonors(all, wanted)
  const plans: PathPlan[] = []
  for (const { change, target } of wanted) {
    options.context.services.signal.throwIfAborted()
    plans.push({ path: change.path, target, verdict: await verdictOf(change, target, { ...options, donors }) })
  }
  return inPathOrder(withoutMoved(plans))
}

interface Planning extends PlanOptions {
  readonly donors: Donors
}

async function verdictOf(change: PathChange, target: string, options: Planning): Promise<Verdict> {
  try {
    const verdict = await lookAt(change, target, options)
    if (verdict.kind !== 'as_before' && verdict.kind !== 'refused') {
      allowedEntry(target, { context: options.context, allow: allowOf(options.context) })
    }
    return verdict
  } catch (error) {
    options.context.services.signal.throwIfAborted()
    return { kind: 'refused', why: isBatonError(error) ? error.message : `it cannot be read: ${messageOf(error)}` }
  }
}

async function lookAt({ path, stretches }: PathChange, target: string, options: Planning): Promise<Verdict> {
  const [only, ...others] = stretches
  if (only === undefined) return { kind: 'as_before' }
  const { first, left } = only
  if (isThere(first, target)) {
    const mode = modeBefore(first, left)
    return mode === undefined || mode === modeAt(target) ? { kind: 'as_before' } : { kind: 'mode', mode }
  }
  const present = others.length > 0 ? undefined : left.find((one) => isThere(one, target))
  if (present !== undefined) return wayBack(first, { left: present, target }, options)
  // a folder that the run created and that is gone or replaced now needs no undo
  if (first.kind === 'absent' && left.at(-1)?.kind === 'folder') return { kind: 'as_before' }
  if (options.merges) {
    const merged = await mergeBack(stretches, target, options.contents, options.context)
    if ('why' in merged) return { kind: 'refused', why: merged.why }
    if (merged.bytes.equals(readFileSync(target))) return { kind: 'as_before' }
    const isMerged = options.leftBefore(path).some((one) => isThere(one, target))
    return isMerged ? { kind: 'refused', why: mergedBefore } : { kind: 'merge', ...merged }
  }
  return { kind: 'refused', why: others.length > 0 ? changedBetween : changedSince }
}

const mergedBefore = 'it is already merged and has conflicts to resolve'
const changedSince = 'it has changed since the run'
const changedBetween = 'something else changed it during the run'

/** The permission bits to restore: those that the run changed, or removed with the file. */
function modeBefore(first: EntryState, left: readonly EntryState[]): number | undefined {
  if (!('mode' in first)) return undefined
  const isChanged = left.some((one) => one.kind !== first.kind || ('mode' in one && one.mode !== first.mode))
  return isChanged ? first.mode : undefined
}

function modeAt(path: string): number {
  return (entryStatus(path)?.mode ?? 0) % 0o10000
}

/** Whether a path is in this state now, ignoring permission bits. */
function isThere(state: EntryState, path: string): boolean {
  const status = entryStatus(path)
  if (status === undefined) return state.kind === 'absent'
  switch (state.kind) {
    case 'absent':
      return false
    case 'folder':
      return status.isDirectory()
    case 'link':
      return status.isSymbolicLink() && readlinkSync(path) === state.to
    case 'file':
      return status.isFile() && status.size === state.bytes && holds(path, state)
  }
}

/** Compares the appended pieces one by one, starting with the last. */
function holds(path: string, file: FileState): boolean {
  let rest = file
  for (; rest.longer !== undefined; rest = rest.longer.than) {
    const { than, hash } = rest.longer
    if (startHash(path, rest.bytes - than.bytes, than.bytes) !== hash) return false
  }
  return rest.hash === undefined || startHash(path, rest.bytes) === rest.hash
}

interface Leaving {
  readonly left: EntryState
  readonly target: string
}

function wayBack(first: EntryState, { left, target }: Leaving, { contents, donors }: Planning): Verdict {
  const before = { ...defined({ mode: modeBefore(first, [left]) }), replaces: left.kind }
  switch (first.kind) {
    case 'absent':
      return { kind: left.kind === 'folder' ? 'remove_folder' : 'remove' }
    case 'folder':
      return { kind: 'folder', ...before }
    case 'link':
      return { kind: 'link', to: first.to, replaces: left.kind }
    case 'file': {
      const donor = first.hash === undefined ? undefined : donors.take(first.hash, target)
      // a move would follow a link to its target
      if (donor?.kind === 'move' && left.kind !== 'link') return { kind: 'move', from: donor.from, ...before }
      const kept = contents.contentOf(first)
      if (kept.kind !== 'none') return { kind: 'file', content: kept, ...before }
      const content = beginningOf(first, left, target) ?? donor?.content
      return content === undefined ? { kind: 'refused', why: kept.why } : { kind: 'file', content, ...before }
    }
  }
}

/** For a file that was too large to keep when it was appended to: the beginning of the present file. */
function beginningOf(first: FileState, left: EntryState, target: string): Content | undefined {
  let rest = left
  while (rest.kind === 'file' && rest.longer !== undefined) rest = rest.longer.than
  const isBeginning = rest.kind === 'file' && rest !== left && rest.bytes === first.bytes && rest.hash === first.hash
  return isBeginning ? { kind: 'file', file: target, bytes: first.bytes } : undefined
}

/** `from` is absolute: the file may be moved from there. */
type Donor = { readonly content: Content } & (
  | { readonly kind: 'move'; readonly from: string }
  | { readonly kind: 'copy' }
)

/** Files that now have the content another path had before the run: the run moved them. */
interface Donors {
  readonly take: (hash: string, target: string) => Donor | undefined
}

interface Candidate {
  readonly target: string
  /** The state that the run left there. */
  readonly left: FileState
}

interface Target {
  readonly change: PathChange
  readonly target: string
}

function createDonors(all: readonly Target[], wanted: readonly Target[]): Donors {
  const mine = new Set(wanted.map(({ target }) => target))
  const byHash = new Map<string, Candidate[]>()
  for (const { change, target } of all) {
    const [only, ...others] = change.stretches
    const left = only?.left.at(-1)
    if (only?.first.kind !== 'absent' || others.length > 0 || left?.kind !== 'file' || left.hash === undefined) continue
    const list = byHash.get(left.hash)
    if (list === undefined) byHash.set(left.hash, [{ target, left }])
    else list.push({ target, left })
  }
  return {
    take(hash, target) {
      const list = byHash.get(hash) ?? []
      const index = list.findIndex((one) => one.target !== target && isThere(one.left, one.target))
      const found = list[index]
      if (found === undefined) return undefined
      // a file that is not part of this undo is copied, not moved
      const content: Content = { kind: 'file', file: found.target, bytes: found.left.bytes }
      if (!mine.has(found.target)) return { kind: 'copy', content }
      list.splice(index, 1)
      return { kind: 'move', from: found.target, content }
    },
  }
}

/** A file that is moved back need not be removed. */
function withoutMoved(plans: readonly PathPlan[]): readonly PathPlan[] {
  const moved = new Set(plans.flatMap(({ verdict }) => (verdict.kind === 'move' ? [verdict.from] : [])))
  return plans.filter(({ target, verdict }) => verdict.kind !== 'remove' || !moved.has(target))
}

/** Folders before their content. */
function inPathOrder(plans: readonly PathPlan[]): readonly PathPlan[] {
  return plans.toSorted((one, other) => compareBytes(one.target, other.target))
}

/** The content of a file after the changes of a run were removed from it and later ones kept. */
type Merge = MergedText

/**
 * Removes the changes of a run from a text file (absolute path) that was also changed by something else since, or in
 * between: one three-way merge per stretch, starting with the last.
 */
async function mergeBack(
  stretches: readonly Stretch[],
  target: string,
  { contentOf }: Contents,
  { services }: MergeContext,
): Promise<Merge | { readonly why: string }> {
  if (entryStatus(target)?.isFile() !== true) return { why: 'it has changed since the run and is no longer a file' }
  let merged: Merge = { bytes: readRegularFile(target), conflicts: 0 }
  const textOf = (state: EntryState | undefined): Buffer | string => {
    if (state?.kind !== 'file') return 'it has changed since the run, and the run created, deleted or moved it'
    const content = contentOf(state)
    if (content.kind === 'none') return content.why
    const bytes = bytesOf(content)
    return isMergeable(bytes) ? bytes : 'it has changed since the run and is not text that can be merged'
  }
  for (const { first, left } of stretches.toReversed()) {
    const [before, after] = [textOf(first), textOf(left.at(-1))]
    if (typeof before === 'string') return { why: before }
    if (typeof after === 'string') return { why: after }
    if (!isMergeable(merged.bytes)) return { why: 'it has changed since the run and is not text that can be merged' }
    const { bytes, conflicts } = await mergeOrFail({ mine: merged.bytes, base: after, theirs: before }, services)
    merged = { bytes, conflicts: merged.conflicts + conflicts }
  }
  return merged
}

const labels = { mine: 'present', base: 'after the run', theirs: 'before the run' }

/** @throws BatonError FILE_FAILED when git is missing or fails */
async function mergeOrFail(texts: Texts, services: MergeContext['services']): Promise<Merge> {
  try {
    return await mergeTexts(texts, labels, services)
  } catch (error) {
    services.signal.throwIfAborted()
    const hint = 'Without --merge, files that have changed since the run are left alone.'
    throw new BatonError('FILE_FAILED', messageOf(error), { hint, cause: error })
  }
}
