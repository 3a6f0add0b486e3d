import { sha256 } from '../base/hash.ts'
import { defined } from '../base/json.ts'
import type { ChangeStates, PathState } from '../event/effects.ts'
import type { RunView, ViewOptions } from '../history/run-view.ts'

/** A file. Its content is known by hash, is another file's content plus an addition (`longer`), or is unknown. */
export interface FileState {
  readonly kind: 'file'
  readonly bytes: number
  /** Permission bits; omitted: any. */
  readonly mode?: number
  readonly hash?: string
  /** The file before the last append. `content` is omitted if it is stored under its hash. */
  readonly longer?: { readonly than: FileState; readonly hash: string; readonly content?: Uint8Array }
}

/** What is at a path. */
export type EntryState =
  | { readonly kind: 'absent' }
  | FileState
  | { readonly kind: 'folder'; readonly mode?: number }
  | { readonly kind: 'link'; readonly to: string }

/** A stretch of a run's changes to one path without a change by anyone else in between. */
export interface Stretch {
  readonly first: EntryState
  /** The possible states afterwards, the likeliest last. More than one if a change failed or its outcome is unknown. */
  readonly left: readonly EntryState[]
}

/** A run's changes to one path. `path` is written as in records: relative to the workspace if inside it. */
export interface PathChange {
  readonly path: string
  /** More than one if something else, or a command of the run, changed the path in between. */
  readonly stretches: readonly Stretch[]
}

/** SHA-256 of a whole file; undefined if its content is unknown. */
export type HashOf = (file: FileState) => string | undefined

interface Growing {
  first: EntryState
  left: EntryState[]
}

/** A view for `changesIn`: no node is needed. */
export const changesOnly: ViewOptions = { most: 0, keeps: () => false }

/**
 * The net changes of a run, in the order in which each path was first changed. Omits paths that ended as they started,
 * changes of which nothing was kept, and changes in work trees.
 */
export function changesIn({ changes, source }: RunView, hashOf: HashOf): readonly PathChange[] {
  const paths = new Map<string, Growing[]>()

  function apply({ before, after }: ChangeStates, end: 'done' | 'unknown'): void {
    for (const state of before) noteBefore(state)
    for (const state of after) noteAfter(state, end)
  }

  function noteBefore(state: PathState): void {
    const { path } = state
    const seen = entryOf(state)
    const stretches = paths.get(path)
    if (stretches === undefined) return void paths.set(path, [{ first: seen, left: [seen] }])
    const current = stretches.at(-1) as Growing
    const same = current.left.findLast((one) => isSame(one, seen, hashOf))
    if (same === undefined) stretches.push({ first: seen, left: [seen] })
    else current.left = [same]
  }

  function noteAfter(state: PathState, end: 'done' | 'unknown'): void {
    const current = paths.get(state.path)?.at(-1)
    if (current === undefined) return
    const [before] = current.left as [EntryState]
    const made = state.kind === 'longer' ? longer(before, state) : entryOf(state)
    current.left = end === 'done' ? [made] : [before, made]
  }

  for (const { started, ended } of changes) {
    const record = source.at(started)
    if (record.k !== 'started') continue
    const states = source.value(record.kept) as ChangeStates
    const end = ended === undefined ? undefined : source.at(ended)
    if (states.worktree === undefined) apply(states, end?.k === 'ended' && end.status === 'ok' ? 'done' : 'unknown')
  }

  return [...paths].flatMap(([path, all]) => {
    const stretches = all.filter(({ first, left }) => left.some((one) => !isSame(first, one, hashOf, 'modes')))
    return stretches.length === 0 ? [] : [{ path, stretches }]
  })
}

function entryOf(state: PathState): EntryState {
  switch (state.kind) {
    case 'absent':
      return { kind: 'absent' }
    case 'folder':
      return { kind: 'folder', ...defined({ mode: state.mode }) }
    case 'link':
      return { kind: 'link', to: state.to }
    case 'file':
      return { kind: 'file', bytes: state.bytes, ...defined({ hash: state.hash, mode: state.mode }) }
    case 'longer':
      return longer({ kind: 'absent' }, state)
  }
}

function longer(
  before: EntryState,
  { bytes, hash, added }: Extract<PathState, { readonly kind: 'longer' }>,
): FileState {
  if (before.kind !== 'file')
    return { kind: 'file', bytes, hash, longer: { than: noFile, hash, ...defined({ content: added }) } }
  const than = before
  return {
    kind: 'file',
    bytes: than.bytes + bytes,
    ...defined({ mode: than.mode }),
    longer: { than, hash, ...defined({ content: added }) },
  }
}

/** The state before an append that created the file: empty, so nothing has to be kept. */
const noFile: FileState = { kind: 'file', bytes: 0, hash: sha256('') }

/** Whether two states are equal; with `modes`, permission bits are compared too if both are known. */
function isSame(one: EntryState, other: EntryState, hashOf: HashOf, what?: 'modes'): boolean {
  if (what === 'modes' && 'mode' in one && 'mode' in other && one.mode !== other.mode) return false
  if (one.kind === 'link') return other.kind === 'link' && one.to === other.to
  if (one.kind !== 'file' || other.kind !== 'file') return one.kind === other.kind
  if (one.bytes !== other.bytes) return false
  // for a file with many appends, only the size is recorded
  const there = hashOf(other)
  return there === undefined || (hashOf(one) ?? there) === there
}
