import { dirname, join, relative } from 'node:path'
import { entryStatus } from '../../base/entries.ts'
import { type FileStore, type StateDifference, stateDifferences, storeState } from './file-store.ts'
import type { MadeTree } from './make.ts'

/** What git calls a file, an executable one, and a link. */
type EntryMode = '100644' | '100755' | '120000'

/** What stands at a path in a state: `id` is git's name of its content, for a link that of where it leads. */
export interface EntryOf {
  readonly mode: EntryMode
  readonly id: string
}

/** What became of one file or link. Paths are from the workspace. `moved` is moved as it was, its mode too. */
export type TreeChange = { readonly path: string } & (
  | { readonly kind: 'added'; readonly after: EntryOf }
  | { readonly kind: 'modified'; readonly before: EntryOf; readonly after: EntryOf }
  | { readonly kind: 'deleted'; readonly before: EntryOf }
  | { readonly kind: 'moved'; readonly from: string; readonly before: EntryOf; readonly after: EntryOf }
)

/** What work in a work tree has changed in all; plain JSON. */
export interface TreeChanges {
  readonly files: readonly TreeChange[]
  /** Folders in which nothing is left, from the workspace, the deepest first. */
  readonly emptied: readonly string[]
  /** Repositories that were made in it: they are no changes. From the workspace. */
  readonly repositories: readonly string[]
  /** Names the state that it is in in its store. */
  readonly state: string
}

/** Looks at what a work tree has become. Only what lies in its workspace counts. */
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

/** The folders above these paths that are not there any more, the deepest first. */
function emptiedBy(gone: readonly string[], isThere: (folder: string) => boolean): readonly string[] {
  const emptied = new Set<string>()
  for (const path of gone) {
    for (let folder = dirname(path); folder !== '.' && !isThere(folder); folder = dirname(folder)) emptied.add(folder)
  }
  return [...emptied].toSorted((one, other) => other.split('/').length - one.split('/').length)
}
