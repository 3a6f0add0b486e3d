import { dirname, join, relative } from 'node:path'
import { entryStatus } from '../../base/entries.ts'
import { type FileStore, type StateDifference, stateDifferences, storeState } from './file-store.ts'
import type { MadeTree } from './make.ts'

/** The modes git uses for a file, an executable file and a symbolic link. */
type EntryMode = '100644' | '100755' | '120000'

/** The entry at a path in a state: `id` is git's id of its content, or of the target of a link. */
export interface EntryOf {
  readonly mode: EntryMode
  readonly id: string
}

/** The change of one file or link. Paths are from the workspace. `moved`: content and mode are unchanged. */
export type TreeChange = { readonly path: string } & (
  | { readonly kind: 'added'; readonly after: EntryOf }
  | { readonly kind: 'modified'; readonly before: EntryOf; readonly after: EntryOf }
  | { readonly kind: 'deleted'; readonly before: EntryOf }
  | { readonly kind: 'moved'; readonly from: string; readonly before: EntryOf; readonly after: EntryOf }
)

/** All changes made in a work tree; plain JSON. */
export interface TreeChanges {
  readonly files: readonly TreeChange[]
  /** Removed folders, from the workspace, deepest first. */
  readonly emptied: readonly string[]
  /** Repositories that were created in it; they do not count as changes. From the workspace. */
  readonly repositories: readonly string[]
  /** The id of its current state in its store. */
  readonly state: string
}

/** Finds the changes in a work tree. Only changes in its workspace count. */
export async function changesOf(tree: MadeTree, store: FileStore, signal: AbortSignal): Promise<TreeChanges> {
  const { start, below, top } = tree
  const state = await storeState(store, signal)
  const found = await stateDifferences(store, [start, state], below, signal)
  const named = (path: string): string => relative(below, path)
  const differences = found.filter(({ modes }) => modes.every((mode) => mode !== moduleMode))
  const files = differences.map((one) => changeOf(one, named))
  const gone = files.flatMap((one) => (one.kind === 'deleted' ? [one.path] : one.kind === 'moved' ? [one.from] : []))
  return {
    files,
    emptied: emptiedBy(gone, (folder) => entryStatus(join(top, below, folder))?.isDirectory() === true),
    repositories: found.filter(({ modes }) => modes[1] === moduleMode).map(({ path }) => named(path)),
    state,
  }
}

const moduleMode = '160000'
const nothing = '000000'

function changeOf({ path, from, modes, ids }: StateDifference, named: (path: string) => string): TreeChange {
  const [before, after] = [entryOf(modes[0], ids[0]), entryOf(modes[1], ids[1])]
  if (from !== undefined) return { kind: 'moved', path: named(path), from: named(from), before, after }
  if (modes[0] === nothing) return { kind: 'added', path: named(path), after }
  return modes[1] === nothing
    ? { kind: 'deleted', path: named(path), before }
    : { kind: 'modified', path: named(path), before, after }
}

function entryOf(mode: string, id: string): EntryOf {
  return { mode: mode === '120000' || mode === '100755' ? mode : '100644', id }
}

/** The parent folders of these paths that no longer exist, deepest first. */
function emptiedBy(gone: readonly string[], isThere: (folder: string) => boolean): readonly string[] {
  const emptied = new Set<string>()
  for (const path of gone) {
    for (let folder = dirname(path); folder !== '.' && !isThere(folder); folder = dirname(folder)) emptied.add(folder)
  }
  return [...emptied].toSorted((one, other) => other.split('/').length - one.split('/').length)
}
